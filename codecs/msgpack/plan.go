package msgpack

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/weirflow/weir/internal/self"
)

// A form is how values of one Go type are written and read. encode gets what decode will make, and both count the
// memory alike. Forms hold no state.
type form interface {
	encode(e *encoder, v reflect.Value) error
	decode(d *decoder, v reflect.Value) error // v is settable, and overwritten
}

// A plan is the form of one type and what is known of every value of it. Immutable once compile has returned.
type plan struct {
	form
	size uint64 // bytes of a value in memory, without what it points to

	minBytes uint64 // bytes of the shortest encoding
	minDepth int    // containers inside each other in the flattest
	values   int    // msgpack values in each; 0 when that varies
	addr     bool   // encode needs an addressable value
}

// limit returns the validator's element cap.
func (p *plan) limit() int {
	if p.values == 0 {
		return math.MaxInt // the lengths in the message bound it, and each slice is weighed before it is made
	}
	return p.values
}

// nilable reports whether nil, the msgpack value, stands for a value of t. A pointer to such a type needs a wrapping.
func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Slice, reflect.Map:
		return self.Of(t) == self.Not
	}
	return false
}

// compile makes the plan of t, or says why there is none.
func compile(t reflect.Type) (*plan, error) {
	p, err := compiler{}.plan(t, from(t))
	if err != nil {
		return nil, err
	}
	if p.minDepth > MaxDepth {
		return nil, refused(from(t), fmt.Sprintf("nests deeper than %d", MaxDepth))
	}
	return p, nil
}

// compiler has the plans of one compilation. A type that contains itself, through a pointer, slice or map, finds its
// own unfinished plan here; those three look into it when a value is there, not before.
type compiler map[reflect.Type]*plan

func (c compiler) plan(t reflect.Type, at path) (*plan, error) {
	if p, ok := c[t]; ok {
		return p, nil
	}
	p := &plan{size: uint64(t.Size()), minBytes: 1}
	c[t] = p
	var err error
	switch way := self.Of(t); {
	case t == reflect.TypeFor[time.Time]():
		p.form, p.minBytes, p.minDepth, p.values = timeForm{}, 4, 1, 4
	case way == self.Bulk:
		p.form, p.minBytes, p.minDepth, p.values, p.addr = bulkForm{}, 5, 1, 3, true
	case way == self.Binary:
		p.form, p.minBytes, p.values, p.addr = binaryForm{}, 2, 1, true
	default:
		err = c.byKind(p, t, at)
	}
	return p, err
}

func (c compiler) byKind(p *plan, t reflect.Type, at path) (err error) {
	p.values = 1
	switch t.Kind() {
	case reflect.Bool:
		p.form = boolForm{}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.form = intForm{}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.form = uintForm{}
	case reflect.Float32:
		p.form, p.minBytes = float32Form{}, 5
	case reflect.Float64:
		p.form, p.minBytes = float64Form{}, 9
	case reflect.Complex64, reflect.Complex128:
		p.form, p.minBytes, p.minDepth, p.values = complexForm{}, 19, 1, 3
	case reflect.String:
		p.form = stringForm{}
	case reflect.Slice:
		err = c.slice(p, t, at)
	case reflect.Array:
		err = c.array(p, t, at)
	case reflect.Map:
		err = c.mapping(p, t, at)
	case reflect.Pointer:
		p.values = 0
		f := &pointerForm{target: t.Elem(), wrap: nilable(t.Elem())}
		f.elem, err = c.plan(t.Elem(), at)
		p.form = f
	case reflect.Struct:
		err = c.structure(p, t, at)
	default: // chan, func, interface, unsafe.Pointer, uintptr
		err = refused(at, t.String())
	}
	return err
}

func (c compiler) slice(p *plan, t reflect.Type, at path) (err error) {
	if octets(t) {
		p.form = bytesForm{}
		return nil
	}
	p.values = 0
	f := &sliceForm{rtype: t}
	f.elem, err = c.plan(t.Elem(), at.elem("[]"))
	p.form = f
	return err
}

func (c compiler) array(p *plan, t reflect.Type, at path) error {
	n := t.Len()
	if octets(t) {
		p.form, p.addr, p.minBytes = byteArrayForm{}, true, uint64(n)+2
		return nil
	}
	elem, err := c.plan(t.Elem(), at.elem("[]"))
	if err != nil {
		return err
	}
	p.form = &arrayForm{elem: elem, n: n}
	p.minDepth, p.addr = 1, elem.addr
	if n > 0 {
		p.minDepth += elem.minDepth
	}
	p.minBytes = 1 + uint64(n)*elem.minBytes
	if elem.values == 0 || n > math.MaxInt32/elem.values {
		p.values = 0
	} else {
		p.values = 1 + n*elem.values
	}
	return nil
}

func (c compiler) mapping(p *plan, t reflect.Type, at path) (err error) {
	p.values = 0
	f := &mapForm{rtype: t}
	p.form = f
	if err := keyable(t.Key(), at.elem("[key]")); err != nil {
		return err
	}
	if f.key, err = c.plan(t.Key(), at.elem("[key]")); err != nil {
		return err
	}
	f.elem, err = c.plan(t.Elem(), at.elem("[]"))
	return err
}

// keyable refuses keys that are found by an identity which does not travel: by the address in a pointer, or by the
// monotonic reading and the location in a time.Time.
func keyable(t reflect.Type, at path) error {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return refused(at, "time.Time as a map key: equal instants need not be equal keys")
	case self.Of(t) != self.Not:
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return refused(at, t.String()+" as a map key: its identity does not travel")
	case reflect.Array:
		return keyable(t.Elem(), at.elem("[]"))
	case reflect.Struct:
		for i := range t.NumField() {
			if err := keyable(t.Field(i).Type, at.field(t.Field(i).Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// octets reports whether t is a slice or array that goes into one bin.
func octets(t reflect.Type) bool {
	return t.Elem().Kind() == reflect.Uint8 && self.Of(t.Elem()) == self.Not
}
