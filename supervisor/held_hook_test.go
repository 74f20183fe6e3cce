package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/weirflow/weir/stages"
)

// A Batch holds an item when its function has returned. If ItemExit then fails or drops that item, the batches are as
// if it had never come: the others are neither lost nor doubled. Ten such items in a row are no fault of the stage.
func TestAnItemThatAHookFailsOrDropsIsNotHeld(t *testing.T) {
	const n = 1000
	for _, size := range []int{1, 7, 100} {
		for _, every := range []int{1, 3, 50} {
			for _, drop := range []bool{false, true} {
				t.Run(fmt.Sprintf("size %d every %d drop %v", size, every, drop), func(t *testing.T) {
					hit := func(v int64) bool { return v%int64(every) == 0 || v >= 300 && v < 330 }
					got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
						g.Hook(onExit(func(it stages.Item, err error) error {
							if _, died := err.(*stages.PanicError); drop && !died {
								return nil
							}
							return err
						}))
						g.Hook(onExit(func(it stages.Item, err error) error {
							if hit(it.ID.Index) {
								return errBad
							}
							if it.ID.Index%13 == 4 && it.Attempt == 1 {
								panic("once")
							}
							return err
						}))
						return stages.Batch(stages.Source(g, "ints", ints(n)), "batch", size, stages.OnError(stages.Skip(n)))
					}))
					if err != nil {
						t.Fatal(err)
					}
					var want []int
					deaths := int64(0)
					for v := range n {
						if !hit(int64(v)) {
							want = append(want, v)
							if v%13 == 4 {
								deaths++
							}
						}
					}
					checkBatches(t, got, want, size)
					gone := int64(n - len(want))
					if st := s.Stages[1]; drop && (s.Filtered != gone || st.Filtered != gone || s.Failed != 0) || !drop && (s.Failed != gone || st.Failed != gone || s.Filtered != 0) ||
						s.Delivered != n-gone || st.Retries != deaths || st.Restarts != gone+deaths {
						t.Errorf("%d are gone, %d deaths: %+v", gone, deaths, s)
					}
				})
			}
		}
	}
}

// A worker that does not hold the item has no need to be replaced.
func TestAnItemThatNeverCameIntoABatchCostsNoWorker(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		g.Hook(onExit(func(it stages.Item, err error) error {
			if numbered(it, 3) {
				return nil
			}
			return err
		}))
		g.Hook(stages.Hook{ItemEnter: func(_ context.Context, it stages.Item) error {
			if numbered(it, 1) || numbered(it, 3) {
				return errBad
			}
			return nil
		}})
		return stages.Batch(stages.Source(g, "ints", ints(6)), "batch", 2, stages.OnError(stages.Skip(1)))
	}))
	if err != nil || s.Restarts != 0 || s.Failed != 1 || s.Filtered != 1 {
		t.Errorf("%v, %+v", err, s)
	}
	checkBatches(t, got, []int{0, 2, 4, 5}, 2)
}

// checkBatches checks that got is want, cut into slices of size.
func checkBatches(t *testing.T, got [][]int, want []int, size int) {
	t.Helper()
	if !slices.Equal(slices.Concat(got...), want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for i, b := range got {
		if len(b) != size && i != len(got)-1 {
			t.Errorf("batch %d has %d items, want %d", i, len(b), size)
		}
	}
}

// An ItemExit that panics has its item tried again, with the successor of the worker that held it.
func TestAHookThatPanicsAroundABatchLosesNothing(t *testing.T) {
	var mu sync.Mutex
	attempts := map[int64][]int{}
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		g.Hook(onExit(func(it stages.Item, err error) error {
			mu.Lock()
			attempts[it.ID.Index] = append(attempts[it.ID.Index], it.Attempt)
			mu.Unlock()
			if v, ok := stages.Value[int](it); !ok || int64(v) != it.ID.Index {
				t.Errorf("%v is %v", it.ID, v)
			}
			if it.ID.Index%10 == 4 && it.Attempt == 1 {
				panic("once")
			}
			return err
		}))
		return stages.Batch(stages.Source(g, "ints", ints(100)), "batch", 8)
	}))
	if err != nil || s.Restarts != 10 || s.Retries != 10 {
		t.Errorf("%v, %+v", err, s)
	}
	want := make([]int, 100)
	for i := range want {
		want[i] = i
	}
	checkBatches(t, got, want, 8)
	// 4 is tried twice, and what was held before it, 0 to 3, is given to the second worker: attempted again.
	for v, want := range map[int64][]int{0: {1, 2}, 3: {1, 2}, 4: {1, 2}, 5: {1}, 7: {1}, 8: {1, 2}, 14: {1, 2}} {
		if !slices.Equal(attempts[v], want) {
			t.Errorf("item %d: attempts %v, want %v", v, attempts[v], want)
		}
	}
}

// What an aggregator without custody has noted of an item stays noted.
func TestASerialWorkerThatHoldsNothingKeepsItsState(t *testing.T) {
	opened := 0
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		g.Hook(onExit(func(it stages.Item, err error) error {
			if numbered(it, 2) {
				return errBad
			}
			return err
		}))
		return stages.AttachSerial(stages.Source(g, "ints", ints(5)), "sum", stages.SerialKind[int, int]{
			Open: func(context.Context) (stages.Worker[int, int], error) { opened++; return &totaller{}, nil },
		}, stages.OnError(stages.Skip(1)))
	}))
	if err != nil || s.Failed != 1 || opened != 1 || !slices.Equal(got, []int{0, 1, 6, 10}) {
		t.Errorf("%v, %v, %d opened, %+v", got, err, opened, s)
	}
}

// A totaller emits the sum of what it has seen.
type totaller struct{ sum int }

func (s *totaller) Process(_ context.Context, v int, emit func(int) bool) error {
	s.sum += v
	emit(s.sum)
	return nil
}

// After an ItemExit whose error fails the run, what was held is not flushed, and what came before is delivered.
func TestAHookThatFailsTheRunBehindABatch(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		g.Hook(onExit(func(it stages.Item, err error) error {
			if numbered(it, 10) {
				return errBad
			}
			return err
		}))
		return stages.Batch(stages.Source(g, "ints", ints(100)), "batch", 4)
	}))
	if !errors.Is(err, errBad) || len(got) != 2 || s.Failed != 1 || s.Delivered != 8 {
		t.Errorf("%v, %v, %+v", got, err, s)
	}
}
