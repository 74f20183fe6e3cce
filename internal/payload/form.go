package payload

import (
	"reflect"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/self"
)

// Threshold is the size in bytes from which on a block goes through shared memory: below, a message is cheaper.
const Threshold = 16 << 10

// MaxInline is the most bytes of one payload that go in a message.
const MaxInline = 64 << 20

// A kind is how the values of a type travel.
type kind uint8

const (
	plain kind = iota
	numbers
	bulk
	bulkPointer
	view
)

// A Form is how values of T travel. Immutable.
type Form[T any] struct {
	kind  kind
	width int          // of numbers: bytes of each
	rtype reflect.Type // T
}

// For returns the form of T.
func For[T any]() *Form[T] {
	t := reflect.TypeFor[T]()
	f := &Form[T]{rtype: t}
	switch {
	case IsView(t):
		f.kind = view
	case self.Of(t) == self.Bulk:
		f.kind = bulk
	case t.Kind() == reflect.Pointer && self.Of(t.Elem()) == self.Bulk:
		f.kind = bulkPointer
	case t.Kind() == reflect.Slice && self.Of(t) == self.Not && self.Of(t.Elem()) == self.Not:
		if f.width = width(t.Elem().Kind()); f.width > 0 {
			f.kind = numbers
		}
	}
	return f
}

// Blocks reports whether values of T have blocks that are not too large for a message. What is plain has none.
func (f *Form[T]) Blocks() bool { return f.kind != plain }

// String returns the name of T.
func (f *Form[T]) String() string { return f.rtype.String() }

// IsView reports whether t is a struct of nothing but a Ref, which only stages.View is.
func IsView(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Type == reflect.TypeFor[Ref]()
}

// width returns the bytes that a number takes in a block, 0 for what is no number or cannot be encoded. Bytes are numbers, too; a bool
// is none, because not every byte is one.
func width(k reflect.Kind) int {
	switch k {
	case reflect.Int8, reflect.Uint8:
		return 1
	case reflect.Int16, reflect.Uint16:
		return 2
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		return 4
	case reflect.Int, reflect.Uint, reflect.Int64, reflect.Uint64, reflect.Float64, reflect.Complex64:
		return 8
	case reflect.Complex128:
		return 16
	}
	return 0
}

// asBulk returns what is behind v, which is of a bulk kind; nil of a nil pointer.
func (f *Form[T]) asBulk(v *T) codecs.Bulk {
	if f.kind == bulk {
		b, _ := any(v).(codecs.Bulk)
		return b
	}
	if reflect.ValueOf(v).Elem().IsNil() {
		return nil
	}
	b, _ := any(*v).(codecs.Bulk)
	return b
}
