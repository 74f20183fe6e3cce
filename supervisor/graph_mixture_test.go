package supervisor_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// counting yields numbers that rise over all epochs, in epochs of n, times 2 plus odd.
func counting(n, odd int) stages.Origin[int] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < n && yield(2*(from.Epoch*n+i)+odd, nil); i++ {
			}
		}
	})
}

// A consumer that breaks off an epoch ends one of the run. A mixture in front of another one has epochs that nobody sees,
// and goes on as if nothing had happened.
func TestABreakEndsOnlyTheEpochsOfTheRun(t *testing.T) {
	nested := define(func(g *stages.Graph) stages.Stream[int] {
		a := stages.Source(g, "a", counting(5, 0), stages.Forever)
		b := stages.Source(g, "b", counting(8, 1), stages.Forever)
		inner := stages.Merge("inner", stages.Weighted{Weights: []float64{1, 2}, Seed: 4, EpochItems: 100_000}, a, b)
		return stages.Merge("outer", stages.Weighted{Weights: []float64{1}, EpochItems: 400}, inner)
	})
	items := func(breaks int) (all []int) {
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), nested, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Stop()
		for epoch, items := range run.Epochs(t.Context()) {
			n := 0
			for v, err := range items {
				if err != nil {
					t.Fatal(err)
				}
				if n++; epoch < breaks && n == 5 {
					break
				}
				if epoch >= breaks {
					all = append(all, v)
				}
			}
			if len(all) >= 800 {
				return all
			}
		}
		return all
	}
	want := items(0)
	for range 20 {
		got := items(1)
		at := slices.Index(want, got[0])
		if at < 0 || at > 400 || !slices.Equal(got[:300], want[at:at+300]) {
			t.Fatalf("from item %d on: got %v, want %v", at, got[:40], want[max(at, 0):max(at, 0)+40])
		}
	}
}

// Two Rejoins of one RouteBatch do not know of each other.
func TestTwoRejoinsOfOneRouteBatch(t *testing.T) {
	var sunk [][]int
	got, _, err := runGraph(t, func(g *stages.Graph) stages.Stream[[]int] {
		batches := stages.Batch(numbersOf(g, "source", 400), "batch", 4)
		parts := stages.RouteBatch(batches, "deal", 2, func(_ context.Context, v []int) ([]int, error) { return []int{0, 1, 1, 0}, nil })
		a, b := stages.Tee(parts[0], "a")
		c, d := stages.Tee(parts[1], "c")
		stages.Sink(stages.Rejoin("other", b, d), "sink", func(_ context.Context, v []int) error {
			sunk = append(sunk, v)
			return nil
		})
		return stages.Rejoin("whole", a, c)
	})
	if err != nil || len(got) != 100 || len(sunk) != 100 || !slices.IsSorted(slices.Concat(got...)) || !slices.IsSorted(slices.Concat(sunk...)) {
		t.Errorf("%d and %d batches, %v", len(got), len(sunk), err)
	}
}

// The last epoch of a mixture that ends with its first input is ended like any other: what a batch holds comes out.
func TestAnEpochThatEndsWithTheFirstInputIsEnded(t *testing.T) {
	for seed := range uint64(20) {
		_, s, err := runGraph(t, func(g *stages.Graph) stages.Stream[[]int] { // nothing is left in flight: it looks
			a, b := numbersOf(g, "a", 3), numbersOf(g, "b", 20, stages.Epochs(2))
			return stages.Batch(stages.Merge("mix", stages.Weighted{Weights: []float64{1, 8}, Seed: seed, UntilFirstEnd: true}, a, b), "batch", 64)
		})
		if err != nil || s.Delivered == 0 {
			t.Errorf("seed %d: %v, %+v", seed, err, s)
		}
	}
}

// An input that fails while the rest of its epoch is being dropped ends the run.
func TestAnInputThatFailsWhileItIsDroppedEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := runGraph(t, func(g *stages.Graph) stages.Stream[int] {
			b := stages.Map(numbersOf(g, "b", 20_000), "fails", func(context.Context, int) (int, error) {
				time.Sleep(time.Second)
				return 0, errBad
			})
			return stages.Merge("mix", stages.Weighted{Weights: []float64{1000, 1}, UntilFirstEnd: true}, numbersOf(g, "a", 0), b)
		})
		if !errors.Is(err, errBad) {
			t.Error(err)
		}
	})
}

// An item that has left a Route gives its place back, also before the mark of its round has left: a branch that is stuck
// does not keep the others from theirs, even with a single place.
func TestAnItemThatHasLeftARouteGivesItsPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, sunk := make(chan struct{}), 0
		p := define(func(g *stages.Graph) stages.Stream[int] {
			by := stages.Route(numbersOf(g, "source", 10, stages.Buffer(0)), "route", 3, func(_ context.Context, v int) (int, error) { return min(v, 1), nil }, stages.Buffer(0))
			stuck := stages.Map(by[0], "stuck", func(_ context.Context, v int) (int, error) { <-free; return v, nil }, stages.Buffer(0))
			stages.Sink(by[1], "sink", func(context.Context, int) error { sunk++; return nil }, stages.Buffer(0))
			return stages.Merge("join", stages.InputOrder{}, stuck, by[2])
		})
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Stop()
		synctest.Wait()
		if sunk == 0 {
			t.Error("nothing has come to the sink while the other branch was stuck")
		}
		close(free)
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		if sunk != 9 {
			t.Errorf("%d items at the sink, want 9", sunk)
		}
	})
}

// A failure ends the whole run, with branches that have nothing to do with it and would go on for ever.
func TestAFailureEndsBranchesThatHaveNothingToDoWithIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p := define(func(g *stages.Graph) stages.Stream[int] {
		stages.Sink(numbersOf(g, "other", 10, stages.Forever), "sink", func(context.Context, int) error { return nil })
		return stages.Map(numbersOf(g, "source", 10, stages.Forever), "fails", func(_ context.Context, v int) (int, error) {
			if v == 7 {
				return 0, errBad
			}
			return v, nil
		})
	})
	var last error
	for _, err := range supervisor.Items(ctx, supervisor.New(supervisor.Config{}), p, nil) {
		last = err
	}
	if !errors.Is(last, errBad) || ctx.Err() != nil {
		t.Errorf("%v, %v", last, ctx.Err())
	}
}
