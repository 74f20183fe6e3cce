package msgpack

import (
	"math"
	"reflect"
)

// sliceForm is a slice of anything but bytes.
type sliceForm struct {
	rtype reflect.Type
	elem  *plan
}

func (f *sliceForm) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		return e.wire.EncodeNil()
	}
	n := v.Len()
	if uint64(n) > math.MaxUint32 {
		return errTooLong
	}
	if err := e.take(uint64(n), f.elem.size); err != nil {
		return err
	}
	if err := e.array(n); err != nil {
		return err
	}
	defer e.close()
	for i := range n {
		if err := f.elem.encode(e, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// decode weighs the slice before it makes it: by what its elements need at least in the message, and by what they
// take in memory. Its old elements, if any, belong to somebody else.
func (f *sliceForm) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		v.SetZero()
		return nil
	}
	n, err := d.arrayLen()
	if err != nil {
		return err
	}
	if err := d.room(n, f.elem.minBytes); err != nil {
		return err
	}
	if err := d.take(uint64(n), f.elem.size); err != nil {
		return err
	}
	s := reflect.MakeSlice(f.rtype, n, n)
	for i := range n {
		if err := f.elem.decode(d, s.Index(i)); err != nil {
			return err
		}
	}
	v.Set(s)
	return nil
}

// arrayForm is an array of anything but bytes.
type arrayForm struct {
	elem *plan
	n    int
}

func (f *arrayForm) encode(e *encoder, v reflect.Value) error {
	if err := e.array(f.n); err != nil {
		return err
	}
	defer e.close()
	for i := range f.n {
		if err := f.elem.encode(e, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (f *arrayForm) decode(d *decoder, v reflect.Value) error {
	if err := d.array(f.n); err != nil {
		return err
	}
	for i := range f.n {
		if err := f.elem.decode(d, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}
