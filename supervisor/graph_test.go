package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// runGraph runs a graph to its end.
func runGraph[T any](t *testing.T, build func(g *stages.Graph) stages.Stream[T]) ([]T, supervisor.Stats, error) {
	t.Helper()
	return collect(t, define(build))
}

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func numbersOf(g *stages.Graph, name string, n int, opts ...stages.SourceOption) stages.Stream[int] {
	return stages.Source(g, name, ints(n), opts...)
}

var routes = law("routes", func(g *stages.Graph, n int) stages.Stream[int] {
	b := stages.Route(numbersOf(g, "source", n, stages.Epochs(2)), "route", 3, func(_ context.Context, v int) (int, error) { return v * v % 3, nil }, stages.Mailbox(2))
	x := stages.Map(b[0], "x", double, stages.Mailbox(3))
	y := stages.Filter(b[1], "y", func(_ context.Context, v int) (bool, error) { return v%5 != 0, nil })
	return stages.Merge("join", stages.InputOrder{}, x, y, b[2])
})

func TestInputOrderRestoresTheOrderOfARoute(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10, 5000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var want []int
			for range 2 {
				for i := range n {
					switch i * i % 3 {
					case 0:
						want = append(want, 2*i)
					case 1:
						if i%5 != 0 {
							want = append(want, i)
						}
					default:
						want = append(want, i)
					}
				}
			}
			t.Parallel()
			everywhere(t, routes, n, func(t *testing.T, r played[int]) {
				if r.err != nil || !slices.Equal(r.out, want) {
					t.Errorf("got %d, want %d, %v; %v", len(r.out), len(want), r.err, r.stats)
				}
			})
		})
	}
}

func TestTeeAndSink(t *testing.T) {
	var mu sync.Mutex
	var sunk []int
	got, s, err := runGraph(t, func(g *stages.Graph) stages.Stream[int] {
		a, b := stages.Tee(numbersOf(g, "source", 3000), "tee")
		stages.Sink(b, "sink", func(_ context.Context, v int) error {
			mu.Lock()
			defer mu.Unlock()
			sunk = append(sunk, v)
			return nil
		})
		return stages.Filter(a, "half", func(_ context.Context, v int) (bool, error) { return v%2 == 0, nil })
	})
	if err != nil || len(got) != 1500 || len(sunk) != 3000 || s.Delivered != 3000 {
		t.Errorf("got %d, %d, %v: %+v", len(got), len(sunk), err, s)
	}
}

var whole = law("whole", func(g *stages.Graph, n int) stages.Stream[[]int] {
	b := stages.Batch(numbersOf(g, "source", n), "batch", 7)
	parts := stages.RouteBatch(b, "route", 3, func(_ context.Context, v []int) ([]int, error) {
		to := make([]int, len(v))
		for i := range v {
			to[i] = v[i] % 3 % (1 + v[0]%3)
		}
		return to, nil
	})
	f := func(_ context.Context, v []int) ([]int, error) {
		if v[0] == 15 {
			return nil, errBad
		}
		return v, nil
	}
	x := stages.Map(parts[0], "x", f, stages.Mailbox(3), stages.OnError(stages.Skip(10)))
	return stages.Rejoin("whole", x, parts[1], parts[2])
})

func TestRejoinMakesBatchesWhole(t *testing.T) {
	everywhere(t, whole, 1000, func(t *testing.T, r played[[]int]) {
		if r.err != nil {
			t.Fatal(r.err, r.stats)
		}
		n := 0
		for _, b := range r.out {
			n += len(b)
			if !slices.IsSorted(b) {
				t.Fatal(b)
			}
		}
		if r.stats.Failed != 7 || n != 998 {
			t.Errorf("%d elements, %+v", n, r.stats)
		}
	})
}

func TestMixes(t *testing.T) {
	for name, how := range map[string]stages.Mix{
		"arrival": stages.Arrival{}, "round robin": stages.RoundRobin{}, "weighted": stages.Weighted{Weights: []float64{1, 2, 3}, Seed: 1},
		"first end": stages.Weighted{Weights: []float64{1, 2, 3}, Seed: 1, UntilFirstEnd: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, s, err := runGraph(t, func(g *stages.Graph) stages.Stream[int] {
				return stages.Merge("mix", how, numbersOf(g, "a", 0, stages.Epochs(2)), numbersOf(g, "b", 1, stages.Epochs(2)), numbersOf(g, "c", 4000, stages.Epochs(2)))
			})
			t.Log(len(got), err, s)
		})
	}
	got, _, err := runGraph(t, func(g *stages.Graph) stages.Stream[int] {
		return stages.MergeFunc("mix", func(h []*int) int {
			best := -1
			for i := range h {
				if h[i] != nil && (best < 0 || *h[i] < *h[best]) {
					best = i
				}
			}
			return best
		}, numbersOf(g, "a", 100), numbersOf(g, "b", 1000), numbersOf(g, "c", 0))
	})
	if err != nil || len(got) != 1100 || !slices.IsSorted(got) {
		t.Error(len(got), err)
	}
}

