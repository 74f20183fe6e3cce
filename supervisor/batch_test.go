package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

type batching struct {
	n, size int
	opts    []stages.SerialOption
	batches int
	lost    int64
}

func batchings() map[string]batching {
	return map[string]batching{
		"a rest":                {1000, 32, nil, 32, 0},
		"no rest":               {96, 32, nil, 3, 0},
		"the rest is dropped":   {1000, 32, []stages.SerialOption{stages.DropLast}, 31, 8},
		"one batch of all":      {5000, 5000, nil, 1, 0},
		"larger than the input": {10, 1_000_000, nil, 1, 0},
		"of one":                {100, 1, nil, 100, 0},
		"no room to wait":       {1000, 33, []stages.SerialOption{stages.Buffer(0)}, 31, 0},
		"flushed at five held":  {100, 32, []stages.SerialOption{stages.MaxHeld(5)}, 20, 0},
	}
}

var batches = law("batches", func(g *stages.Graph, name string) stages.Stream[[]int] {
	c := batchings()[name]
	return stages.Batch(stages.Source(g, "ints", ints(c.n)), "batch", c.size, c.opts...)
})

func TestBatchesAreFullButForTheLast(t *testing.T) {
	for name, c := range batchings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, batches, name, func(t *testing.T, r played[[]int]) {
				if r.err != nil {
					t.Fatal(r.err)
				}
				checkCount(t, slices.Concat(r.out...), c.n-int(c.lost))
				if s := r.stats; len(r.out) != c.batches || s.Filtered != c.lost || s.Delivered != int64(c.n)-c.lost || s.Outputs != int64(c.batches) {
					t.Errorf("%d batches, %+v", len(r.out), s)
				}
			})
		})
	}
}

// drip yields one item a second.
func drip(n int) stages.Origin[int] {
	return stages.FromSeq(func(ctx context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return
				}
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

func TestABatchLeavesWhenItsFirstItemHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]int] {
			return stages.Batch(stages.Source(g, "drip", drip(10)), "batch", 100, stages.MaxWait(3500*time.Millisecond))
		}), supervisor.Config{})
		begun := time.Now()
		var sizes []int
		var at []time.Duration
		for b, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sizes, at = append(sizes, len(b)), append(at, time.Since(begun))
		}
		// Items come at 1, 2 .. 10 s: the first waits from 1 s to 4.5 s, the fifth from 5 to 8.5.
		want := []time.Duration{4500 * time.Millisecond, 8500 * time.Millisecond, 10 * time.Second}
		if !slices.Equal(sizes, []int{4, 4, 2}) || !slices.Equal(at, want) {
			t.Errorf("batches of %v at %v", sizes, at)
		}
	})
}

// summer adds up items and emits the sum at every flush; it panics in its flush when told to.
type summer struct {
	held  []int
	panic func() bool
}

func (s *summer) Process(_ context.Context, v int, emit func(int) bool) error {
	s.held = append(s.held, v)
	return nil
}

func (s *summer) Held() int { return len(s.held) }

func (s *summer) Flush(_ context.Context, emit func(int) bool) error {
	if s.panic() {
		panic("in flush")
	}
	sum := 0
	for _, v := range s.held {
		sum += v
	}
	emit(sum)
	s.held = nil
	return nil
}

func sum(panics func() bool) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		return stages.AttachSerial(stages.Source(g, "ints", ints(100)), "sum", stages.SerialKind[int, int]{
			Name: "sum", Holds: true, MaxHeld: 10,
			Open: func(context.Context) (stages.Worker[int, int], error) { return &summer{panic: panics}, nil },
		})
	})
}

func TestAFlushThatPanicsIsRepeatedWithWhatWasHeld(t *testing.T) {
	calls := 0
	got, s, err := collect(t, sum(func() bool { calls++; return calls%3 == 1 }))
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	for i := range 10 {
		want = append(want, 100*i+45)
	}
	if !slices.Equal(got, want) || s.Delivered != 100 || s.Restarts == 0 {
		t.Errorf("got %v, %+v", got, s)
	}
}

func TestAFlushThatAlwaysPanicsFailsTheRun(t *testing.T) {
	calls := 0
	got, s, err := collect(t, sum(func() bool { calls++; return calls > 2 }))
	p, ok := errors.AsType[*stages.PanicError](err)
	if !ok || p.Stage != "sum" || p.Item != (stages.ID{}) || !strings.Contains(err.Error(), `stage "sum": flush`) {
		t.Errorf("got %v", err)
	}
	if len(got) != 2 || calls != 5 || s.Delivered != 20 {
		t.Errorf("%v after %d flushes, %+v", got, calls, s)
	}
}

func TestAKindThatHoldsMustBeAFlusher(t *testing.T) {
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.AttachSerial(stages.Source(g, "ints", ints(100)), "odd", stages.SerialKind[int, int]{
			Name: "odd", Holds: true,
			Open: func(context.Context) (stages.Worker[int, int], error) { return passer{}, nil },
		})
	}))
	if err == nil || !strings.Contains(err.Error(), `kind "odd" holds items back, but supervisor_test.passer is no Flusher`) {
		t.Error(err)
	}
}

type passer struct{}

func (passer) Process(_ context.Context, v int, emit func(int) bool) error { emit(v); return nil }

// After a failure upstream, what an aggregate holds is not flushed: it is not complete.
func TestAnIncompleteBatchIsNotDeliveredBehindAFailure(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		f := stages.Map(stages.Source(g, "ints", ints(100)), "f", func(_ context.Context, v int) (int, error) {
			if v == 50 {
				return 0, errors.New("bad")
			}
			return v, nil
		})
		return stages.Batch(f, "batch", 20)
	}))
	if err == nil || len(got) != 2 || s.Delivered != 40 || s.Failed != 1 {
		t.Errorf("%v, %v, %+v", err, got, s)
	}
}

// The batch that a too large item drives out leaves during that item, however items happen to come together.
func TestABatchBySizeStandsWhereItWasDrivenOut(t *testing.T) {
	for name, c := range map[string]struct {
		origin stages.Origin[int]
		hook   stages.Hook
	}{
		"all at once": {origin: ints(4)},
		"one by one":  {origin: drip(4)},
		"with hooks":  {ints(4), stages.Hook{ItemEnter: func(context.Context, stages.Item) error { return nil }}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
					g.Hook(c.hook)
					a, b := stages.Tee(stages.Source(g, "ints", c.origin), "tee")
					each := stages.Batch(a, "each", 1)
					large := func(v int) int { return v / 3 * 9 }
					return stages.Merge("join", stages.InputOrder{}, each, stages.BatchBySize(b, "batch", 5, large))
				}))
				if want := "[[0] [1] [2] [3] [0 1 2] [3]]"; err != nil || fmt.Sprint(got) != want {
					t.Errorf("got %v, %v, want %s", got, err, want)
				}
			})
		})
	}
}
