package payload_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/wire"
)

type (
	jpeg  []byte
	level int16
	plain struct {
		Name string
		Data []byte
	}
)

// tensor is a codecs.Bulk.
type tensor struct {
	shape []byte
	data  []byte
}

func (x *tensor) Split() (head, block []byte, err error) {
	if len(x.shape) == 1 {
		return nil, nil, errors.New("of one dimension")
	}
	return x.shape, x.data, nil
}

func (x *tensor) Join(head, block []byte) error {
	if len(head) == 9 {
		return errors.New("of nine dimensions")
	}
	x.shape, x.data = head, block
	return nil
}

// celsius encodes itself, so its memory is nobody's business.
type celsius float64

func (c celsius) MarshalBinary() ([]byte, error) { return fmt.Append(nil, float64(c)), nil }

func (c *celsius) UnmarshalBinary(b []byte) error {
	_, err := fmt.Sscan(string(b), (*float64)(c))
	return err
}

// check sends v once without an arena, once with room and once without, and wants it back.
func check[T any](v T, blocks int) func(t *testing.T) {
	return func(t *testing.T) {
		f := payload.For[T]()
		for place, arena := range map[string]*store{"another machine": nil, "shared memory": newStore(8 << 20), "a full arena": newStore(1 << 10)} {
			e := between(arena)
			p, err := f.Pack(e.Packer, &v)
			if err != nil {
				t.Fatal(place, err)
			}
			p.Bytes = bytes.Clone(p.Bytes) // as it arrives: the message is used again
			e.Reset()
			shared, full := 0, int64(0)
			for _, b := range p.Blocks {
				if b.Generation != 0 {
					shared++
				}
			}
			switch want := place == "shared memory" && blocks > 0; {
			case want != (shared == 1):
				t.Errorf("%s: %d blocks in it", place, shared)
			case place == "a full arena" && blocks > 0:
				full = 1
			}
			if e.Inline() != full {
				t.Errorf("%s: %d inline, want %d", place, e.Inline(), full)
			}
			var got T
			if err := f.Unpack(e.Unpacker, p, &got); err != nil {
				t.Fatal(place, err)
			}
			if arena != nil {
				arena.checkEmpty(t)
			}
			clear(p.Bytes)
			if !reflect.DeepEqual(got, v) {
				t.Errorf("%s: got another value back", place)
			}
		}
	}
}

func TestValuesComeBack(t *testing.T) {
	floats, numbers, levels := make([]float64, 4096), make([]int, 4096), make([]level, 16<<10)
	for i := range floats {
		floats[i], numbers[i], levels[i] = math.Sqrt(float64(i)), -i*i, level(i*7)
	}
	floats[7] = math.Inf(-1)
	for name, test := range map[string]func(*testing.T){
		"bytes":                      check(noise(100_000), 1),
		"few bytes":                  check(noise(payload.Threshold-1), 0),
		"as few as make a block":     check(noise(payload.Threshold), 1),
		"no bytes":                   check([]byte{}, 0),
		"nil":                        check([]byte(nil), 0),
		"named bytes":                check(jpeg(noise(50_000)), 1),
		"floats":                     check(floats, 1),
		"ints":                       check(numbers, 1),
		"few ints":                   check(numbers[:100], 0),
		"named numbers":              check(levels, 1),
		"complex numbers":            check([]complex128{1i, complex(2, 3)}, 0),
		"many complex numbers":       check(make([]complex128, 2000), 1),
		"bools are not numbers":      check(make([]bool, 20_000), 0),
		"numbers with an own form":   check(make([]celsius, 2000), 0),
		"strings":                    check(strings.Repeat("weir", 10_000), 0),
		"a struct":                   check(plain{"a", noise(100_000)}, 0),
		"a bulk":                     check(tensor{noise(6), noise(1 << 20)}, 1),
		"a small bulk":               check(tensor{noise(6), noise(100)}, 0),
		"a bulk of nothing":          check(tensor{[]byte{}, []byte{}}, 0),
		"a pointer to a bulk":        check(&tensor{noise(6), noise(1 << 20)}, 1),
		"a pointer to a small bulk":  check(&tensor{noise(2), []byte{}}, 0),
		"a nil pointer to a bulk":    check((*tensor)(nil), 0),
		"a pointer":                  check(&plain{"b", nil}, 0),
		"what has a form of its own": check(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), 0),
		"a bulk in something else":   check([]tensor{{noise(2), noise(20_000)}}, 0),
	} {
		t.Run(name, test)
	}
}

// What came stays as it is when the place is given to somebody else, and can be appended to without meeting anybody.
func TestWhatComesBackIsPrivate(t *testing.T) {
	arena := newStore(1 << 20)
	e, f := between(arena), payload.For[[]byte]()
	v := noise(20_000)
	p, err := f.Pack(e.Packer, &v)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	if err := f.Unpack(e.Unpacker, p, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, noise(20_000)) || &got[0] == &v[0] || cap(got) != len(got) {
		t.Errorf("got %d bytes, room for %d", len(got), cap(got))
	}
	if err := f.Unpack(e.Unpacker, p, &got); !errors.Is(err, errNoBlock) {
		t.Errorf("a block that was released: %v", err)
	}
}

func TestPayloadsOfOneMessageAreThereTogether(t *testing.T) {
	e, f := between(nil), payload.For[[]byte]()
	var made []wire.Payload
	for i := range 30 {
		v := noise(i * 1000)
		p, err := f.Pack(e.Packer, &v)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, p)
	}
	for i, p := range made {
		var got []byte
		if err := f.Unpack(e.Unpacker, p, &got); err != nil || !reflect.DeepEqual(got, noise(i*1000)) {
			t.Errorf("payload %d: %d bytes, %v", i, len(got), err)
		}
	}
}

