package supervisor_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// BenchmarkFan is what forks and merges cost: the time of a chain with one in its middle, less that of the chain with
// nothing there, is to be compared with that of one Map more.
func BenchmarkFan(b *testing.B) {
	parity := func(_ context.Context, v int) (int, error) { return v & 1, nil }
	runs := func(_ context.Context, v int) (int, error) { return v >> 6 & 1, nil }
	hash := func(_ context.Context, v int) (int, error) { return int(uint64(v) * 0x9e3779b97f4a7c15 >> 63), nil }
	middles := []struct {
		name string
		add  func(stages.Stream[int]) stages.Stream[int]
	}{
		{"nothing", func(s stages.Stream[int]) stages.Stream[int] { return s }},
		{"map", func(s stages.Stream[int]) stages.Stream[int] { return stages.Map(s, "x", same) }},
		{"map twice", func(s stages.Stream[int]) stages.Stream[int] { return stages.Map(stages.Map(s, "x", same), "y", same) }},
		{"route of runs, arrival", func(s stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("y", stages.Arrival{}, stages.Route(s, "x", 2, runs)...)
		}},
		{"route, arrival", func(s stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("y", stages.Arrival{}, stages.Route(s, "x", 2, parity)...)
		}},
		{"route of runs, input order", func(s stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("y", stages.InputOrder{}, stages.Route(s, "x", 2, runs)...)
		}},
		{"route, input order", func(s stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("y", stages.InputOrder{}, stages.Route(s, "x", 2, parity)...)
		}},
		{"random route, arrival", func(s stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("y", stages.Arrival{}, stages.Route(s, "x", 2, hash)...)
		}},
		{"random route, input order", func(s stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("y", stages.InputOrder{}, stages.Route(s, "x", 2, hash)...)
		}},
		{"tee, sink", func(s stages.Stream[int]) stages.Stream[int] {
			s, t := stages.Tee(s, "x")
			stages.Sink(t, "y", func(context.Context, int) error { return nil })
			return s
		}},
	}
	for _, m := range middles {
		b.Run(m.name, func(b *testing.B) {
			runBench(b, func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(m.add(stages.Map(stages.Source(g, "ints", ints(b.N)), "before", same)), "behind", same)
			})
		})
	}
}

// BenchmarkWeighted is a mixture of so many sources.
func BenchmarkWeighted(b *testing.B) {
	for _, n := range []int{1, 2, 8, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			runBench(b, func(g *stages.Graph) stages.Stream[int] {
				var ins []stages.Stream[int]
				var weights []float64
				for i := range n {
					ins = append(ins, stages.Source(g, fmt.Sprint(i), ints(b.N/n+1)))
					weights = append(weights, float64(1+i%3))
				}
				return stages.Merge("mix", stages.Weighted{Weights: weights}, ins...)
			})
		})
	}
}

func runBench(b *testing.B, build func(g *stages.Graph) stages.Stream[int]) {
	b.ReportAllocs()
	for _, err := range supervisor.Items(b.Context(), supervisor.New(supervisor.Config{}), define(build), nil) {
		if err != nil {
			b.Fatal(err)
		}
	}
}
