package arena

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weirflow/weir/internal/wire"
)

// model is an arena as an array of granules, with the generation that each is used by.
type model []uint32

func (m model) fits(granules int) (at int, ok bool) {
	run := 0
	for i, g := range m {
		if run++; g != 0 {
			run = 0
		}
		if run == granules {
			return i - granules + 1, true
		}
	}
	return 0, false
}

func (m model) set(b wire.Block, generation uint32) {
	for i := b.Offset / granule; i*granule < b.Offset+b.Length; i++ {
		m[i] = generation
	}
}

func (m model) free() (extents []extent) {
	for i := 0; i < len(m); i++ {
		from := i
		for i < len(m) && m[i] == 0 {
			i++
		}
		if i > from {
			extents = append(extents, extent{uint64(from) * granule, uint64(i-from) * granule})
		}
	}
	return extents
}

// The book says what a walk over an array of granules says, after any takes and releases in any order.
func TestTheBookIsFirstFit(t *testing.T) {
	const granules = 64
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b, m := newBook(granules*granule+17), make(model, granules)
		var out []wire.Block
		for range 400 {
			if len(out) > 0 && random.IntN(5) < 2 {
				i := random.IntN(len(out))
				if err := b.give(out[i]); err != nil {
					t.Fatal(err)
				}
				m.set(out[i], 0)
				if err := b.give(out[i]); !errors.Is(err, ErrNotOut) {
					t.Fatalf("released twice: %v", err)
				}
				out[i] = out[len(out)-1]
				out = out[:len(out)-1]
			} else {
				n := uint64(1 + random.IntN(6*granule))
				at, fits := m.fits(int((n + granule - 1) / granule))
				block, ok := b.take(n)
				if ok != fits || ok && (block.Offset != uint64(at)*granule || block.Length != n) {
					t.Fatalf("take %d: got %v, %v; want place %d, %v", n, block, ok, at, fits)
				}
				if ok {
					m.set(block, block.Generation)
					out = append(out, block)
				}
			}
			checkBook(t, b, m, len(out))
		}
	}
}

func checkBook(t *testing.T, b *book, m model, out int) {
	t.Helper()
	want := m.free()
	free := uint64(0)
	for i, e := range b.free {
		if free += e.length; i >= len(want) || e != want[i] {
			t.Fatalf("free: got %v, want %v", b.free, want)
		}
	}
	if len(b.free) != len(want) || len(b.out) != out || b.bytes != uint64(len(m))*granule-free {
		t.Fatalf("got %d free, %d out, %d bytes out; want %d, %d, %d", len(b.free), len(b.out), b.bytes, len(want), out, uint64(len(m))*granule-free)
	}
}

func TestABookRefusesWhatIsNotOut(t *testing.T) {
	b := newBook(8 * granule)
	first, _ := b.take(granule)
	second, _ := b.take(3 * granule)
	if err := b.give(first); err != nil {
		t.Fatal(err)
	}
	again, _ := b.take(100) // at the place of the first
	if again.Offset != first.Offset || again.Generation == first.Generation {
		t.Fatalf("got %v behind %v", again, first)
	}
	for _, tt := range []struct {
		name  string
		block wire.Block
		want  error
	}{
		{"a block that was there before", first, ErrStale},
		{"another length", wire.Block{Offset: second.Offset, Length: granule, Generation: second.Generation}, ErrStale},
		{"the inside of a block", wire.Block{Offset: second.Offset + granule, Length: granule, Generation: second.Generation}, ErrNotOut},
		{"a free place", wire.Block{Offset: 7 * granule, Length: granule, Generation: 1}, ErrNotOut},
		{"a place outside", wire.Block{Offset: math.MaxUint64 - 1, Length: math.MaxUint64, Generation: 1}, ErrNotOut},
		{"nothing", wire.Block{}, ErrStale},
	} {
		t.Run(tt.name, func(t *testing.T) {
			free, bytes := b.free[0], b.bytes
			if err := b.give(tt.block); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if len(b.out) != 2 || len(b.free) != 1 || b.free[0] != free || b.bytes != bytes {
				t.Errorf("changed: %v free, %v out", b.free, b.out)
			}
		})
	}
}

func TestABookHasNoPlaceFor(t *testing.T) {
	b := newBook(4*granule - 1)
	for name, n := range map[string]uint64{
		"nothing": 0, "more than there is": 3*granule + 1, "a length that overflows": math.MaxUint64,
	} {
		if block, ok := b.take(n); ok {
			t.Errorf("%s: got %v", name, block)
		}
	}
	if block, ok := b.take(3 * granule); !ok {
		t.Errorf("all of it: got %v, %v", block, ok)
	}
}

func TestNoBlockIsOfGenerationZero(t *testing.T) {
	b := newBook(2 * granule)
	b.generation = math.MaxUint32
	if block, ok := b.take(1); !ok || block.Generation != 1 {
		t.Errorf("got %v, %v", block, ok)
	}
}

func BenchmarkBook(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	book := newBook(256 << 20)
	var out []wire.Block
	for b.Loop() {
		if len(out) == 64 {
			i := random.IntN(len(out))
			if err := book.give(out[i]); err != nil {
				b.Fatal(err)
			}
			out[i] = out[63]
			out = out[:63]
		}
		block, ok := book.take(uint64(64<<10 + random.IntN(1<<20)))
		if !ok {
			b.Fatal("full")
		}
		out = append(out, block)
	}
}
