package stagetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// printOf tells all that v is made of, behind pointers too, so that what has changed reads otherwise. Functions and
// channels are told by their addresses.
func printOf(v any) string {
	var p printer
	p.value(reflect.ValueOf(v))
	return p.String()
}

type printer struct {
	strings.Builder
	above []uintptr // pointers that lead here
}

func (p *printer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		p.WriteString("nil")
	case reflect.Pointer:
		p.pointer(v)
	case reflect.Interface:
		p.value(v.Elem())
	case reflect.Slice, reflect.Array:
		p.WriteByte('[')
		for i := range v.Len() {
			p.space(i)
			p.value(v.Index(i))
		}
		p.WriteByte(']')
	case reflect.Struct:
		p.WriteByte('{')
		for i := range v.NumField() {
			p.space(i)
			p.value(v.Field(i))
		}
		p.WriteByte('}')
	case reflect.Map:
		p.table(v)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprintf(p, "%s(%#x)", v.Type(), v.Pointer())
	case reflect.String:
		fmt.Fprintf(p, "%q", v.String())
	default: // a number, or a bool: fmt reads it even if its field is not exported
		fmt.Fprint(p, v)
	}
}

func (p *printer) space(i int) {
	if i > 0 {
		p.WriteByte(' ')
	}
}

// pointer goes round no circle twice.
func (p *printer) pointer(v reflect.Value) {
	if v.IsNil() || slices.Contains(p.above, v.Pointer()) {
		fmt.Fprintf(p, "%s(%t)", v.Type(), v.IsNil())
		return
	}
	p.WriteByte('&')
	p.above = append(p.above, v.Pointer())
	p.value(v.Elem())
	p.above = p.above[:len(p.above)-1]
}

// table tells the entries of a map in an order that does not change.
func (p *printer) table(v reflect.Value) {
	var entries []string
	for it := v.MapRange(); it.Next(); {
		e := printer{above: p.above}
		e.value(it.Key())
		e.WriteByte(':')
		e.value(it.Value())
		entries = append(entries, e.String())
	}
	slices.Sort(entries)
	fmt.Fprintf(p, "map%v", entries)
}
