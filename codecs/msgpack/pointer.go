package msgpack

import "reflect"

// pointerForm is nil, or the value pointed to. Where that may be nil as well (**T, *[]T), it stands in an array of one,
// so that a pointer to nil does not come back as nil.
type pointerForm struct {
	target reflect.Type
	elem   *plan
	wrap   bool
}

func (f *pointerForm) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		return e.wire.EncodeNil()
	}
	if err := e.take(1, f.elem.size); err != nil {
		return err
	}
	if f.wrap {
		if err := e.array(1); err != nil {
			return err
		}
		defer e.close()
	}
	return f.elem.encode(e, v.Elem())
}

func (f *pointerForm) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		v.SetZero()
		return nil
	}
	if f.wrap {
		if err := d.array(1); err != nil {
			return err
		}
	}
	if err := d.room(1, f.elem.minBytes); err != nil {
		return err
	}
	if err := d.take(1, f.elem.size); err != nil {
		return err
	}
	p := reflect.New(f.target)
	if err := f.elem.decode(d, p.Elem()); err != nil {
		return err
	}
	v.Set(p)
	return nil
}
