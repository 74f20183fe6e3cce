package msgpack

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// mapForm is a map, its entries sorted by their encoded keys: equal maps have equal encodings, so a hash over them
// means something.
type mapForm struct {
	rtype     reflect.Type
	key, elem *plan
}

// mapBytes is what a map takes apart from its entries.
const mapBytes = 48

// An entry is where a key and its value lie in the encoder's output.
type entry struct{ key, value, end int }

func (f *mapForm) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		return e.wire.EncodeNil()
	}
	n := v.Len()
	if uint64(n) > math.MaxUint32 {
		return errTooLong
	}
	if err := e.takeEntries(n, f); err != nil {
		return err
	}
	if err := e.open(); err != nil {
		return err
	}
	defer e.close()
	if err := e.wire.EncodeMapLen(n); err != nil {
		return err
	}
	key := reflect.New(f.rtype.Key()).Elem() // addressable, which what lies in a map is not
	elem := reflect.New(f.rtype.Elem()).Elem()
	entries := make([]entry, 0, n)
	for it := v.MapRange(); it.Next(); {
		key.SetIterKey(it)
		elem.SetIterValue(it)
		if !key.Equal(key) {
			return fmt.Errorf("msgpack: a map key that is not equal to itself (NaN)")
		}
		at := entry{key: len(e.out)}
		if err := f.key.encode(e, key); err != nil {
			return err
		}
		at.value = len(e.out)
		if err := f.elem.encode(e, elem); err != nil {
			return err
		}
		at.end = len(e.out)
		entries = append(entries, at)
	}
	return e.sort(entries)
}

// sort puts the entries at the end of the output in order.
func (e *encoder) sort(entries []entry) error {
	if len(entries) < 2 {
		return nil
	}
	start := entries[0].key
	drawn := bytes.Clone(e.out[start:])
	key := func(at entry) []byte { return drawn[at.key-start : at.value-start] }
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(key(a), key(b)) })
	e.out = e.out[:start]
	for i, at := range entries {
		if i > 0 && bytes.Equal(key(entries[i-1]), key(at)) {
			return fmt.Errorf("msgpack: two map keys have the same encoding % x", key(at))
		}
		e.out = append(e.out, drawn[at.key-start:at.end-start]...)
	}
	return nil
}

func (f *mapForm) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		v.SetZero()
		return nil
	}
	n, err := d.mapLen()
	if err != nil {
		return err
	}
	if err := d.room(n, f.key.minBytes+f.elem.minBytes); err != nil {
		return err
	}
	if err := d.takeEntries(n, f); err != nil {
		return err
	}
	m := reflect.MakeMapWithSize(f.rtype, n)
	key := reflect.New(f.rtype.Key()).Elem() // overwritten each time, and copied into the map
	elem := reflect.New(f.rtype.Elem()).Elem()
	for range n {
		if err := f.key.decode(d, key); err != nil {
			return err
		}
		if !key.Equal(key) {
			return fmt.Errorf("%w: a map key that is not equal to itself (NaN)", ErrMismatch)
		}
		if err := f.elem.decode(d, elem); err != nil {
			return err
		}
		m.SetMapIndex(key, elem)
	}
	if m.Len() != n {
		return fmt.Errorf("%w: a map with the same key twice", ErrMismatch)
	}
	v.Set(m)
	return nil
}

func (b *budget) takeEntries(n int, f *mapForm) error {
	if err := b.take(1, mapBytes); err != nil {
		return err
	}
	if err := b.take(uint64(n), f.key.size); err != nil {
		return err
	}
	return b.take(uint64(n), f.elem.size)
}
