package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/weirflow/weir/stages"
)

// What a region with sources may have in it, to be compared with the same graph in this process.

// A streamCase is a graph from "source" to "mid". What comes out of mid is text, so that stages of one more kind need not more.
type streamCase struct {
	name    string
	build   func(g *stages.Graph, n int) stages.Stream[string]
	any     bool // what comes out is in any order
	several bool // there are several sources: only the whole graph can be elsewhere
	loose   bool // how items are put together differs from run to run: only the items themselves are compared
	n       int  // 0: 1000
}

type streamConfig struct {
	Case string
	N    int
}

// streams is every case, by its name.
var streams = stages.Define("streams", func(g *stages.Graph, cfg streamConfig) stages.Stream[string] {
	g.Errors(errBad)
	stages.ErrorType[*StreamError](g)
	for _, c := range streamCases() {
		if c.name == cfg.Case {
			return stages.Map(c.build(g, cfg.N), "here", func(ctx context.Context, s string) (string, error) {
				return fmt.Sprintf("%s = %v", s, stages.ItemID(ctx)), nil
			})
		}
	}
	panic("there is no case " + cfg.Case)
})

// A StreamError is an error with fields.
type StreamError struct{ V int }

func (e *StreamError) Error() string { return fmt.Sprintf("%d is wrong", e.V) }

// signed says of an item what its stage knows of it.
func signed[T any](ctx context.Context, v T) (string, error) {
	w := stages.Where(ctx)
	return fmt.Sprintf("%v %v %v %d", v, stages.ItemID(ctx), w.Stage, stages.Attempt(ctx)), nil
}

func mid[T any](s stages.Stream[T], opts ...stages.Option) stages.Stream[string] {
	return stages.Map(s, "mid", signed[T], opts...)
}

// failsAt fails the items that are divisible by d.
func failsAt(d int, how func(v int) error) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) {
		if v > 0 && v%d == 0 {
			return 0, how(v)
		}
		return v, nil
	}
}

func badly(v int) error {
	return fmt.Errorf("item: %w", errors.Join(errBad, &StreamError{v}, io.ErrUnexpectedEOF))
}

func numbersFrom(n int, fails func(i int) error) func(context.Context, stages.Position) iter.Seq2[int, error] {
	return func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < n; i++ {
				err := fails(i)
				if !yield(from.Epoch*1_000_000+i, err) {
					return
				}
			}
		}
	}
}

func source(g *stages.Graph, n int, opts ...stages.SourceOption) stages.Stream[int] {
	return stages.Source(g, "source", stages.FromFunc(numbersFrom(n, func(int) error { return nil })), opts...)
}

// fromSeq cannot seek.
func fromSeq(n int) stages.Origin[int] {
	return stages.FromSeq(func(ctx context.Context) iter.Seq2[int, error] {
		return numbersFrom(n, func(int) error { return nil })(ctx, stages.Position{})
	})
}

func oddOnly(_ context.Context, v int) (bool, error) { return v%2 == 1, nil }

func threeTimes(_ context.Context, v int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range v % 4 {
			if !yield(10*v+i, nil) {
				return
			}
		}
	}
}

