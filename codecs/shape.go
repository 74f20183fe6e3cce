package codecs

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/weirflow/weir/internal/self"
)

// Shape describes what values of the type consist of: kinds, lengths, and the names and order of fields, all the way
// down. The default codec writes the fields of a struct by position, so two programs understand each other exactly if
// their shapes are equal; the fingerprint of a graph contains them. Names of types are no part of it, except
// for types that encode themselves.
func (t Type) Shape() string { return ShapeOf(t.rtype) }

// ShapeOf is Type.Shape of a type that is known only now; "" for nil.
func ShapeOf(t reflect.Type) string {
	if t == nil {
		return ""
	}
	s := shaper{seen: map[reflect.Type]int{}}
	s.write(t)
	return s.String()
}

type shaper struct {
	strings.Builder
	seen map[reflect.Type]int // named types by the order they came in: a type is described once, so this stays short
}

func (s *shaper) write(t reflect.Type) {
	if self.Of(t) != self.Not { // time.Time among them
		s.WriteString(t.String())
		return
	}
	if t.Name() != "" && composite(t.Kind()) {
		if n, ok := s.seen[t]; ok {
			s.WriteString("#" + strconv.Itoa(n))
			return
		}
		s.seen[t] = len(s.seen)
	}
	switch t.Kind() {
	case reflect.Pointer:
		s.WriteString("*")
		s.write(t.Elem())
	case reflect.Slice:
		s.WriteString("[]")
		s.write(t.Elem())
	case reflect.Array:
		s.WriteString("[" + strconv.Itoa(t.Len()) + "]")
		s.write(t.Elem())
	case reflect.Map:
		s.WriteString("map[")
		s.write(t.Key())
		s.WriteString("]")
		s.write(t.Elem())
	case reflect.Struct:
		s.fields(t)
	case reflect.Chan, reflect.Func, reflect.Interface:
		s.WriteString(t.String()) // no codec of ours carries it; another may
	default:
		s.WriteString(t.Kind().String())
	}
}

func (s *shaper) fields(t reflect.Type) {
	s.WriteString("{")
	for i := range t.NumField() {
		if i > 0 {
			s.WriteString("; ")
		}
		f := t.Field(i)
		s.WriteString(f.Name + " ")
		s.write(f.Type)
	}
	s.WriteString("}")
}

func composite(k reflect.Kind) bool {
	switch k {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return true
	}
	return false
}
