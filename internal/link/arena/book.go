package arena

import (
	"slices"

	"github.com/weirflow/weir/internal/wire"
)

// granule is what places are counted in. It is a page, so that no two blocks share a cache line or a page, and must be the
// same in both processes.
const granule = 4096

// A book knows what is free in an arena and what is out. It lies in the writer's private memory: nothing that the
// other process does can damage it.
//
// It is first fit: the lowest place that is large enough. What is used over and over then stays at the low end, and in
// the caches.
type book struct {
	free       []extent // by offset; no two are adjacent
	out        map[uint64]wire.Block
	generation uint32
	bytes      uint64 // that are out, in whole granules
}

type extent struct{ offset, length uint64 }

func newBook(bytes uint64) *book {
	b := &book{out: map[uint64]wire.Block{}}
	if whole := bytes / granule * granule; whole > 0 {
		b.free = []extent{{0, whole}}
	}
	return b
}

// take returns a block of n bytes, or false if there is no place for it.
func (b *book) take(n uint64) (wire.Block, bool) {
	whole := whole(n)
	if n == 0 || whole < n {
		return wire.Block{}, false
	}
	i := slices.IndexFunc(b.free, func(e extent) bool { return e.length >= whole })
	if i < 0 {
		return wire.Block{}, false
	}
	e := &b.free[i]
	if b.generation++; b.generation == 0 {
		b.generation = 1 // no block is of generation 0
	}
	block := wire.Block{Offset: e.offset, Length: n, Generation: b.generation}
	if e.offset, e.length = e.offset+whole, e.length-whole; e.length == 0 {
		b.free = slices.Delete(b.free, i, i+1)
	}
	b.out[block.Offset] = block
	b.bytes += whole
	return block, true
}

// give takes a block back. If it is refused, nothing has changed.
func (b *book) give(block wire.Block) error {
	switch known, ok := b.out[block.Offset]; {
	case !ok:
		return about(ErrNotOut, block)
	case known != block:
		return about(ErrStale, block)
	}
	delete(b.out, block.Offset)
	back := extent{block.Offset, whole(block.Length)}
	b.bytes -= back.length
	i, _ := slices.BinarySearchFunc(b.free, back.offset, func(e extent, offset uint64) int {
		if e.offset < offset {
			return -1
		}
		return 1
	})
	left := i > 0 && b.free[i-1].offset+b.free[i-1].length == back.offset
	right := i < len(b.free) && back.offset+back.length == b.free[i].offset
	switch {
	case left && right:
		b.free[i-1].length += back.length + b.free[i].length
		b.free = slices.Delete(b.free, i, i+1)
	case left:
		b.free[i-1].length += back.length
	case right:
		b.free[i].offset, b.free[i].length = back.offset, back.length+b.free[i].length
	default:
		b.free = slices.Insert(b.free, i, back)
	}
	return nil
}

// whole returns n in whole granules. It is less than n if that is more than there can be.
func whole(n uint64) uint64 { return (n + granule - 1) / granule * granule }
