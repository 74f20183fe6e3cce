package supervisor_test

import (
	"context"
	"time"

	"github.com/weirflow/weir/stages"
)

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
