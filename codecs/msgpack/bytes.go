package msgpack

import (
	"bytes"
	"fmt"
	"math"
	"reflect"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// stringForm is any string: Go's are bytes, and a file's name need not be UTF-8.
type stringForm struct{}

func (stringForm) encode(e *encoder, v reflect.Value) error {
	s := v.String()
	if uint64(len(s)) > math.MaxUint32 {
		return errTooLong
	}
	e.text(s)
	return nil
}

func (stringForm) decode(d *decoder, v reflect.Value) error {
	if c := d.peek(); !msgpcode.IsFixedString(c) && (c < msgpcode.Str8 || c > msgpcode.Str32) {
		return d.mismatch("a string")
	}
	b, err := d.body()
	if err != nil {
		return err
	}
	v.SetString(string(b))
	return nil
}

// bytesForm is a slice of bytes, whatever the two are named.
type bytesForm struct{}

func (bytesForm) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		return e.wire.EncodeNil()
	}
	return e.bin(v.Bytes())
}

func (bytesForm) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		v.SetZero()
		return nil
	}
	b, err := d.bin()
	if err != nil {
		return err
	}
	v.SetBytes(owned(b))
	return nil
}

// owned returns a copy of b without spare room in which a later append would meet somebody else, never nil.
func owned(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return bytes.Clone(b)
}

// byteArrayForm is an array of bytes. It comes back only at its full length: a shorter one would leave the rest as it
// was.
type byteArrayForm struct{}

func (byteArrayForm) encode(e *encoder, v reflect.Value) error { return e.bin(v.Bytes()) }

func (byteArrayForm) decode(d *decoder, v reflect.Value) error {
	b, err := d.bin()
	if err != nil {
		return err
	}
	if len(b) != v.Len() {
		return fmt.Errorf("%w: %d bytes, want %d", ErrMismatch, len(b), v.Len())
	}
	copy(v.Bytes(), b)
	return nil
}