func TestWhatIsTooLargeIsNamedSo(t *testing.T) {
	const most, large = 1 << 20, 1<<20 + 1
	big := make([]byte, large)
	text := string(big)
	for _, tt := range []struct {
		name  string
		arena *store
		want  error
	}{
		{"without shared memory", nil, codecs.ErrTooLarge},
		{"with too little of it", newStore(1 << 19), codecs.ErrTooLarge},
		{"with enough, but in use", &store{size: large + 100, used: 1000}, payload.ErrFull},
		{"with room", newStore(large + 100), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := between(tt.arena)
			e.Limit(most)
			if p, err := payload.For[[]byte]().Pack(e.Packer, &big); !errors.Is(err, tt.want) {
				t.Errorf("bytes: %v", err)
			} else if err := e.Discard(p); err != nil {
				t.Error(err)
			}
			// What the codec makes of a value goes the same way.
			p, err := payload.For[string]().Pack(e.Packer, &text)
			if !errors.Is(err, tt.want) {
				t.Errorf("a string: %v", err)
			}
			if tt.want == nil {
				var got string
				if err := payload.For[string]().Unpack(e.Unpacker, p, &got); err != nil || got != text {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				tt.arena.checkEmpty(t)
			}
			v := tensor{shape: big}
			if _, err := payload.For[tensor]().Pack(e.Packer, &v); !errors.Is(err, codecs.ErrTooLarge) {
				t.Errorf("a head: %v", err)
			}
		})
	}
}

// refuse wants an error of what a peer may send in the place of a T, and that no panic comes of it.
func refuse[T any](p wire.Payload) func(*testing.T) {
	return func(t *testing.T) {
		arena := newStore(1 << 20)
		if b, ok := arena.Put(noise(30_001)); !ok || b.Offset != 1 {
			t.Fatal(b)
		}
		for _, e := range []ends{between(arena), between(nil)} {
			var got T
			if err := payload.For[T]().Unpack(e.Unpacker, p, &got); err == nil {
				t.Errorf("got %v", got)
			}
		}
	}
}

func TestPayloadsOfAPeerAreChecked(t *testing.T) {
	inline := func(n uint64) []wire.Block { return []wire.Block{{Length: n}} }
	shared := []wire.Block{{Offset: 1, Length: 30_001, Generation: 1}}
	head := noise(10)
	for name, test := range map[string]func(*testing.T){
		"a block longer than the message":    refuse[[]byte](wire.Payload{Bytes: head, Blocks: inline(11)}),
		"a block of a length that overflows": refuse[[]byte](wire.Payload{Bytes: head, Blocks: inline(math.MaxUint64)}),
		"a block at another place":           refuse[[]byte](wire.Payload{Bytes: head, Blocks: []wire.Block{{Offset: 2, Length: 3}}}),
		"a head before bytes":                refuse[[]byte](wire.Payload{Bytes: head, Blocks: inline(9)}),
		"a head before shared bytes":         refuse[[]byte](wire.Payload{Bytes: head, Blocks: shared}),
		"two blocks":                         refuse[[]byte](wire.Payload{Bytes: head, Blocks: append(inline(5), inline(5)...)}),
		"half a number":                      refuse[[]int32](wire.Payload{Blocks: shared}),
		"half a number in the message":       refuse[[]int32](wire.Payload{Bytes: head, Blocks: inline(10)}),
		"a block that is not there":          refuse[[]byte](wire.Payload{Blocks: []wire.Block{{Offset: 4096, Length: 5, Generation: 1}}}),
		"a bulk without a block":             refuse[tensor](wire.Payload{Bytes: head}),
		"a bulk of nothing at all":           refuse[tensor](wire.Payload{}),
		"a head behind a nil pointer":        refuse[*tensor](wire.Payload{Bytes: head}),
		"a bulk that its type refuses":       refuse[tensor](wire.Payload{Bytes: noise(12), Blocks: inline(3)}),
		"a pointer that its type refuses":    refuse[*tensor](wire.Payload{Bytes: noise(12), Blocks: inline(3)}),
		"a block that is no encoding":        refuse[string](wire.Payload{Bytes: []byte{0xc1}, Blocks: inline(1)}),
		"bytes that are no encoding":         refuse[string](wire.Payload{Bytes: []byte{0xc1}}),
		"nothing":                            refuse[string](wire.Payload{}),
	} {
		t.Run(name, test)
	}
}

func TestABulkThatCannotBeSplitIsAnError(t *testing.T) {
	e := between(nil)
	v := tensor{shape: []byte{1}}
	if _, err := payload.For[tensor]().Pack(e.Packer, &v); err == nil {
		t.Error("no error")
	}
}

func TestADiscardedPayloadGivesItsBlockBack(t *testing.T) {
	arena := newStore(1 << 20)
	e := between(arena)
	v, w := noise(20_000), noise(10)
	for _, v := range []*[]byte{&v, &w} {
		p, err := payload.For[[]byte]().Pack(e.Packer, v)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Discard(p); err != nil {
			t.Error(err)
		}
	}
	arena.checkEmpty(t)
	if err := e.Discard(wire.Payload{Blocks: []wire.Block{{Offset: 3, Length: 1, Generation: 1}}}); !errors.Is(err, errNoBlock) {
		t.Error(err)
	}
	if err := between(nil).Discard(wire.Payload{Blocks: []wire.Block{{Offset: 3, Length: 1, Generation: 1}}}); !errors.Is(err, payload.ErrMalformed) {
		t.Error(err)
	}
}

func TestOnlyAViewIsAView(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[payload.Ref](), reflect.TypeFor[struct{ V plain }](), reflect.TypeFor[[]byte]()} {
		if payload.IsView(typ) {
			t.Error(typ)
		}
	}
}
