package payload

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"
)

// native reports whether numbers of this kind lie in memory as they lie in a block.
func native(k reflect.Kind) bool {
	one := uint16(1)
	little := *(*byte)(unsafe.Pointer(&one)) == 1
	return width(k) == 1 || little && (k != reflect.Int && k != reflect.Uint || unsafe.Sizeof(int(0)) == 8)
}

// block returns the memory of *v, a slice of numbers, if it is what a block has to be.
func (f *Form[T]) block(v *T) ([]byte, bool) {
	if !native(f.rtype.Elem().Kind()) {
		return nil, false
	}
	s := *(*[]byte)(unsafe.Pointer(v)) // the length of which is that in numbers
	return unsafe.Slice(unsafe.SliceData(s), len(s)*f.width), true
}

// fill makes *into, a slice of numbers, of a private block.
func (f *Form[T]) fill(into *T, block []byte) error {
	n := len(block) / f.width
	if len(block)%f.width != 0 {
		return f.malformed("a block of %d bytes, for numbers of %d", len(block), f.width)
	}
	if !native(f.rtype.Elem().Kind()) || uintptr(unsafe.Pointer(unsafe.SliceData(block)))%uintptr(f.rtype.Elem().Align()) != 0 {
		return f.convert(into, block, n)
	}
	// Neither has pointers, so the collector makes no difference between them.
	*(*[]byte)(unsafe.Pointer(into)) = unsafe.Slice(unsafe.SliceData(block), n)
	return nil
}

// convert is fill, number by number: for systems on which they lie otherwise in memory.
func (f *Form[T]) convert(into *T, block []byte, n int) error {
	s := reflect.MakeSlice(f.rtype, n, n)
	for i := range n {
		b, e := block[i*f.width:], s.Index(i)
		switch e.Kind() {
		case reflect.Float32:
			e.SetFloat(float64(math.Float32frombits(uint32(unsigned(b, 4)))))
		case reflect.Float64:
			e.SetFloat(math.Float64frombits(unsigned(b, 8)))
		case reflect.Complex64:
			e.SetComplex(complex(float64(math.Float32frombits(uint32(unsigned(b, 4)))), float64(math.Float32frombits(uint32(unsigned(b[4:], 4))))))
		case reflect.Complex128:
			e.SetComplex(complex(math.Float64frombits(unsigned(b, 8)), math.Float64frombits(unsigned(b[8:], 8))))
		case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
			shift := 64 - 8*f.width
			x := int64(unsigned(b, f.width)) << shift >> shift
			if e.OverflowInt(x) {
				return f.malformed("number %d does not fit", x)
			}
			e.SetInt(x)
		default:
			x := unsigned(b, f.width)
			if e.OverflowUint(x) {
				return f.malformed("number %d does not fit", x)
			}
			e.SetUint(x)
		}
	}
	reflect.ValueOf(into).Elem().Set(s)
	return nil
}

func unsigned(b []byte, width int) uint64 {
	var whole [8]byte
	copy(whole[:], b[:width])
	return binary.LittleEndian.Uint64(whole[:])
}
