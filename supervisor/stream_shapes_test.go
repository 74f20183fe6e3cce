package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/weirflow/weir/stages"
)

// What an item of a source may become in a region that is killed: compared with the same graph in this process, by names and by
// values, in order where there is one.

// A partCase is a graph of n items. What comes out has its name in it.
type partCase struct {
	name  string
	n     int
	build func(g *stages.Graph, n int) stages.Stream[string]
	any   bool   // in any order
	loose bool   // how items are put together differs from run to run: only what is in them is compared
	fails bool   // the run does
	fed   string // the first stage of a region that is fed from here; "": there is none
}

type partConfig struct {
	Case string
	N    int
}

var parted = stages.Define("parted", func(g *stages.Graph, cfg partConfig) stages.Stream[string] {
	g.Errors(errBad)
	for _, c := range partCases() {
		if c.name == cfg.Case {
			return c.build(g, cfg.N)
		}
	}
	panic("there is no case " + cfg.Case)
})

// workABit takes 20 µs.
func workABit() {
	for begun := time.Now(); time.Since(begun) < 20*time.Microsecond; {
	}
}

func named[T any](ctx context.Context, v T) (string, error) {
	return fmt.Sprintf("%v %v", v, stages.ItemID(ctx)), nil
}

func slowFour(ctx context.Context, v int) iter.Seq2[int, error] {
	workABit()
	return func(yield func(int, error) bool) {
		for i := range v % 5 {
			if !yield(10*v+i, nil) {
				return
			}
		}
	}
}

// A pairing makes two items of each two: their sum, and their difference.
type pairing struct{ held []int }

func (p *pairing) Process(ctx context.Context, v int, emit func(int) bool) error {
	if p.held = append(p.held, v); len(p.held) == 2 {
		return p.Flush(ctx, emit)
	}
	return nil
}

func (p *pairing) Held() int { return len(p.held) }

func (p *pairing) Flush(_ context.Context, emit func(int) bool) error {
	if len(p.held) == 2 {
		emit(p.held[0] + p.held[1])
		emit(p.held[0] - p.held[1])
	}
	p.held = nil
	return nil
}

func failsEvery(d int) func(context.Context, int) (int, error) {
	return func(_ context.Context, v int) (int, error) {
		if v%d == 0 {
			return 0, errBad
		}
		return v, nil
	}
}

