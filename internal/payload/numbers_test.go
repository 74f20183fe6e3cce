package payload

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"unsafe"
)

// What convert makes, number by number, is what the memory is on this system.
func TestNumbersAreReadAlikeOnEverySystem(t *testing.T) {
	checkConvert(t, []int8{math.MinInt8, -1, 0, 1, math.MaxInt8})
	checkConvert(t, []int16{math.MinInt16, -1, 0, 1, math.MaxInt16})
	checkConvert(t, []int32{math.MinInt32, -1, 0, 1, math.MaxInt32})
	checkConvert(t, []int64{math.MinInt64, -1, 0, 1, math.MaxInt64})
	checkConvert(t, []int{math.MinInt, -1, 0, 1, math.MaxInt})
	checkConvert(t, []uint16{0, 1, math.MaxUint16})
	checkConvert(t, []uint32{0, 1, math.MaxUint32})
	checkConvert(t, []uint64{0, 1, math.MaxUint64})
	checkConvert(t, []uint{0, 1, math.MaxUint})
	checkConvert(t, []float32{0, -1.5, math.MaxFloat32})
	checkConvert(t, []float64{0, -1.5, math.MaxFloat64})
	checkConvert(t, []complex64{1 + 2i})
	checkConvert(t, []complex128{1 + 2i, -3})
}

func checkConvert[E any](t *testing.T, want []E) {
	t.Helper()
	f := For[[]E]()
	block, ok := f.block(&want)
	if !ok {
		t.Skip("numbers lie otherwise in the memory of this system")
	}
	var slow, fast, moved []E
	odd := append(make([]byte, 1, len(block)+1), block...)[1:] // where no number may lie
	for into, b := range map[*[]E][]byte{&fast: bytes.Clone(block), &moved: odd} {
		if err := f.fill(into, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.convert(&slow, block, len(want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(slow, want) || !reflect.DeepEqual(fast, want) || !reflect.DeepEqual(moved, want) || cap(fast) != len(want) {
		t.Errorf("got %v, %v and %v, want %v", slow, fast, moved, want)
	}
}

func TestANumberThatDoesNotFitIsRefused(t *testing.T) {
	f := &Form[[]int32]{kind: numbers, width: 8, rtype: reflect.TypeFor[[]int32]()} // as []int on a system of 32 bits
	v := []int64{1 << 40}
	block := unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 8)
	var got []int32
	if err := f.convert(&got, block, 1); err == nil {
		t.Errorf("got %v", got)
	}
}
