package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/weirflow/weir/stages"
)

const (
	blocks     = 2       // different ones that a worker has
	blockBytes = 2 << 20 // of a block, decompressed: as much work as a large photo
)

// Config is all that the pipeline depends on.
type Config struct {
	Workers    int // blocks in work at once
	BlockBytes int // decompressed
}

// A loader's typical work: it decompresses, without end. What goes from stage to stage is a number and a checksum, so that
// whatever it does to others, it does by working.
var loader = stages.Define("loader", func(g *stages.Graph, cfg Config) stages.Stream[uint32] {
	seeds := stages.Source(g, "seeds", stages.FromSlice([]uint64{1, 2, 3, 5, 7, 11, 13, 17}), stages.Forever)
	return stages.MapWith(seeds, "inflate", cfg.openInflater, (*inflater).inflate, stages.Mailbox(cfg.Workers), stages.Buffer(2*cfg.Workers))
})

// An inflater decompresses blocks that it has in memory.
type inflater struct{ packed [blocks][]byte }

func (c Config) openInflater(context.Context) (*inflater, error) {
	f := &inflater{}
	for i := range f.packed {
		packed, err := pack(uint64(i), c.BlockBytes)
		if err != nil {
			return nil, err
		}
		f.packed[i] = packed
	}
	return f, nil
}

// pack makes a block of numbers in decimal, which is compressed to less than half, as text is.
func pack(seed uint64, size int) ([]byte, error) {
	dice := rand.New(rand.NewPCG(seed, 0))
	text := make([]byte, 0, size+32)
	for len(text) < size {
		text = strconv.AppendUint(text, dice.Uint64()>>dice.IntN(64), 10)
		text = append(text, ' ')
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text[:size]); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// inflate returns the checksum of a decompressed block. It allocates what it decompresses to, as loaders do.
func (f *inflater) inflate(_ context.Context, seed uint64) (uint32, error) {
	r, err := gzip.NewReader(bytes.NewReader(f.packed[seed%blocks]))
	if err != nil {
		return 0, err
	}
	data, err := io.ReadAll(r)
	return crc32.ChecksumIEEE(data), err
}
