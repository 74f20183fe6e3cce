package msgpack

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs"
)

// binaryForm is a type with encoding.BinaryAppender or BinaryMarshaler, and BinaryUnmarshaler.
type binaryForm struct{}

func (binaryForm) encode(e *encoder, v reflect.Value) error {
	switch m := v.Addr().Interface().(type) {
	case encoding.BinaryAppender:
		// Straight into the output, behind room for the longest head; which head is right is known afterwards.
		before := append(e.out, make([]byte, maxHead)...)
		start := len(e.out)
		out, err := m.AppendBinary(before)
		if err != nil {
			return err
		}
		if len(out) < len(before) || &out[0] != &before[0] && !bytes.Equal(out[:start], before[:start]) {
			return fmt.Errorf("msgpack: AppendBinary of %s does not return what it was given, extended", v.Type())
		}
		e.out = out[:start]
		return e.bin(out[start+maxHead:]) // moves it down by what the head did not need
	case encoding.BinaryMarshaler:
		b, err := m.MarshalBinary()
		if err != nil {
			return err
		}
		return e.bin(b)
	}
	return fmt.Errorf("msgpack: %s does not encode itself", v.Type())
}

// maxHead is the length of a bin32's head.
const maxHead = 5

func (binaryForm) decode(d *decoder, v reflect.Value) error {
	b, err := d.bin()
	if err != nil {
		return err
	}
	m, ok := v.Addr().Interface().(encoding.BinaryUnmarshaler)
	if !ok {
		return fmt.Errorf("msgpack: %s does not decode itself", v.Type())
	}
	v.SetZero()
	return m.UnmarshalBinary(owned(b)) // a copy: methods that keep their argument are too common
}

// bulkForm is a codecs.Bulk inside something else, or where no arena is at hand.
type bulkForm struct{}

func (bulkForm) encode(e *encoder, v reflect.Value) error {
	b, ok := v.Addr().Interface().(codecs.Bulk)
	if !ok {
		return fmt.Errorf("msgpack: %s is no codecs.Bulk", v.Type())
	}
	head, block, err := b.Split()
	if err != nil {
		return err
	}
	if err := e.array(2); err != nil {
		return err
	}
	defer e.close()
	if err := e.bin(head); err != nil {
		return err
	}
	return e.bin(block)
}

func (bulkForm) decode(d *decoder, v reflect.Value) error {
	if err := d.array(2); err != nil {
		return err
	}
	head, err := d.bin()
	if err != nil {
		return err
	}
	block, err := d.bin()
	if err != nil {
		return err
	}
	b, ok := v.Addr().Interface().(codecs.Bulk)
	if !ok {
		return fmt.Errorf("msgpack: %s is no codecs.Bulk", v.Type())
	}
	v.SetZero()
	return b.Join(owned(head), owned(block))
}
