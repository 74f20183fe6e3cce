package codecs

import (
	"fmt"
	"reflect"
)

// A Type knows how to make and decode one Go type. It is captured where the type is still known statically, so no
// type name ever travels. The zero Type stands for no type: every codec refuses it.
type Type struct {
	rtype  reflect.Type
	decode func(Codec, []byte) (any, error)
}

// Of returns the Type of T.
func Of[T any]() Type {
	return Type{reflect.TypeFor[T](), func(c Codec, src []byte) (any, error) {
		var v T
		if err := c.Decode(src, &v); err != nil {
			return nil, err // half a value helps nobody
		}
		return v, nil
	}}
}

// Check says whether values of the type can be carried by c. If not, the error wraps ErrNotEncodable.
func (t Type) Check(c Codec) error {
	if t.rtype == nil {
		return fmt.Errorf("%w: no type", ErrNotEncodable)
	}
	return c.Check(t.rtype)
}

// Decode reads one value of the type. What it returns holds a T, never a *T, and nothing of src.
func (t Type) Decode(c Codec, src []byte) (any, error) {
	if t.decode == nil {
		return nil, fmt.Errorf("%w: no type", ErrNotEncodable)
	}
	return t.decode(c, src)
}

// GoType returns the type itself; nil for the zero Type.
func (t Type) GoType() reflect.Type { return t.rtype }

// String returns the Go name of the type, as in "main.Thumb": for messages, not for comparison.
func (t Type) String() string {
	if t.rtype == nil {
		return "no type"
	}
	return t.rtype.String()
}
