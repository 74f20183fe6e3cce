package msgpack

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// HOT PATH: numbers are most of what crosses a link, and going through the library took longer than all else. What is
// written here is what it wrote: the shortest form.

// int writes n.
func (e *encoder) int(n int64) {
	switch {
	case n >= 0:
		e.uint(uint64(n))
	case n >= -32:
		e.out = append(e.out, byte(n))
	case n >= math.MinInt8:
		e.out = append(e.out, msgpcode.Int8, byte(n))
	case n >= math.MinInt16:
		e.out = binary.BigEndian.AppendUint16(append(e.out, msgpcode.Int16), uint16(n))
	case n >= math.MinInt32:
		e.out = binary.BigEndian.AppendUint32(append(e.out, msgpcode.Int32), uint32(n))
	default:
		e.out = binary.BigEndian.AppendUint64(append(e.out, msgpcode.Int64), uint64(n))
	}
}

// uint writes n.
func (e *encoder) uint(n uint64) {
	switch {
	case n <= math.MaxInt8:
		e.out = append(e.out, byte(n))
	case n <= math.MaxUint8:
		e.out = append(e.out, msgpcode.Uint8, byte(n))
	case n <= math.MaxUint16:
		e.out = binary.BigEndian.AppendUint16(append(e.out, msgpcode.Uint16), uint16(n))
	case n <= math.MaxUint32:
		e.out = binary.BigEndian.AppendUint32(append(e.out, msgpcode.Uint32), uint32(n))
	default:
		e.out = binary.BigEndian.AppendUint64(append(e.out, msgpcode.Uint64), n)
	}
}

// float64 writes f.
func (e *encoder) float64(f float64) {
	e.out = binary.BigEndian.AppendUint64(append(e.out, msgpcode.Double), math.Float64bits(f))
}

// integer reads an integer of any form, of which the head is next. A negative one is in two's complement.
func (d *decoder) integer() (uint64, error) {
	c := d.peek()
	size := 0
	switch c {
	case msgpcode.Uint8, msgpcode.Int8:
		size = 1
	case msgpcode.Uint16, msgpcode.Int16:
		size = 2
	case msgpcode.Uint32, msgpcode.Int32:
		size = 4
	case msgpcode.Uint64, msgpcode.Int64:
		size = 8
	default:
		d.pos++
		return uint64(int64(int8(c))), nil
	}
	b, err := d.after(size)
	if err != nil {
		return 0, err
	}
	switch c {
	case msgpcode.Uint8:
		return uint64(b[0]), nil
	case msgpcode.Int8:
		return uint64(int64(int8(b[0]))), nil
	case msgpcode.Uint16:
		return uint64(binary.BigEndian.Uint16(b)), nil
	case msgpcode.Int16:
		return uint64(int64(int16(binary.BigEndian.Uint16(b)))), nil
	case msgpcode.Uint32:
		return uint64(binary.BigEndian.Uint32(b)), nil
	case msgpcode.Int32:
		return uint64(int64(int32(binary.BigEndian.Uint32(b)))), nil
	}
	return binary.BigEndian.Uint64(b), nil
}

// after reads a head and the n bytes behind it, which it returns.
func (d *decoder) after(n int) ([]byte, error) {
	if d.pos+1+n > len(d.src) {
		return nil, io.ErrUnexpectedEOF
	}
	d.pos += 1 + n
	return d.src[d.pos-n : d.pos], nil
}

// binHead writes the head of a bin of n bytes, which are not too many for one.
func (e *encoder) binHead(n int) {
	switch {
	case n <= math.MaxUint8:
		e.out = append(e.out, msgpcode.Bin8, byte(n))
	case n <= math.MaxUint16:
		e.out = binary.BigEndian.AppendUint16(append(e.out, msgpcode.Bin16), uint16(n))
	default:
		e.out = binary.BigEndian.AppendUint32(append(e.out, msgpcode.Bin32), uint32(n))
	}
}

// text writes a string that is not too long for one.
func (e *encoder) text(s string) {
	switch n := len(s); {
	case n < 32:
		e.out = append(e.out, msgpcode.FixedStrLow|byte(n))
	case n <= math.MaxUint8:
		e.out = append(e.out, msgpcode.Str8, byte(n))
	case n <= math.MaxUint16:
		e.out = binary.BigEndian.AppendUint16(append(e.out, msgpcode.Str16), uint16(n))
	default:
		e.out = binary.BigEndian.AppendUint32(append(e.out, msgpcode.Str32), uint32(n))
	}
	e.out = append(e.out, s...)
}

// bodyLen reads the head of a string or bin, which is next.
func (d *decoder) bodyLen() (int, error) {
	c := d.peek()
	size := 4
	switch c {
	case msgpcode.Str8, msgpcode.Bin8:
		size = 1
	case msgpcode.Str16, msgpcode.Bin16:
		size = 2
	case msgpcode.Str32, msgpcode.Bin32:
	default:
		if msgpcode.IsFixedString(c) {
			d.pos++
			return int(c & msgpcode.FixedStrMask), nil
		}
		return 0, d.mismatch("a string or bytes")
	}
	b, err := d.after(size)
	if err != nil {
		return 0, err
	}
	n := uint32(0)
	for _, x := range b {
		n = n<<8 | uint32(x)
	}
	return int(n), nil
}
