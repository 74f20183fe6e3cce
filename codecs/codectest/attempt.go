package codectest

import (
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs"
)

// A panicError is what a codec panicked with. It must return errors instead.
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// encode is Append; a panic becomes an error.
func encode(c codecs.Codec, dst []byte, v any) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{r}
		}
	}()
	return c.Append(dst, v)
}

// decode reads src into a new value of like's type and returns it; a panic becomes an error.
func decode(c codecs.Codec, src []byte, like any) (v any, err error) {
	p := reflect.New(reflect.TypeOf(like))
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{r}
		}
	}()
	if err := c.Decode(src, p.Interface()); err != nil {
		return nil, err
	}
	return p.Elem().Interface(), nil
}

// scribble overwrites b, as the reader of the next message would.
func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0xa5
	}
}

// spoil changes whatever v shares with others: what its slices, pointers and maps hold.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	case reflect.Map:
		if v.CanInterface() {
			v.Clear()
		}
	default:
		if v.CanSet() {
			change(v)
		}
	}
}

func change(v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(v.Int() ^ 0x55)
	case v.CanUint():
		v.SetUint(v.Uint() ^ 0xa5)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.Kind() == reflect.String:
		v.SetString("spoilt")
	}
}
