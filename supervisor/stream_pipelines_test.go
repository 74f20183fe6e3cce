package supervisor_test

import (
	"context"
	"slices"
	"time"

	"github.com/weirflow/weir/stages"
)

type splitting struct {
	N, Workers         int
	Streaming, Shuffle bool
	Twice              bool // batches of batches
}

// split is a pipeline in which an input may be in several batches.
var split = stages.Define("split", func(g *stages.Graph, cfg splitting) stages.Stream[[]int] {
	s := stages.Source(g, "ints", ints(cfg.N))
	opts := []stages.FlatMapOption{stages.Mailbox(cfg.Workers), stages.Ordered}
	if cfg.Streaming {
		opts = append(opts, stages.Streaming)
	}
	parts := stages.FlatMap(s, "parts", upToFour, opts...)
	if cfg.Shuffle {
		parts = stages.Map(parts, "any order", same, stages.Mailbox(4), stages.Unordered)
	}
	small := stages.Batch(parts, "small", 7)
	if !cfg.Twice {
		return small
	}
	return stages.Map(stages.Batch(small, "large", 3), "flat", func(_ context.Context, b [][]int) ([]int, error) {
		return slices.Concat(b...), nil
	})
})

// batched is a pipeline with something of everything that a region with sources can have.
var batched = stages.Define("batched", func(g *stages.Graph, cfg span) stages.Stream[[]int] {
	s := stages.Source(g, "ints", ints(cfg.N))
	s = stages.Map(s, "work", func(_ context.Context, v int) (int, error) {
		for begun := time.Now(); time.Since(begun) < 20*time.Microsecond; {
		}
		return v, nil
	}, stages.Mailbox(cfg.Workers), stages.Ordered)
	s = stages.Filter(s, "odd", func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil })
	return stages.Batch(s, "batch", 7)
})
