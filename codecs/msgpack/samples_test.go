package msgpack

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"strings"
	"time"
)

// everything has each form in it, and each in another.
type everything struct {
	Bool     bool
	Int      int
	Int8     int8
	Uint64   uint64
	Float32  float32
	Float64  float64
	Complex  complex128
	Text     string
	Bytes    []byte
	Array    [3]int16
	ByteID   [16]byte
	Slice    []everything
	Map      map[string][]int
	Keyed    map[point]*point
	Addrs    map[netip.Addr]bool
	Next     *everything
	Deep     **int
	ToSlice  *[]string
	At       time.Time
	Times    []time.Time
	Addr     netip.Addr
	Packed   packed
	PackedP  *packed
	Tensors  []tensor
	Tensor   *tensor
	Duration time.Duration
	_        [7]byte
	Nothing  struct{}
}

type point struct{ X, Y int32 }

func manyThings() everything {
	n, p := 5, new(int)
	*p = n
	texts := []string(nil)
	return everything{
		Bool: true, Int: math.MinInt, Int8: -128, Uint64: math.MaxUint64, Float32: 0.5, Float64: math.Pi, Complex: 1i,
		Text: "text", Bytes: []byte{}, Array: [3]int16{1, -2, 300}, ByteID: [16]byte{15: 9},
		Slice: []everything{{}}, Map: map[string][]int{"b": {1}, "a": nil, "": {}}, Keyed: map[point]*point{{1, 2}: nil, {}: {3, 4}},
		Addrs: map[netip.Addr]bool{netip.MustParseAddr("::1"): true}, Next: &everything{}, Deep: &p, ToSlice: &texts,
		At: time.Unix(1<<31, 5).UTC(), Times: []time.Time{{}, time.Unix(0, 1).In(time.FixedZone("", 3600))},
		Addr: netip.MustParseAddr("10.0.0.1"), Packed: packed{1, 2}, PackedP: &packed{3, 4},
		Tensors: []tensor{{dims: []uint32{2}, data: []byte("ab")}, {}}, Tensor: &tensor{dims: []uint32{}, data: []byte{}}, Duration: time.Hour,
	}
}

// packed encodes itself with a method on the pointer, into the codec's own slice.
type packed struct{ a, b uint16 }

var (
	_ encoding.BinaryAppender    = (*packed)(nil)
	_ encoding.BinaryUnmarshaler = (*packed)(nil)
)

func (p *packed) AppendBinary(b []byte) ([]byte, error) {
	if *p == (packed{}) {
		return b, nil
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, p.a), p.b), nil
}

func (p *packed) UnmarshalBinary(b []byte) error {
	switch len(b) {
	case 0:
		*p = packed{}
	case 4:
		*p = packed{binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])}
	default:
		return errors.New("packed: not 4 bytes")
	}
	return nil
}

// tensor is a Bulk.
type tensor struct {
	dims []uint32
	data []byte
}

func (t *tensor) Split() (head, block []byte, err error) {
	for _, d := range t.dims {
		head = binary.BigEndian.AppendUint32(head, d)
	}
	return head, t.data, nil
}

func (t *tensor) Join(head, block []byte) error {
	if len(head)%4 != 0 {
		return errors.New("tensor: half a dimension")
	}
	for ; len(head) > 0; head = head[4:] {
		t.dims = append(t.dims, binary.BigEndian.Uint32(head))
	}
	t.data = block
	return nil
}

func (t tensor) Equal(u tensor) bool {
	if len(t.dims) != len(u.dims) || !bytes.Equal(t.data, u.data) {
		return false
	}
	for i := range t.dims {
		if t.dims[i] != u.dims[i] {
			return false
		}
	}
	return true
}

// word encodes itself with a method on the value where it can, as itself with upper and lower case exchanged.
type word string

func (w word) MarshalBinary() ([]byte, error) { return w.exchanged(), nil }
func (w *word) UnmarshalBinary(b []byte) error {
	*w = word(word(b).exchanged())
	return nil
}

func (w word) exchanged() []byte {
	b := []byte(w)
	for i := range b {
		b[i] ^= 0x20
	}
	return b
}

// alike loses its case on the way, which makes keys of it the same.
type alike string

func (a alike) MarshalBinary() ([]byte, error)  { return []byte(strings.ToUpper(string(a))), nil }
func (a *alike) UnmarshalBinary(b []byte) error { *a = alike(b); return nil }

// row is the struct of about 100 bytes that the benchmarks use.
type row struct {
	ID    uint64
	Key   string
	Label int64
	Score float64
	Data  []byte
}

func aRow() row {
	return row{ID: 1 << 40, Key: "img/0123456789abcdef.jpg", Label: 70000, Score: 1.5, Data: bytes.Repeat([]byte("x"), 48)}
}
