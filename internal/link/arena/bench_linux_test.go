package arena

import (
	"fmt"
	"testing"

	"github.com/weirflow/weir/internal/wire"
)

// What an arena costs without a link, next to a copy from heap to heap of the same bytes.
func BenchmarkBlock(b *testing.B) {
	for _, size := range []struct{ bytes, out int }{{64 << 10, 32}, {1 << 20, 16}} {
		sources := make([][]byte, 8)
		for i := range sources {
			sources[i] = pattern(size.bytes, byte(i))
		}
		copies := make([][]byte, size.out)
		for i := range copies {
			copies[i] = pattern(size.bytes, 0)
		}
		name := fmt.Sprintf("%dKiB-%dout/", size.bytes>>10, size.out)
		b.Run(name+"memcpy", func(b *testing.B) {
			b.SetBytes(int64(size.bytes))
			for i := 0; b.Loop(); i++ {
				copy(copies[i%size.out], sources[i%8])
			}
		})
		put := func(w *Writer, i int) (wire.Block, bool) { return w.Put(sources[i%8]) }
		build := func(w *Writer, i int) (wire.Block, bool) {
			buf, block, ok := w.Alloc(size.bytes)
			if ok {
				buf[0] = byte(i)
				w.Done()
			}
			return block, ok
		}
		take := func(i int, v []byte) { copy(copies[i%size.out], v) }
		look := func(int, []byte) {}
		b.Run(name+"private", func(b *testing.B) { benchmarkBlocks(b, size.bytes, size.out, put, take) })
		b.Run(name+"view", func(b *testing.B) { benchmarkBlocks(b, size.bytes, size.out, put, look) })
		b.Run(name+"in-place", func(b *testing.B) { benchmarkBlocks(b, size.bytes, size.out, build, look) })
	}
}

func benchmarkBlocks(b *testing.B, size, out int, put func(*Writer, int) (wire.Block, bool), take func(int, []byte)) {
	w, r := pair(b, uint64(2*size*out))
	var sent []wire.Block
	var back []wire.Block
	b.SetBytes(int64(size))
	for i := 0; b.Loop(); i++ {
		block, ok := put(w, i)
		if !ok {
			b.Fatal("full")
		}
		if sent = append(sent, block); len(sent) < out {
			continue
		}
		v, err := r.View(sent[0])
		if err != nil {
			b.Fatal(err)
		}
		take(i, v)
		if err := r.Release(sent[0]); err != nil {
			b.Fatal(err)
		}
		sent = append(sent[:0], sent[1:]...)
		back = r.Returned(back[:0])
		for _, f := range back {
			if err := w.Free(f); err != nil {
				b.Fatal(err)
			}
		}
	}
}
