package msgpack

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

type wide struct{ Cells [128]int64 } // 1 KiB

type vast struct{ Cells [1 << 20]byte } // 1 MiB in two bytes

func (*vast) MarshalBinary() ([]byte, error) { return nil, nil }
func (*vast) UnmarshalBinary([]byte) error   { return nil }

type padded struct {
	A int8
	_ [4096]byte
}

type linked struct{ Next *linked }

// TestHostileInput decodes what a peer may send into types for which it was not made. None may cost more than it
// brings.
func TestHostileInput(t *testing.T) {
	many := func(head string, n int, each string) []byte {
		return append([]byte(fmt.Sprintf("%s%c%c%c%c", head, 0, 0, 0, 0)), strings.Repeat(each, n)...)
	}
	array := func(n int, each string) []byte {
		src := many("\xdd", n, each)
		src[1], src[2], src[3], src[4] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		return src
	}
	for _, tt := range []struct {
		name string
		src  []byte
		into any
		want error
	}{
		{"1 MiB of nils for structs of 1 KiB", array(1<<20, "\xc0"), new([]wide), ErrMismatch},
		{"the same behind pointers", array(1<<20, "\xc0"), new([]*wide), nil},
		{"empty arrays for structs of 1 KiB", array(1<<20, "\x90"), new([]wide), ErrMismatch},
		{"structs of 1 KiB, the last one short", append(array(8, "\x91\xdc\x00\x80"+strings.Repeat("\x00", 128)), 0)[:8*132+4], new([]wide), ErrMalformed},
		{"two bytes for 1 MiB, a thousand times", array(1000, "\xc4\x00"), new([]vast), ErrMemory},
		{"two bytes for 1 MiB, behind pointers", array(1000, "\xc4\x00"), new([]*vast), ErrMemory},
		{"two bytes for 1 MiB, in a map", []byte("\x82\x01\xc4\x00\x02\xc4\x00"), new(map[int]vast), ErrMemory},
		{"fields nobody can name", array(10000, "\x91\x01"), new([]padded), ErrMemory},
		{"a count without values", []byte{0xdd, 0x0f, 0xff, 0xff, 0xff}, new([]struct{}), ErrMalformed},
		{"values for a struct of no size", array(1<<20, "\x90"), new([]struct{}), nil},
		{"more values than the type has", array(1<<20, "\xc0"), new(row), ErrMalformed},
		{"an array for a number", array(1<<20, "\xc0"), new(int), ErrMalformed},
		{"nested arrays for a list", bytes.Repeat([]byte{0x91}, 1<<20), new(linked), ErrMalformed},
		{"a list of 64", append(bytes.Repeat([]byte{0x91}, 64), 0xc0), new(linked), nil},
		{"an extension with a map header in it", []byte{0xd7, 0xff, 0xdf, 0, 0xff, 0xff, 0xff, 0, 0, 0}, new(map[string]int), ErrMalformed},
		{"a key twice", []byte("\x82\xa1a\x01\xa1a\x02"), new(map[string]int), ErrMismatch},
		{"a key that is not itself", []byte("\x81\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01\x01"), new(map[float64]int), ErrMismatch},
		{"zero and minus zero", []byte("\x82\xca\x00\x00\x00\x00\x01\xca\x80\x00\x00\x00\x02"), new(map[float32]int), ErrMismatch},
		{"text that is not UTF-8", []byte("\xa2\xff\xfe"), new(string), nil},
		{"zones by the thousand", array(20000, "\x93\x00\x00\x01\x93\x00\x00\x02")[:20000*4+5], new([]time.Time), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Codec
			if err := c.Check(reflect.TypeOf(tt.into).Elem()); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.Decode(tt.src, tt.into)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if n, limit := after.TotalAlloc-before.TotalAlloc, allowance(len(tt.src)); n > 2*limit {
				t.Errorf("%d bytes allocated for %d", n, len(tt.src))
			}
		})
	}
}

