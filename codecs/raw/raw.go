package raw

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs"
)

// Codec copies bytes and strings as they are. The zero value is ready to use.
type Codec struct{}

var _ codecs.Codec = Codec{}

// Name returns "raw".
func (Codec) Name() string { return "raw" }

// Check accepts []byte, string and the types defined as one of them, and refuses all others.
func (Codec) Check(t reflect.Type) error {
	if t == nil {
		return fmt.Errorf("%w: nil is of no type", codecs.ErrNotEncodable)
	}
	if t.Kind() == reflect.String || octets(t) {
		return nil
	}
	return fmt.Errorf("%w: %s: raw carries []byte and string only", codecs.ErrNotEncodable, t)
}

// Append implements codecs.Codec.
func (c Codec) Append(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) { // the usual two, without reflection
	case []byte:
		return append(dst, v...), nil
	case string:
		return append(dst, v...), nil
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.String:
		return append(dst, r.String()...), nil
	case r.IsValid() && octets(r.Type()):
		return append(dst, r.Bytes()...), nil
	}
	return dst, c.Check(reflect.TypeOf(v))
}

// Decode implements codecs.Codec. Any src is a value.
func (c Codec) Decode(src []byte, into any) error {
	switch into := into.(type) {
	case *[]byte:
		if into != nil {
			*into = owned(src)
			return nil
		}
	case *string:
		if into != nil {
			*into = string(src)
			return nil
		}
	}
	r := reflect.ValueOf(into)
	if r.Kind() != reflect.Pointer || r.IsNil() {
		return fmt.Errorf("raw: decode into %T: not a pointer to a value", into)
	}
	r = r.Elem()
	switch {
	case r.Kind() == reflect.String:
		r.SetString(string(src))
	case octets(r.Type()):
		r.SetBytes(owned(src))
	default:
		return c.Check(r.Type())
	}
	return nil
}

func octets(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// owned returns a copy of b, never nil.
func owned(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return bytes.Clone(b)
}