func partCases() []partCase {
	type (
		g = *stages.Graph
		s = stages.Stream[string]
	)
	skip := stages.OnError(stages.Skip(1 << 20))
	busy := []stages.Option{stages.Mailbox(4), stages.Unordered}
	flat := func(g g, n int) stages.Stream[int] {
		return stages.FlatMap(source(g, n), "flat", slowFour, stages.Mailbox(2), stages.Ordered)
	}
	return []partCase{
		{name: "of one item", n: 4000, build: func(g g, n int) s { return stages.Map(flat(g, n), "name", named[int]) }},
		{name: "of one item, on several ways", n: 3000, any: true, build: func(g g, n int) s {
			return stages.Map(stages.Map(flat(g, n), "way", same, busy...), "name", named[int])
		}},
		{name: "of parts", n: 2000, build: func(g g, n int) s {
			return stages.Map(stages.FlatMap(flat(g, n), "flatter", slowFour), "name", named[int])
		}},
		{name: "a branch each in batches", n: 4000, any: true, loose: true, fed: "flat", build: func(g g, n int) s {
			a, b := stages.Tee(flat(g, n), "tee")
			small := stages.Batch(a, "small", 3)
			large := stages.Batch(stages.Map(b, "other", same, busy...), "large", 7)
			return stages.Map(stages.Unbatch(stages.Merge("merge", stages.Arrival{}, small, large), "elements"), "name", func(_ context.Context, v int) (string, error) { return fmt.Sprint(v), nil })
		}},
		{name: "both branches in a batch", n: 3000, any: true, loose: true, build: func(g g, n int) s {
			a, b := stages.Tee(flat(g, n), "tee")
			both := stages.Merge("merge", stages.Arrival{}, stages.Map(a, "a", same, busy...), b)
			batches := stages.Batch(stages.FlatMap(both, "flatter", slowFour), "small", 5)
			return stages.Map(stages.Unbatch(batches, "elements"), "name", func(_ context.Context, v int) (string, error) { return fmt.Sprint(v), nil })
		}},
		{name: "branches in order", n: 4000, build: func(g g, n int) s {
			a, b := stages.Tee(source(g, n), "tee")
			return stages.Map(stages.Merge("merge", stages.InputOrder{}, stages.FlatMap(a, "a", slowFour), stages.Map(b, "b", same, stages.Mailbox(3), stages.Ordered)), "name", named[int])
		}},
		{name: "branches of several", n: 3000, any: true, build: func(g g, n int) s {
			to := stages.Route(flat(g, n), "route", 3, func(_ context.Context, v int) (int, error) { return v % 3, nil })
			return stages.Map(stages.Merge("merge", stages.Arrival{}, to[0], stages.FlatMap(to[1], "flatter", slowFour), stages.Map(to[2], "way", same, busy...)), "name", named[int])
		}},
		{name: "elements of a batch", n: 3000, any: true, loose: true, fed: "flat", build: func(g g, n int) s {
			elements := stages.Unbatch(stages.Batch(flat(g, n), "small", 6), "elements")
			return stages.Map(stages.Map(elements, "way", same, busy...), "name", func(_ context.Context, v int) (string, error) { return fmt.Sprint(v), nil })
		}},
		{name: "several of a group", n: 6000, fed: "pairs", build: func(g g, n int) s {
			pairs := stages.Aggregate(stages.Map(source(g, n), "map", same, stages.Mailbox(3), stages.Ordered), "pairs", func(context.Context) (*pairing, error) { return &pairing{}, nil })
			return stages.Map(stages.Batch(pairs, "small", 3), "name", named[[]int])
		}},
		{name: "several of a group, filtered", n: 6000, any: true, build: func(g g, n int) s {
			pairs := stages.Aggregate(source(g, n), "pairs", func(context.Context) (*pairing, error) { return &pairing{}, nil })
			return stages.Map(stages.Filter(pairs, "odd", func(_ context.Context, v int) (bool, error) { workABit(); return v > 0, nil }, busy...), "name", named[int])
		}},
		{name: "parts of batches", n: 2000, any: true, build: func(g g, n int) s {
			b := stages.Batch(source(g, n), "batch", 4)
			to := stages.RouteBatch(b, "route", 2, func(_ context.Context, b []int) ([]int, error) {
				workABit()
				at := make([]int, len(b))
				for i, v := range b {
					at[i] = v % 2
				}
				return at, nil
			})
			return stages.Map(stages.Merge("merge", stages.Arrival{}, to[0], stages.Map(to[1], "way", func(_ context.Context, b []int) ([]int, error) { return b, nil }, busy...)), "name", named[[]int])
		}},
		{name: "parts that fail", n: 3000, any: true, build: func(g g, n int) s {
			a, b := stages.Tee(flat(g, n), "tee")
			both := stages.Merge("merge", stages.Arrival{}, stages.Map(a, "a", failsEvery(7), skip, stages.Mailbox(4), stages.Unordered), b)
			return stages.Map(both, "name", named[int])
		}},
		{name: "batches of parts that fail", n: 4000, build: func(g g, n int) s {
			batches := stages.Map(stages.Batch(flat(g, n), "batch", 3), "check", func(_ context.Context, b []int) ([]int, error) {
				if b[0]%4 == 0 {
					return nil, errBad
				}
				return b, nil
			}, skip)
			return stages.Map(batches, "name", named[[]int])
		}},
		{name: "a branch far ahead", n: 20_000, any: true, build: func(g g, n int) s {
			a, b := stages.Tee(source(g, n), "tee")
			late := stages.Map(stages.Batch(b, "late", 9000), "length", func(_ context.Context, b []int) (int, error) { return len(b), nil })
			return stages.Map(stages.Merge("merge", stages.Arrival{}, a, late), "name", named[int])
		}},
		{name: "a failure before a batch", n: 1000, fed: "batch", fails: true, build: func(g g, n int) s {
			return stages.Map(stages.Batch(stages.Map(source(g, n), "map", failsAt(100, badly)), "batch", 64), "name", named[[]int])
		}},
		{name: "one failure too many", n: 1000, fed: "map", fails: true, build: func(g g, n int) s {
			// One worker: which of several failures is the one too many, of several workers, is a matter of who is first.
			mapped := stages.Map(source(g, n), "map", failsAt(10, badly), stages.OnError(stages.Skip(2)))
			return stages.Map(stages.Batch(mapped, "batch", 1), "name", named[[]int])
		}},
		{name: "streaming", n: 40, build: func(g g, n int) s {
			return stages.Map(stages.FlatMap(source(g, n), "flat", func(_ context.Context, v int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for i := range 300 {
						if workABit(); !yield(1000*v+i, nil) {
							return
						}
					}
				}
			}, stages.Streaming), "name", named[int])
		}},
	}
}

// bottomless makes items of its first item without an end.
var bottomless = stages.Define("bottomless", func(g *stages.Graph, n int) stages.Stream[int] {
	return stages.FlatMap(source(g, n), "flat", func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := 0; ctx.Err() == nil && yield(i, nil); i++ {
			}
		}
	}, stages.Streaming)
})