// TestMismatch: bytes of another type than the one asked for are never read as if they were of it.
func TestMismatch(t *testing.T) {
	for _, tt := range []struct {
		name string
		src  string
		into any
	}{
		{"nil for a number", "\xc0", new(int)},
		{"nil for a text", "\xc0", new(string)},
		{"nil for a bool", "\xc0", new(bool)},
		{"nil for a struct", "\xc0", new(point)},
		{"nil for an array", "\xc0", new([2]int)},
		{"nil for a byte array", "\xc0", new([2]byte)},
		{"nil for what encodes itself", "\xc0", new(packed)},
		{"nil for a Bulk", "\xc0", new(tensor)},
		{"a number for a bool", "\x01", new(bool)},
		{"an integer for a float", "\x01", new(float64)},
		{"a float32 for a float64", "\xca\x00\x00\x00\x00", new(float64)},
		{"a float64 for a float32", "\xcb\x00\x00\x00\x00\x00\x00\x00\x00", new(float32)},
		{"a float for an integer", "\xca\x00\x00\x00\x00", new(int)},
		{"a negative number for an unsigned one", "\xff", new(uint)},
		{"a long negative number for an unsigned one", "\xd0\x80", new(uint64)},
		{"128 for an int8", "\xcc\x80", new(int8)},
		{"256 for a uint8", "\xcd\x01\x00", new(uint8)},
		{"the largest uint64 for an int64", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", new(int64)},
		{"bytes for a text", "\xc4\x01a", new(string)},
		{"a text for bytes", "\xa1a", new([]byte)},
		{"too few bytes for a byte array", "\xc4\x01a", new([2]byte)},
		{"too many bytes for a byte array", "\xc4\x03abc", new([2]byte)},
		{"too few elements", "\x91\x01", new([2]int)},
		{"too few fields", "\x91\x01", new(point)},
		{"a map for a struct", "\x82\xa1X\x01\xa1Y\x02", new(struct{ X, Y, Z, U int })},
		{"a map for a slice", "\x81\x01\x02", new([]int)},
		{"an array for a map", "\x92\x01\x02", new(map[int]int)},
		{"a pointer to nil without its array", "\x01", new(**int)},
		{"a number for complex", "\x01", new(complex128)},
		{"integers for complex", "\x92\x01\x02", new(struct{ C complex128 })},
		{"a large number for complex64", "\x92\xcb\x7f\xef\xff\xff\xff\xff\xff\xff\xcb\x00\x00\x00\x00\x00\x00\x00\x00", new(complex64)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Codec
			if err := c.Decode([]byte(tt.src), tt.into); !errors.Is(err, ErrMismatch) {
				t.Errorf("got %v into %v", err, reflect.ValueOf(tt.into).Elem())
			}
		})
	}
}

func TestDecodeErrorNamesTheField(t *testing.T) {
	var c Codec
	err := c.Decode([]byte("\x95\x01\xa0\xc3\xc0\xc0"), new(row))
	if want := "decode msgpack.row: Label: msgpack: not a value of this type: want an integer, got 0xc3"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCyclicValuesAreErrors(t *testing.T) {
	list := &linked{}
	list.Next = list
	var round ring
	round = &round
	nested := nest{nil}
	nested[0] = nested
	named := mapping{}
	named["self"] = named
	long := &linked{}
	for range MaxDepth {
		long = &linked{long}
	}
	for name, v := range map[string]any{"list": list, "pointer": round, "slice": nested, "map": named, "65 long": long} {
		t.Run(name, func(t *testing.T) {
			var c Codec
			if out, err := c.Append([]byte("kept"), v); !errors.Is(err, ErrDepth) || string(out) != "kept" {
				t.Errorf("got %v", err)
			}
			if _, err := c.Append(nil, long.Next); err != nil {
				t.Errorf("64 long, afterwards: %v", err)
			}
		})
	}
}

// TestAppendRefusesWhatDecodeWould: a value that encodes is never refused where it arrives.
func TestAppendRefusesWhatDecodeWould(t *testing.T) {
	var c Codec
	for name, v := range map[string]any{
		"what hides its size":    make([]vast, 2),
		"behind pointers":        []*vast{{}, {}},
		"fields nobody can name": make([]padded, 300),
	} {
		if _, err := c.Append(nil, v); !errors.Is(err, ErrMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
	src, err := c.Append(nil, make([]vast, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Decode(src, new([]vast)); err != nil {
		t.Error(err)
	}
}

func TestMapKeysThatCannotBeToldApart(t *testing.T) {
	var c Codec
	if _, err := c.Append(nil, map[float64]int{math.NaN(): 1}); err == nil {
		t.Error("NaN as a key is encoded")
	}
	if _, err := c.Append(nil, map[alike]int{"a": 1, "A": 2}); err == nil || !strings.Contains(err.Error(), "same encoding") {
		t.Errorf("two keys that encode alike: %v", err)
	}
}
