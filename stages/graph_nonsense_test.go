package stages_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
)

// What makes no sense as a graph compiles, and is refused by With, with the stage and the line.
func TestGraphsThatMakeNoSenseAreRefused(t *testing.T) {
	type (
		S = stages.Stream[int]
		B = stages.Stream[[]int]
	)
	src := func(g *stages.Graph, name string, opts ...stages.SourceOption) S {
		return stages.Source(g, name, stages.FromSlice([]int{1, 2, 3}), opts...)
	}
	zero := func(context.Context, int) (int, error) { return 0, nil }
	first := func(_ context.Context, b []int) ([]int, error) { return make([]int, len(b)), nil }
	drop := func(in S, name string) { stages.Sink(in, name, func(context.Context, int) error { return nil }) }
	var other S
	stages.Define("other", func(g *stages.Graph, _ struct{}) S {
		other = src(g, "elsewhere")
		return other
	}).With(struct{}{})
	var none stages.Mix
	weighted := func(w ...float64) func(g *stages.Graph) S {
		return func(g *stages.Graph) S {
			return stages.Merge("bad", stages.Weighted{Weights: w}, src(g, "a"), src(g, "b"))
		}
	}
	batches := func(g *stages.Graph) B { return stages.Batch(src(g, "a"), "batch", 2) }
	whole := func(b B) S { return stages.Unbatch(b, "unbatch") }
	for name, build := range map[string]func(g *stages.Graph) S{
		"two graphs":            func(g *stages.Graph) S { return stages.Merge("bad", stages.Arrival{}, src(g, "a"), other) },
		"two graphs, reversed":  func(g *stages.Graph) S { return stages.Merge("bad", stages.Arrival{}, other, src(g, "a")) },
		"of another graph only": func(g *stages.Graph) S { return stages.Merge("bad", stages.Arrival{}, other) },
		"a sink of another graph": func(g *stages.Graph) S {
			drop(other, "bad")
			return src(g, "a")
		},
		"nil mix":           func(g *stages.Graph) S { return stages.Merge("bad", none, src(g, "a")) },
		"nil pointer mix":   func(g *stages.Graph) S { return stages.Merge("bad", (*stages.Weighted)(nil), src(g, "a")) },
		"no inputs":         func(*stages.Graph) S { return stages.Merge[int]("bad", stages.Arrival{}) },
		"no inputs of func": func(*stages.Graph) S { return stages.MergeFunc("bad", func([]*int) int { return 0 }) },
		"nil func":          func(g *stages.Graph) S { return stages.MergeFunc("bad", nil, src(g, "a")) },
		"zero stream":       func(g *stages.Graph) S { return stages.Merge("bad", stages.Arrival{}, src(g, "a"), S{}) },
		"same stream twice": func(g *stages.Graph) S { a := src(g, "a"); return stages.Merge("bad", stages.InputOrder{}, a, a) },
		"too few weights":   weighted(1),
		"too many weights":  weighted(1, 1, 1),
		"weight NaN":        weighted(1, math.NaN()),
		"weight Inf":        weighted(1, math.Inf(1)),
		"weight -Inf":       weighted(1, math.Inf(-1)),
		"weight 0":          weighted(1, 0),
		"weight -0":         weighted(1, math.Copysign(0, -1)),
		"weight negative":   weighted(1, -1),
		"weights too large": weighted(1e308, 1e308),
		"negative epoch": func(g *stages.Graph) S {
			return stages.Merge("bad", stages.Weighted{Weights: []float64{1}, EpochItems: -1}, src(g, "a", stages.Forever))
		},
		"epochs of what ends": func(g *stages.Graph) S {
			return stages.Merge("bad", stages.Weighted{Weights: []float64{1}, EpochItems: 5}, src(g, "a"))
		},
		"two ways to end an epoch": func(g *stages.Graph) S {
			return stages.Merge("bad", stages.Weighted{Weights: []float64{1}, EpochItems: 5, UntilFirstEnd: true}, src(g, "a", stages.Forever))
		},
		"endless beside what ends": func(g *stages.Graph) S {
			return stages.Merge("merge", stages.Arrival{}, src(g, "a", stages.Forever), src(g, "bad"))
		},
		"endless sink beside what ends": func(g *stages.Graph) S {
			drop(src(g, "b", stages.Forever), "sink")
			return src(g, "bad")
		},
		"order of two sources": func(g *stages.Graph) S { return stages.Merge("bad", stages.InputOrder{}, src(g, "a"), src(g, "b")) },
		"order of a branch and a source": func(g *stages.Graph) S {
			b := stages.Route(src(g, "a"), "route", 2, zero)
			return stages.Merge("bad", stages.InputOrder{}, b[0], b[1], src(g, "c"))
		},
		"order behind an arrival": func(g *stages.Graph) S {
			b := stages.Route(src(g, "a"), "route", 3, zero)
			return stages.Merge("order", stages.InputOrder{}, stages.Merge("bad", stages.Arrival{}, b[0], b[1]), b[2])
		},
		"order behind a func": func(g *stages.Graph) S {
			b := stages.Route(src(g, "a"), "route", 3, zero)
			return stages.Merge("order", stages.InputOrder{}, stages.MergeFunc("bad", func([]*int) int { return 0 }, b[0], b[1]), b[2])
		},
		"order behind an arrival of one": func(g *stages.Graph) S {
			b := stages.Route(src(g, "a"), "route", 2, zero)
			return stages.Merge("order", stages.InputOrder{}, stages.Merge("bad", stages.Arrival{}, b[0]), b[1])
		},
		"order behind what has none": func(g *stages.Graph) S {
			b := stages.Route(src(g, "a"), "route", 2, zero)
			x := stages.Map(b[0], "bad", zero, stages.Mailbox(2), stages.Unordered)
			return stages.Merge("order", stages.InputOrder{}, x, b[1])
		},
		"rejoin of a route": func(g *stages.Graph) S {
			b := stages.Route(batches(g), "route", 2, func(context.Context, []int) (int, error) { return 0, nil })
			return whole(stages.Rejoin("bad", b...))
		},
		"rejoin of nothing":            func(g *stages.Graph) S { return whole(stages.Rejoin[int]("bad")) },
		"rejoin of what was not split": func(g *stages.Graph) S { return whole(stages.Rejoin("bad", batches(g))) },
		"rejoin in another order": func(g *stages.Graph) S {
			b := stages.RouteBatch(batches(g), "deal", 2, first)
			return whole(stages.Rejoin("bad", b[1], b[0]))
		},
		"rejoin of some": func(g *stages.Graph) S {
			b := stages.RouteBatch(batches(g), "deal", 3, first)
			stages.Sink(b[2], "sink", func(context.Context, []int) error { return nil })
			return whole(stages.Rejoin("bad", b[0], b[1]))
		},
		"rejoin twice": func(g *stages.Graph) S {
			b := stages.RouteBatch(batches(g), "deal", 1, first)
			return whole(stages.Rejoin("bad", stages.Rejoin("good", b[0])))
		},
		"rejoin of two": func(g *stages.Graph) S {
			b := stages.RouteBatch(batches(g), "deal", 2, first)
			c := stages.RouteBatch(stages.Batch(src(g, "c"), "batch2", 2), "deal2", 2, first)
			stages.Sink(c[0], "sink", func(context.Context, []int) error { return nil })
			stages.Sink(b[1], "sink2", func(context.Context, []int) error { return nil })
			return whole(stages.Rejoin("bad", b[0], c[1]))
		},
		"rejoin of more batches": func(g *stages.Graph) S {
			b := stages.RouteBatch(batches(g), "deal", 2, first)
			return whole(stages.Rejoin("bad", stages.Batch(stages.Unbatch(b[0], "x"), "y", 2), b[1]))
		},
		"no branches":            func(g *stages.Graph) S { return stages.Route(src(g, "a"), "bad", 0, zero)[0] },
		"fewer than none":        func(g *stages.Graph) S { return stages.Route(src(g, "a"), "bad", -1, zero)[0] },
		"least branches":         func(g *stages.Graph) S { stages.Route(src(g, "a"), "bad", math.MinInt, zero); return src(g, "b") },
		"most branches":          func(g *stages.Graph) S { return stages.Route(src(g, "a"), "bad", math.MaxInt, zero)[0] },
		"most batch branches":    func(g *stages.Graph) S { return whole(stages.RouteBatch(batches(g), "bad", 1<<40, first)[0]) },
		"nil route":              func(g *stages.Graph) S { return stages.Route(src(g, "a"), "bad", 1, nil)[0] },
		"nil fork":               func(g *stages.Graph) S { return stages.Fork(src(g, "a"), "bad", 1, nil)[0] },
		"nil route batch":        func(g *stages.Graph) S { return whole(stages.RouteBatch(batches(g), "bad", 1, nil)[0]) },
		"nil sink":               func(g *stages.Graph) S { a, b := stages.Tee(src(g, "a"), "t"); stages.Sink(a, "bad", nil); return b },
		"branch left over":       func(g *stages.Graph) S { return stages.Route(src(g, "a"), "bad", 2, zero)[0] },
		"branch used twice":      func(g *stages.Graph) S { a, b := stages.Tee(src(g, "a"), "t"); drop(a, "s"); drop(a, "bad"); return b },
		"outlet also consumed":   func(g *stages.Graph) S { a, b := stages.Tee(src(g, "a"), "bad"); drop(a, "s"); drop(b, "u"); return b },
		"tee of the zero stream": func(g *stages.Graph) S { a, _ := stages.Tee(S{}, "bad"); return a },
		"one name twice":         func(g *stages.Graph) S { a, b := stages.Tee(src(g, "a"), "bad"); drop(a, "bad"); return b },
	} {
		t.Run(name, func(t *testing.T) {
			err := stages.Define("p", func(g *stages.Graph, _ struct{}) S { return build(g) }).With(struct{}{}).Err()
			e, ok := errors.AsType[*stages.DefinitionError](err)
			if !ok {
				t.Fatalf("accepted: %v", err)
			}
			panicked := strings.Contains(err.Error(), "goroutine ") // of the build function's own doing
			switch name {
			case "no branches", "fewer than none", "nil pointer mix":
			default:
				if panicked {
					t.Errorf("it is a panic: %v", err)
				}
			}
			if !strings.Contains(err.Error(), `"bad"`) && name != "nil pointer mix" {
				t.Errorf("it does not name the stage: %v", err)
			}
			if !strings.HasSuffix(e.File, "_test.go") || e.Line == 0 {
				t.Errorf("it does not say where: %v", err)
			}
		})
	}
	for name, build := range map[string]func(g *stages.Graph) S{
		"one weight": func(g *stages.Graph) S {
			return stages.Merge("good", stages.Weighted{Weights: []float64{1e308}}, src(g, "a"))
		},
		"tiny weights": weighted(5e-324, 5e-324),
		"order of one": func(g *stages.Graph) S { return stages.Merge("good", stages.InputOrder{}, src(g, "a")) },
		"order of a tee": func(g *stages.Graph) S {
			a, b := stages.Tee(src(g, "a"), "t")
			return stages.Merge("good", stages.InputOrder{}, b, a)
		},
	} {
		if err := stages.Define("p", func(g *stages.Graph, _ struct{}) S { return build(g) }).With(struct{}{}).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
