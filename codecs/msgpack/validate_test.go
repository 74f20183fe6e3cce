package msgpack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	wire "github.com/vmihailenco/msgpack/v5"
)

func TestValidate(t *testing.T) {
	nested := func(n int) []byte { return append(bytes.Repeat([]byte{0x91}, n), 0xc0) }
	for _, tt := range []struct {
		name  string
		src   []byte
		limit int
		want  error
	}{
		{"one value", []byte{0xc0}, 1, nil},
		{"no value", nil, 1, errShort},
		{"two values", []byte{0xc0, 0xc0}, 2, errTrailing},
		{"an array longer than the message", []byte{0xdd, 0x0f, 0xff, 0xff, 0xff}, math.MaxInt, errShort},
		{"a map longer than the message", []byte{0xdf, 0xff, 0xff, 0xff, 0xff, 0xc0}, math.MaxInt, errShort},
		{"a map that counts half of its values", []byte{0x82, 1, 1, 2}, math.MaxInt, errShort},
		{"bytes longer than the message", []byte{0xc6, 0xff, 0xff, 0xff, 0xff}, math.MaxInt, errShort},
		{"a string longer than the message", []byte{0xd9, 2, 'a'}, math.MaxInt, errShort},
		{"a short string longer than the message", []byte{0xa2, 'a'}, math.MaxInt, errShort},
		{"a number cut off", []byte{0xcb, 0, 0}, math.MaxInt, errShort},
		{"a length cut off", []byte{0xdc, 0}, math.MaxInt, errShort},
		{"two arrays that count on the same bytes", []byte{0x92, 0x92, 0xc0, 0xc0}, math.MaxInt, errShort},
		{"64 deep", nested(64), math.MaxInt, nil},
		{"65 deep", nested(65), math.MaxInt, errNesting},
		{"4 MiB of nested arrays", nested(4 << 20), math.MaxInt, errNesting},
		{"as many values as allowed", []byte{0x93, 1, 2, 3}, 4, nil},
		{"one value too many", []byte{0x93, 1, 2, 3}, 3, errValues},
		{"the byte that begins no value", []byte{0xc1}, 1, errTag},
		{"a map header inside an extension", []byte{0xd7, 0xff, 0xdf, 0, 0xff, 0xff, 0xff, 0, 0, 0}, math.MaxInt, errExt},
		{"a timestamp", []byte{0xd6, 0xff, 0, 0, 0, 0}, math.MaxInt, errExt},
		{"a long extension", []byte{0xc9, 0, 0, 0, 1, 5, 0}, math.MaxInt, errExt},
		{"empty containers", []byte{0x92, 0x90, 0x80}, 3, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := validate(tt.src, tt.limit)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Errorf("%v is not ErrMalformed", err)
			}
		})
	}
}

// TestValidateTable compares the class of each first byte with the plain reading, for every length that fits in 40
// bytes of one value.
func TestValidateTable(t *testing.T) {
	if len(classes) != 256 {
		t.Fatalf("%d classes", len(classes))
	}
	for tag := range 256 {
		for n := range 40 {
			for _, second := range []byte{0, 1, 7} {
				src := make([]byte, n+1)
				src[0] = byte(tag)
				if n > 0 {
					src[min(n, 4)] = second // the low byte of a length of 32 bits, or the last there is
				}
				agree(t, src)
			}
		}
	}
}

func TestValidateDoesNotAllocate(t *testing.T) {
	var c Codec
	good, err := c.Append(nil, manyThings())
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range [][]byte{good, good[:len(good)-1], bytes.Repeat([]byte{0x91}, 1000)} {
		if n := testing.AllocsPerRun(100, func() { _ = validate(src, math.MaxInt) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// agree compares validate with the plain reading of the specification, and returns whether both accept.
func agree(t *testing.T, src []byte) bool {
	t.Helper()
	err := validate(src, math.MaxInt)
	rest, ok := plainly(src, MaxDepth)
	if (err == nil) != (ok && len(rest) == 0) {
		t.Fatalf("validator says %v, the specification %v with %d left: % .64x", err, ok, len(rest), src)
	}
	return err == nil
}

// plainly reads one value as the specification has it, recursively. It returns what follows.
func plainly(b []byte, depth int) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	tag, b := b[0], b[1:]
	number := func(size int) uint64 {
		if len(b) < size {
			ok = false
			return 0
		}
		var wide [8]byte
		copy(wide[8-size:], b[:size])
		b = b[size:]
		return binary.BigEndian.Uint64(wide[:])
	}
	skip := func(n uint64) {
		if n > uint64(len(b)) {
			ok = false
			return
		}
		b = b[n:]
	}
	values := func(n uint64) {
		if !ok || depth == 0 || n > uint64(len(b)) {
			ok = false
			return
		}
		for range n {
			if b, ok = plainly(b, depth-1); !ok {
				return
			}
		}
	}
	ok = true
	switch {
	case tag <= 0x7f || tag >= 0xe0:
	case tag <= 0x8f:
		values(2 * uint64(tag&15))
	case tag <= 0x9f:
		values(uint64(tag & 15))
	case tag <= 0xbf:
		skip(uint64(tag & 31))
	case tag == 0xc0 || tag == 0xc2 || tag == 0xc3:
	case tag == 0xcc || tag == 0xd0:
		skip(1)
	case tag == 0xcd || tag == 0xd1:
		skip(2)
	case tag == 0xca || tag == 0xce || tag == 0xd2:
		skip(4)
	case tag == 0xcb || tag == 0xcf || tag == 0xd3:
		skip(8)
	case tag >= 0xc4 && tag <= 0xc6:
		skip(number(1 << (tag - 0xc4)))
	case tag >= 0xd9 && tag <= 0xdb:
		skip(number(1 << (tag - 0xd9)))
	case tag == 0xdc || tag == 0xdd:
		values(number(2 << (tag - 0xdc)))
	case tag == 0xde || tag == 0xdf:
		values(2 * number(2<<(tag-0xde)))
	default:
		ok = false
	}
	return b, ok
}

// FuzzValidate: the validator and the plain reading agree; what is accepted can be read generically by another
// implementation without a panic; and a value cut short or extended is never accepted.
func FuzzValidate(f *testing.F) {
	for tag := range 256 {
		f.Add(append([]byte{byte(tag)}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17))
	}
	var c Codec
	all, err := c.Append(nil, manyThings())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, src []byte) {
		if !agree(t, src) {
			return
		}
		if len(src) < 1<<16 {
			var v any
			_ = wire.Unmarshal(src, &v) // keys it cannot use are an error there; a panic fails the target
		}
		if validate(src[:len(src)-1], math.MaxInt) == nil {
			t.Fatalf("accepted without its last byte: % .64x", src)
		}
		if err := validate(append(bytes.Clone(src), src[0]), math.MaxInt); !errors.Is(err, errTrailing) {
			t.Fatalf("with one byte more: %v: % .64x", err, src)
		}
	})
}
