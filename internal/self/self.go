// Package self holds the one rule about which types encode themselves, for the codec that honours it and for the
// shape that describes it.
//
// # Usage
//
// [Of] answers for a type.
//
// # Concurrency
//
// There is no state.
//
// # Failure
//
// None: a type whose methods cannot be trusted counts as one that does not encode itself.
//
// # Testing
//
// The tests of codecs/msgpack cover every case of the rule.
package self

import (
	"encoding"
	"reflect"
)

// A Way is how a type encodes itself.
type Way int

// The ways of a type.
const (
	Not    Way = iota // it does not
	Binary            // encoding.BinaryAppender or BinaryMarshaler, and BinaryUnmarshaler
	Bulk              // codecs.Bulk; it goes before Binary
)

// bulk has the methods of codecs.Bulk, which this package cannot import.
type bulk interface {
	Split() (head, block []byte, err error)
	Join(head, block []byte) error
}

// Of returns how t encodes itself. It asks the pointer to t, whose methods include those of t.
//
// A struct that embeds a type with any of the methods counts as one that does not, although Go says that it has them:
// they may be the embedded type's, and would then encode that part and lose the rest, as with
// struct{ time.Time; Camera int }. Its exported fields are encoded one by one, which loses nothing either way.
func Of(t reflect.Type) Way {
	if k := t.Kind(); k == reflect.Interface || k == reflect.Pointer {
		return Not // a pointer's target is asked instead, and then nil needs no method
	}
	if _, ok := Promoted(t); ok {
		return Not
	}
	p := reflect.PointerTo(t)
	switch {
	case p.Implements(reflect.TypeFor[bulk]()):
		return Bulk
	case p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()) && writes(p):
		return Binary
	}
	return Not
}

// Promoted returns the embedded field of struct t from which an encoding method may come, and whether there is one.
func Promoted(t reflect.Type) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.Anonymous {
			continue
		}
		m := f.Type
		if k := m.Kind(); k != reflect.Pointer && k != reflect.Interface {
			m = reflect.PointerTo(m)
		}
		if writes(m) || m.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()) || m.Implements(reflect.TypeFor[bulk]()) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func writes(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[encoding.BinaryAppender]()) || t.Implements(reflect.TypeFor[encoding.BinaryMarshaler]())
}