func streamCases() []streamCase {
	type (
		g = *stages.Graph
		s = stages.Stream[string]
	)
	opts := func(o ...stages.Option) []stages.Option { return o }
	mapped := func(o ...stages.Option) func(g, int) s {
		return func(g g, n int) s { return mid(stages.Map(source(g, n), "map", same, o...), o...) }
	}
	failing := func(d int, o ...stages.Option) func(g, int) s {
		return func(g g, n int) s { return mid(stages.Map(source(g, n), "map", failsAt(d, badly), o...)) }
	}
	pair := func(mix stages.Mix, o ...stages.SourceOption) func(g, int) s {
		return func(g g, n int) s {
			b := stages.Source(g, "other", stages.FromFunc(numbersFrom(n/2, func(int) error { return nil })), o...)
			return mid(stages.Merge("merge", mix, source(g, n, o...), b))
		}
	}
	return []streamCase{
		{name: "one worker", build: mapped()},
		{name: "four workers", build: mapped(stages.Mailbox(4), stages.Ordered)},
		{name: "four workers unordered", build: mapped(stages.Mailbox(4), stages.Unordered), any: true},
		{name: "no items", build: mapped(), n: -1},
		{name: "one item", build: mapped(), n: 1},
		{name: "from a sequence", build: func(g g, n int) s { return mid(stages.Source(g, "source", fromSeq(n))) }},
		{name: "filter", build: func(g g, n int) s { return mid(stages.Filter(source(g, n), "odd", oddOnly)) }},
		{name: "nothing is left", build: func(g g, n int) s {
			return mid(stages.Filter(source(g, n), "none", func(context.Context, int) (bool, error) { return false, nil }))
		}},
		{name: "flatMap", build: func(g g, n int) s { return mid(stages.FlatMap(source(g, n), "flat", threeTimes)) }},
		{name: "flatMap of a flatMap", build: func(g g, n int) s {
			return mid(stages.FlatMap(stages.FlatMap(source(g, n), "flat", threeTimes), "flatter", threeTimes))
		}},
		{name: "flatMap streaming", build: func(g g, n int) s {
			return mid(stages.FlatMap(source(g, n), "flat", threeTimes, stages.Streaming))
		}},
		{name: "batch", build: func(g g, n int) s { return mid(stages.Batch(source(g, n), "batch", 7)) }},
		{name: "batch behind a filter", build: func(g g, n int) s {
			return mid(stages.Batch(stages.Filter(source(g, n), "odd", oddOnly), "batch", 7))
		}},
		{name: "batch without the last", build: func(g g, n int) s { return mid(stages.Batch(source(g, n), "batch", 7, stages.DropLast)) }},
		{name: "batch of all", build: func(g g, n int) s { return mid(stages.Batch(source(g, n), "batch", 1<<20, stages.MaxHeld(1<<20))) }},
		{name: "batches by the clock", build: func(g g, n int) s {
			return mid(stages.Unbatch(stages.Batch(source(g, n), "batch", 100, stages.MaxWait(time.Millisecond)), "parts"))
		}, loose: true},
		{name: "batch of batches", build: func(g g, n int) s {
			return mid(stages.Batch(stages.Batch(source(g, n), "batch", 7), "more", 3))
		}},
		{name: "batch by size", build: func(g g, n int) s {
			return mid(stages.BatchBySize(source(g, n), "batch", 20, func(v int) int { return v % 9 }))
		}},
		{name: "by key", build: func(g g, n int) s {
			return mid(stages.AggregateByKey(source(g, n), "keys", func(v int) int { return v % 5 }, func(_ context.Context, k int) (*bucket, error) { return &bucket{size: 3 + k}, nil }))
		}},
		{name: "windows", build: func(g g, n int) s {
			return mid(stages.Aggregate(source(g, n), "sum", func(context.Context) (*bucket, error) { return &bucket{size: 4}, nil }, stages.DropLast))
		}},
		{name: "route", build: func(g g, n int) s {
			r := stages.Route(source(g, n), "route", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil })
			return mid(stages.Merge("merge", stages.InputOrder{}, stages.Map(r[0], "even", same), stages.Filter(r[1], "third", func(_ context.Context, v int) (bool, error) { return v%3 == 0, nil })))
		}},
		{name: "tee with both branches", build: func(g g, n int) s {
			a, b := stages.Tee(source(g, n), "tee")
			return mid(stages.Merge("merge", stages.InputOrder{}, stages.Map(a, "a", same), stages.Map(b, "b", same)))
		}},
		{name: "tee by arrival", build: func(g g, n int) s {
			a, b := stages.Tee(source(g, n), "tee")
			return mid(stages.Merge("merge", stages.Arrival{}, stages.Map(a, "a", same), stages.FlatMap(b, "b", threeTimes)))
		}, any: true},
		{name: "tee with a sink", build: func(g g, n int) s {
			a, b := stages.Tee(source(g, n), "tee")
			stages.Sink(b, "sink", func(_ context.Context, v int) error {
				if v%10 == 3 {
					return badly(v)
				}
				return nil
			}, stages.OnError(stages.Skip(1<<20)))
			return mid(a)
		}, several: true},
		{name: "arrival", build: pair(stages.Arrival{}), any: true, several: true},
		{name: "round robin", build: pair(stages.RoundRobin{}), several: true},
		{name: "weighted", build: pair(stages.Weighted{Weights: []float64{3, 1}, Seed: 5}), several: true},
		{name: "weighted until the first ends", build: pair(stages.Weighted{Weights: []float64{1, 3}, Seed: 5, UntilFirstEnd: true}), several: true},
		{name: "two epochs", build: func(g g, n int) s { return mid(stages.Batch(source(g, n, stages.Epochs(2)), "batch", 7)) }},
		{name: "two epochs of a filter", build: func(g g, n int) s {
			return mid(stages.Filter(source(g, n, stages.Epochs(2)), "odd", oddOnly, stages.Mailbox(3), stages.Ordered))
		}},
		{name: "two epochs with a sink", build: func(g g, n int) s {
			a, b := stages.Tee(source(g, n, stages.Epochs(2)), "tee")
			stages.Sink(b, "sink", func(_ context.Context, v int) error { return nil })
			return mid(a)
		}, several: true},
		{name: "epochs of nothing", build: func(g g, n int) s { return mid(source(g, 0, stages.Epochs(3))) }},
		{name: "epochs of several", build: pair(stages.RoundRobin{}, stages.Epochs(2)), several: true},
		{name: "a source with faults", build: func(g g, n int) s {
			return mid(stages.Source(g, "source", stages.FromFunc(numbersFrom(n, func(i int) error {
				if i%10 == 3 {
					return badly(i)
				}
				return nil
			})), stages.OnError(stages.Skip(1<<20))))
		}},
		{name: "a source that fails", build: func(g g, n int) s {
			return mid(stages.Source(g, "source", stages.FromFunc(numbersFrom(n, func(i int) error {
				if i == 300 {
					return badly(i)
				}
				return nil
			}))))
		}},
		{name: "a source that cannot go on", build: func(g g, n int) s {
			return mid(stages.Source(g, "source", stages.FromFunc(numbersFrom(n, func(i int) error {
				if i == 300 {
					return stages.Fatal(badly(i))
				}
				return nil
			})), stages.OnError(stages.Skip(1<<20))))
		}},
		{name: "an item fails", build: failing(300)},
		{name: "an item fails in order", build: failing(300, stages.Mailbox(4), stages.Ordered)},
		{name: "items fail", build: failing(10, stages.OnError(stages.Skip(1<<20)), stages.Mailbox(4), stages.Ordered)},
		{name: "too many fail", build: failing(100, stages.OnError(stages.Skip(4)))},
		{name: "too many fail in order", build: failing(100, stages.OnError(stages.Skip(4)), stages.Mailbox(4), stages.Ordered)},
		{name: "part of them fail", build: failing(10, stages.OnError(stages.Skip(stages.Fraction(0.5))))},
		{name: "fatal", build: func(g g, n int) s {
			return mid(stages.Map(source(g, n), "map", failsAt(300, func(v int) error { return stages.Fatal(badly(v)) }), opts(stages.OnError(stages.Skip(100)))...))
		}},
		{name: "a panic", build: func(g g, n int) s {
			return mid(stages.Map(source(g, n), "map", failsAt(100, func(v int) error { panic(fmt.Sprint("panic ", v)) }), stages.OnError(stages.Skip(100))))
		}},
		{name: "retry", build: func(g g, n int) s {
			return mid(stages.Map(source(g, n), "map", func(ctx context.Context, v int) (int, error) {
				if v%100 == 5 && stages.Attempt(ctx) < 3 {
					return 0, stages.Retryable(errBad)
				}
				return v + 100_000*stages.Attempt(ctx), nil
			}, stages.Retry{First: time.Microsecond}))
		}},
		{name: "timeout", build: func(g g, n int) s {
			return mid(stages.Map(source(g, n), "map", func(ctx context.Context, v int) (int, error) {
				if v == 50 {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return v, nil
			}, stages.Timeout(20*time.Millisecond), stages.OnError(stages.Skip(3))))
		}},
		{name: "children fail", build: func(g g, n int) s {
			return mid(stages.Map(stages.FlatMap(source(g, n), "flat", threeTimes), "map", failsAt(7, badly), stages.OnError(stages.Skip(1<<20))))
		}},
		{name: "members fail", build: func(g g, n int) s {
			b := stages.Batch(source(g, n), "batch", 7)
			return mid(stages.Map(b, "map", func(_ context.Context, v []int) ([]int, error) {
				if v[0]%21 == 0 {
					return nil, badly(v[0])
				}
				return v, nil
			}, stages.OnError(stages.Skip(1<<20))))
		}},
	}
}
