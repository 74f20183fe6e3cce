package msgpack

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// The library reads a nil as 0, a negative number as a huge one and an integer as a float. Here the head must be of
// the right family, and the number in range: anything else comes from another build, and is worth an error.

type boolForm struct{}

func (boolForm) encode(e *encoder, v reflect.Value) error {
	code := msgpcode.False
	if v.Bool() {
		code = msgpcode.True
	}
	e.out = append(e.out, code)
	return nil
}

func (boolForm) decode(d *decoder, v reflect.Value) error {
	if c := d.peek(); c != msgpcode.False && c != msgpcode.True {
		return d.mismatch("a bool")
	}
	v.SetBool(d.src[d.pos] == msgpcode.True)
	d.pos++
	return nil
}

type intForm struct{}

func (intForm) encode(e *encoder, v reflect.Value) error { e.int(v.Int()); return nil }

func (intForm) decode(d *decoder, v reflect.Value) error {
	n, err := d.int()
	if err != nil {
		return err
	}
	if v.OverflowInt(n) {
		return errRange
	}
	v.SetInt(n)
	return nil
}

func (d *decoder) int() (int64, error) {
	c := d.peek()
	if !integer(c) {
		return 0, d.mismatch("an integer")
	}
	n, err := d.integer()
	if err == nil && c == msgpcode.Uint64 && int64(n) < 0 {
		return 0, errRange
	}
	return int64(n), err
}

var errRange = fmt.Errorf("%w: a number out of range", ErrMismatch)

type uintForm struct{}

func (uintForm) encode(e *encoder, v reflect.Value) error { e.uint(v.Uint()); return nil }

func (uintForm) decode(d *decoder, v reflect.Value) error {
	c := d.peek()
	if !integer(c) {
		return d.mismatch("an integer")
	}
	n, err := d.integer()
	if err != nil {
		return err
	}
	if signed(c) && int64(n) < 0 || v.OverflowUint(n) {
		return errRange
	}
	v.SetUint(n)
	return nil
}

func integer(c byte) bool {
	return msgpcode.IsFixedNum(c) || c >= msgpcode.Uint8 && c <= msgpcode.Uint64 || signed(c)
}

func signed(c byte) bool {
	return c >= msgpcode.NegFixedNumLow || c >= msgpcode.Int8 && c <= msgpcode.Int64
}

type float32Form struct{}

func (float32Form) encode(e *encoder, v reflect.Value) error {
	e.out = binary.BigEndian.AppendUint32(append(e.out, msgpcode.Float), math.Float32bits(float32(v.Float())))
	return nil
}

func (float32Form) decode(d *decoder, v reflect.Value) error {
	if d.peek() != msgpcode.Float {
		return d.mismatch("a float32")
	}
	b, err := d.after(4)
	if err == nil {
		v.SetFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b))))
	}
	return err
}

type float64Form struct{}

func (float64Form) encode(e *encoder, v reflect.Value) error { e.float64(v.Float()); return nil }

func (float64Form) decode(d *decoder, v reflect.Value) error {
	if d.peek() != msgpcode.Double {
		return d.mismatch("a float64")
	}
	b, err := d.after(8)
	if err == nil {
		v.SetFloat(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return err
}

// complexForm is two float64, for complex64 too: they hold its parts exactly.
type complexForm struct{}

func (complexForm) encode(e *encoder, v reflect.Value) error {
	if err := e.array(2); err != nil {
		return err
	}
	defer e.close()
	e.float64(real(v.Complex()))
	e.float64(imag(v.Complex()))
	return nil
}

func (complexForm) decode(d *decoder, v reflect.Value) error {
	if err := d.array(2); err != nil {
		return err
	}
	var parts [2]float64
	for i := range parts {
		if d.peek() != msgpcode.Double {
			return d.mismatch("a float64")
		}
		b, err := d.after(8)
		if err != nil {
			return err
		}
		parts[i] = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	c := complex(parts[0], parts[1])
	if v.OverflowComplex(c) {
		return errRange
	}
	v.SetComplex(c)
	return nil
}