var mixtures = law("mixtures", func(g *stages.Graph, items int64) stages.Stream[int] {
	return stages.Merge("mix", stages.Weighted{Weights: []float64{1, 2}, Seed: 3, EpochItems: items}, numbersOf(g, "a", 7, stages.Forever), numbersOf(g, "b", 1000, stages.Forever))
})

func TestEpochItems(t *testing.T) {
	everyRun(t, mixtures, 100, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[int]) {
		for epoch, items := range run.Epochs(t.Context()) {
			n := 0
			for _, err := range items {
				if err != nil {
					t.Fatal(err)
				}
				if n++; epoch == 2 && n == 5 {
					break
				}
			}
			if n != 100 && epoch != 2 {
				t.Errorf("epoch %d: %d items", epoch, n)
			}
			if epoch == 5 {
				break
			}
		}
	})
}

// A batch that is joined within a branch of another one may have lost elements: the others stay where they were.
func TestARejoinWithinARejoinKnowsWhatIsMissing(t *testing.T) {
	var want []int
	for first := 0; first < 400; first += 16 {
		for v := first; v < first+16; v++ {
			some := v%2 == 0 && v/2%2 == 1 && first%64 == 0
			few := v%2 == 0 && v/4%2 == 0 && first%64 == 16
			if !some && !few {
				want = append(want, v)
			}
		}
	}
	everywhere(t, nested, 400, func(t *testing.T, r played[[]int]) {
		if r.err != nil {
			t.Fatal(r.err)
		}
		for _, b := range r.out {
			if !slices.IsSorted(b) {
				t.Errorf("%v", b)
			}
		}
		if all := slices.Concat(r.out...); !slices.Equal(all, want) {
			t.Errorf("got %d elements, want %d", len(all), len(want))
		}
	})
}

var nested = law("nested", func(g *stages.Graph, n int) stages.Stream[[]int] {
	by := func(k int) func(context.Context, []int) ([]int, error) {
		return func(_ context.Context, v []int) ([]int, error) {
			to := make([]int, len(v))
			for i := range v {
				to[i] = v[i] / k % 2
			}
			return to, nil
		}
	}
	outer := stages.RouteBatch(stages.Batch(numbersOf(g, "source", n), "batch", 16), "outer", 2, by(1))
	inner := stages.RouteBatch(outer[0], "inner", 2, by(2))
	some := stages.Filter(inner[1], "some", func(_ context.Context, v []int) (bool, error) { return v[0]%64 != 2, nil })
	in := stages.Rejoin("inside", inner[0], some)
	again := stages.RouteBatch(in, "again", 2, by(4))
	few := stages.Filter(again[0], "few", func(_ context.Context, v []int) (bool, error) { return v[0]%64 != 16, nil })
	return stages.Rejoin("whole", stages.Rejoin("inside again", few, again[1]), outer[1])
})

// What goes two ways within a branch and comes back both ways would make two batches of one.
func TestAPartThatComesBackTwiceFailsTheRun(t *testing.T) {
	got, _, err := runGraph(t, func(g *stages.Graph) stages.Stream[[]int] {
		batches := stages.Batch(numbersOf(g, "source", 40), "batch", 4)
		parts := stages.RouteBatch(batches, "deal", 2, func(_ context.Context, v []int) ([]int, error) { return make([]int, len(v)), nil })
		x, y := stages.Tee(parts[0], "tee")
		return stages.Rejoin("whole", stages.Merge("again", stages.InputOrder{}, x, y), parts[1])
	})
	if !errors.Is(err, stages.ErrRejoin) || !strings.Contains(err.Error(), "comes twice") || len(got) != 1 {
		t.Errorf("%d batches, %v", len(got), err)
	}
}

// A part that comes back with another number of elements is named with both numbers.
func TestAPartOfAnotherSizeFailsTheRun(t *testing.T) {
	_, _, err := runGraph(t, func(g *stages.Graph) stages.Stream[[]int] {
		batches := stages.Batch(numbersOf(g, "source", 40), "batch", 4)
		parts := stages.RouteBatch(batches, "deal", 2, func(_ context.Context, v []int) ([]int, error) { return []int{0, 1, 0, 0}, nil })
		short := stages.Map(parts[0], "short", func(_ context.Context, v []int) ([]int, error) { return v[:1], nil })
		return stages.Rejoin("whole", short, parts[1])
	})
	if !errors.Is(err, stages.ErrRejoin) || !strings.Contains(err.Error(), "the part of branch 0 left with 3 elements and came back with 1") {
		t.Error(err)
	}
}
