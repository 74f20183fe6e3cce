package supervisor_test

import (
	"context"
	"iter"

	"github.com/weirflow/weir/stages"
)

// A small is about 100 bytes.
type small struct {
	ID    int64
	Label string
	X, Y  float64
	Words [4]uint64
	Flag  bool
}

var benchSmall = stages.Define("bench small", func(g *stages.Graph, cfg cargo) stages.Stream[small] {
	items := stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[small, error] {
		return func(yield func(small, error) bool) {
			for i := int(from.Index); i < cfg.N; i++ {
				if !yield(small{int64(i), "a label of 24 characters", float64(i), 0.5, [4]uint64{1 << 40, 1 << 50, 1 << 60, uint64(i)}, true}, nil) {
					return
				}
			}
		}
	})
	s := stages.Source(g, "make", items)
	return stages.Map(s, "pass", func(_ context.Context, v small) (small, error) { return v, nil }, stages.Ordered)
})

// benchBlocks hands on blocks that are not made anew for each item.
func benchBlocks[T any](name string, wrap func([]byte) T) *stages.Definition[cargo, T] {
	return stages.Define(name, func(g *stages.Graph, cfg cargo) stages.Stream[T] {
		some := make([]T, 8)
		for i := range some {
			some[i] = wrap(fill(i, cfg.Sizes[0]))
		}
		s := stages.Source(g, "indices", ints(cfg.N))
		return stages.Map(s, "make", func(_ context.Context, i int) (T, error) { return some[i%8], nil }, stages.Mailbox(max(cfg.Ahead, 1)), stages.Ordered)
	})
}

var (
	benchCopies = benchBlocks("bench copies", func(b []byte) []byte { return b })
	benchViews  = benchBlocks("bench views", stages.ViewOf)
)

func benchPipelines() []stages.Blueprint {
	return []stages.Blueprint{benchSmall, benchCopies, benchViews, benchLatency}
}

// turns lets the source of benchLatency yield an item.
var turns = make(chan struct{}, 1)

var benchLatency = stages.Define("bench latency", func(g *stages.Graph, n int) stages.Stream[small] {
	items := stages.FromFunc(func(ctx context.Context, from stages.Position) iter.Seq2[small, error] {
		return func(yield func(small, error) bool) {
			for i := int(from.Index); i < n; i++ {
				select {
				case <-turns:
				case <-ctx.Done():
					return
				}
				if !yield(small{ID: int64(i)}, nil) {
					return
				}
			}
		}
	})
	s := stages.Source(g, "make", items)
	return stages.Map(s, "pass", func(_ context.Context, v small) (small, error) { return v, nil }, stages.Ordered)
})
