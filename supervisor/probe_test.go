package supervisor_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
)

func probe(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		if os.Getenv("PROBE") != name {
			t.Skip()
		}
		synctest.Test(t, f)
	})
}

func TestProbe(t *testing.T) {
	boom := errors.New("boom")
	probe(t, "S1", func(t *testing.T) { // failure of an input whose rest is dropped
		_, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			a := stages.Source(g, "a", ints(0))
			b := stages.Map(stages.Source(g, "b", ints(20000)), "m", func(_ context.Context, v int) (int, error) {
				time.Sleep(time.Second)
				if v == 0 {
					return 0, boom
				}
				return v, nil
			})
			return stages.Merge("mix", stages.Weighted{Weights: []float64{1000, 1}, UntilFirstEnd: true}, a, b)
		}))
		t.Log(err, s.Yielded, s.InFlight)
	})
	probe(t, "S110", func(t *testing.T) {
		for seed := range uint64(20) {
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
				a := stages.Source(g, "a", ints(3))
				b := stages.Source(g, "b", ints(20), stages.Epochs(2))
				return stages.Batch(stages.Merge("mix", stages.Weighted{Weights: []float64{1, 8}, Seed: seed, UntilFirstEnd: true}, a, b), "batch", 64)
			}))
			t.Log(got, err, s.Yielded, s.Delivered, s.Filtered, s.InFlight)
		}
	})
	probe(t, "S2", func(t *testing.T) {
		got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
			p := stages.RouteBatch(stages.Batch(stages.Source(g, "a", ints(30)), "batch", 3), "deal", 2, func(_ context.Context, b []int) ([]int, error) {
				return make([]int, len(b)), nil
			})
			x, y := stages.Tee(p[0], "tee")
			return stages.Rejoin("whole", stages.Merge("again", stages.InputOrder{}, x, y), p[1])
		}))
		t.Log(len(got), err, s.Yielded, s.Delivered, s.Filtered, s.InFlight, got)
	})
	probe(t, "S84rr", func(t *testing.T) {
		got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			b := stages.Route(stages.Source(g, "a", ints(10000)), "route", 2, func(_ context.Context, v int) (int, error) { return 0, nil })
			return stages.Merge("mix", stages.RoundRobin{}, b...)
		}))
		t.Log(len(got), err)
	})
	probe(t, "S84func", func(t *testing.T) {
		got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			b := stages.Route(stages.Source(g, "a", ints(10000)), "route", 2, func(_ context.Context, v int) (int, error) { return v / 5000, nil })
			return stages.MergeFunc("mix", func(h []*int) int {
				best := -1
				for i := range h {
					if h[i] != nil && (best < 0 || *h[i] < *h[best]) {
						best = i
					}
				}
				return best
			}, b...)
		}))
		t.Log(len(got), err, slices.IsSorted(got))
	})
}
