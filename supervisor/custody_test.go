package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// The place of the item that fails the run is known although it was the last that was left of what it was made of.
func TestTheLastOfAFamilyFailsTheRunAtItsPlace(t *testing.T) {
	const n = 600
	for _, at := range []int{1, 301, n - 1} {
		for _, workers := range []int{1, 4} {
			t.Run(fmt.Sprint(at, workers), func(t *testing.T) {
				got, _, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
					r := stages.Route(numbersOf(g, "source", n), "route", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil })
					twice := stages.FlatMap(r[1], "twice", func(_ context.Context, v int) iter.Seq2[int, error] {
						return func(yield func(int, error) bool) { _ = yield(-v, nil) && yield(v, nil) }
					})
					one := stages.Filter(twice, "one", func(_ context.Context, v int) (bool, error) { return v >= 0, nil })
					last := stages.Map(one, "last", func(_ context.Context, v int) (int, error) {
						if v == at {
							return 0, errBad
						}
						return v, nil
					}, stages.Mailbox(workers), stages.Ordered)
					return stages.Merge("join", stages.InputOrder{}, r[0], last)
				}))
				wantError(t, err, "last", at, 1)
				wantItems(t, got, numbers(at))
			})
		}
	}
}

// What a worker has been given together with an item that waits to be tried again does not wait.
func TestWhatComesWithAnItemThatWaitsIsGoneOnWith(t *testing.T) {
	const n, bad = 2000, 1000
	for _, pause := range []time.Duration{time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var at atomic.Int64
			begun := time.Now()
			r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(ctx context.Context, v int) (int, error) {
					wait(ctx, time.Microsecond, false)
					if v == bad {
						if stages.Attempt(ctx) == 1 {
							at.Store(int64(time.Since(begun)))
							return 0, stages.Retryable(errTemporary)
						}
					} else if at := time.Duration(at.Load()); at > 0 && time.Since(begun) > at+pause/4 {
						return 0, fmt.Errorf("item %d has waited", v)
					}
					return v, nil
				}, stages.Mailbox(4), stages.Unordered, stages.Buffer(n), stages.Retry{Attempts: 2, First: pause, Max: pause})
			}), supervisor.Config{})
			if r.err != nil || len(r.out) != n || r.out[n-1] != bad {
				t.Errorf("%d items, %v", len(r.out), r.err)
			}
		})
	}
}

// Deaths at the same time are one death, also where nothing is finished that would end the row.
func TestWorkersThatDieTogetherWithNothingFinishedDieOnce(t *testing.T) {
	const n = 16
	synctest.Test(t, func(t *testing.T) {
		var calls [2]atomic.Int32
		all := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(ctx context.Context, v int) (int, error) {
				if a := stages.Attempt(ctx) - 1; a < 2 {
					if calls[a].Add(1) == n {
						close(all[a])
					}
					<-all[a]
					panic("the server is gone")
				}
				return v, nil
			}, stages.Mailbox(n), stages.Restart{Max: 1})
		}), supervisor.Config{})
		if r.err != nil || len(r.out) != n || r.stats.Restarts != 2*n {
			t.Error(len(r.out), r.err, r.stats.Restarts)
		}
	})
}

// A batcher that is replaced together with another stage gives what it holds to its successor.
func TestWhatIsHeldOutlivesBeingReplacedTogether(t *testing.T) {
	const n = 2000
	out, stats, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		batches := stages.Batch(stages.Source(g, "ints", ints(n), stages.Buffer(3)), "batch", 7, stages.Buffer(2))
		flat := stages.Unbatch(batches, "flat")
		return stages.Map(flat, "dies", func(ctx context.Context, v int) (int, error) {
			if v%50 == 20 && stages.Attempt(ctx) == 1 {
				panic("we all go")
			}
			return v, nil
		}, stages.Restart{Together: []string{"batch"}})
	}))
	if err != nil || stats.Stages[1].Restarts == 0 {
		t.Fatal(err, stats.Stages[1])
	}
	wantItems(t, out, numbers(n))
}
