package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// rounds are epochs of a map and batches.
type rounds struct{ N, Epochs, Workers, Order int } // Epochs 0: without an end

var byEpochs = law("by epochs", func(g *stages.Graph, c rounds) stages.Stream[[]elem] {
	opts := []stages.Option{stages.Mailbox(c.Workers)}
	if c.Order > 0 {
		opts = append(opts, stages.Order(c.Order))
	}
	epochs := stages.Epochs(c.Epochs)
	if c.Epochs == 0 {
		epochs = stages.Forever
	}
	s := stages.Map(stages.Source(g, "elems", elems(c.N), epochs), "same", func(_ context.Context, v elem) (elem, error) { return v, nil }, opts...)
	return stages.Batch(s, "batch", 7)
})

func TestEpochsAreLoopsOfTheirOwnAndBatchesNeverMixThem(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1000} {
		for name, c := range map[string]rounds{"one worker": {Workers: 1}, "unordered": {Workers: 4}, "ordered": {Workers: 4, Order: int(stages.Ordered)}} {
			c.N, c.Epochs = n, 5
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				t.Parallel()
				everyRun(t, byEpochs, c, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[[]elem]) { wantEpochs(t, run, n) })
			})
		}
	}
}

// wantEpochs wants five epochs of n items.
func wantEpochs(t *testing.T, run *supervisor.Run[[]elem], n int) {
	t.Helper()
	next := 0
	for e, batches := range run.Epochs(t.Context()) {
		if e != next {
			t.Fatalf("epoch %d, want %d", e, next)
		}
		next++
		var got []elem
		for b, err := range batches {
			if err != nil {
				t.Fatal(err)
			}
			if len(b) != 7 && len(got)+len(b) != n {
				t.Errorf("a batch of %d behind %d", len(b), len(got))
			}
			got = append(got, b...)
		}
		slices.SortFunc(got, func(a, b elem) int { return a.Value - b.Value })
		for i, v := range got {
			if v != (elem{i, e}) {
				t.Fatalf("epoch %d: item %d is %v", e, i, v)
			}
		}
		if len(got) != n {
			t.Fatalf("epoch %d: %d items, want %d", e, len(got), n)
		}
		for range batches {
			t.Error("an inner loop ran twice")
		}
	}
	if next != 5 || run.Err() != nil {
		t.Errorf("%d epochs, %v", next, run.Err())
	}
	if s := run.Stats(); s.InFlight != 0 || s.Delivered != int64(5*n) {
		t.Errorf("got %+v", s)
	}
}

func TestAnInnerBreakGoesOnToTheNextEpoch(t *testing.T) {
	everyRun(t, byEpochs, rounds{N: 100_000, Workers: 2}, supervisor.Config{}, breakEpochs)
}

// breakEpochs leaves epochs in the middle, and some at once.
func breakEpochs(t *testing.T, run *supervisor.Run[[]elem]) {
	next := 0
	for e, batches := range run.Epochs(t.Context()) {
		if e != next {
			t.Fatalf("epoch %d, want %d", e, next)
		}
		if next++; next == 20 {
			break
		}
		if e%3 == 2 {
			continue // without a look at it
		}
		for b, err := range batches {
			if err != nil {
				t.Fatal(err)
			}
			if b[0].Epoch != e {
				t.Fatalf("an item of epoch %d in epoch %d", b[0].Epoch, e)
			}
			if b[len(b)-1].Value > 500 {
				break
			}
		}
	}
	if err := run.Stop(); err != nil {
		t.Fatal(err)
	}
	if run.Err() != supervisor.ErrStopped {
		t.Error(run.Err())
	}
	// The sources have gone on, rather than run through all of the epochs.
	if s := run.Stats(); s.Yielded > 20*20_000 || s.Filtered == 0 || s.InFlight < 0 {
		t.Errorf("got %+v", s)
	}
}

func TestAnErrorEndsTheInnerAndTheOuterLoop(t *testing.T) {
	bad := errors.New("bad")
	for _, at := range []int{0, 1, 999, 1000, 2500} { // the last is in another epoch
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			seen := 0
			return stages.Map(stages.Source(g, "ints", ints(1000), stages.Epochs(4)), "f", func(_ context.Context, v int) (int, error) {
				if seen++; seen > at {
					return 0, bad
				}
				return v, nil
			})
		}), supervisor.Config{})
		items, failures := 0, 0
		for _, values := range run.Epochs(t.Context()) {
			if failures > 0 {
				t.Fatal("an epoch behind the error")
			}
			for _, err := range values {
				if err != nil {
					failures++
					if !errors.Is(err, bad) {
						t.Error(err)
					}
					continue
				}
				items++
			}
		}
		if items != at || failures != 1 || !errors.Is(run.Err(), bad) {
			t.Errorf("at %d: %d items, %d errors, %v", at, items, failures, run.Err())
		}
	}
}

func TestItemsRunsThroughAllEpochs(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Source(g, "ints", ints(10), stages.Epochs(3))
	}))
	if err != nil || len(got) != 30 || s.Delivered != 30 {
		t.Errorf("%v, %v, %+v", got, err, s)
	}
}

var growing = law("growing", func(g *stages.Graph, epochs int) stages.Stream[int] {
	return stages.Source(g, "growing", stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < from.Epoch; i++ {
				if !yield(from.Epoch, nil) {
					return
				}
			}
		}
	}), stages.Epochs(epochs))
})

func TestASourceMayDifferByEpoch(t *testing.T) {
	everywhere(t, growing, 4, func(t *testing.T, r played[int]) {
		if r.err != nil || !slices.Equal(r.out, []int{1, 2, 2, 3, 3, 3}) {
			t.Errorf("%v, %v", r.out, r.err)
		}
	})
}
