package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

var errTemporary = errors.New("temporary")

// An item that is to be tried again waits, and in a stage with several workers it waits alone.
func TestAnItemIsTriedAgainAfterAPause(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
			for name, fails := range map[string]func() error{
				"an error": func() error { return stages.Retryable(errTemporary) },
				"by If":    func() error { return errTemporary },
				"a panic":  func() error { panic("no") },
				"Goexit":   func() error { runtime.Goexit(); return nil },
			} {
				t.Run(fmt.Sprint(name, " ", workers, order), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var at []time.Duration
						var begun time.Time
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							begun = time.Now()
							return stages.Map(stages.Source(g, "ints", ints(100)), "f", func(ctx context.Context, v int) (int, error) {
								if v == 42 {
									if at = append(at, time.Since(begun)); stages.Attempt(ctx) < 4 {
										return 0, fails()
									}
								}
								return v, nil
							}, stages.Mailbox(workers), order, stages.Retry{Attempts: 4, First: time.Second, Max: 3 * time.Second,
								If: func(err error) bool { return errors.Is(err, errTemporary) }})
						}), supervisor.Config{})
						if r.err != nil || r.stats.Retries != 3 {
							t.Fatal(r.err, r.stats)
						}
						if workers == 1 || order == stages.Ordered {
							if !slices.IsSorted(r.out) {
								t.Errorf("out of order: %v", r.out)
							}
						} else if r.out[99] != 42 {
							t.Errorf("the others waited: %v", r.out)
						}
						if len(r.out) != 100 {
							t.Errorf("got %d", len(r.out))
						}
						pauses := []time.Duration{at[1] - at[0], at[2] - at[1], at[3] - at[2]}
						want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
						if name == "a panic" || name == "Goexit" {
							want = []time.Duration{0, time.Second, 2 * time.Second}
						}
						for i, p := range pauses {
							if p > want[i] || p < want[i]/2 {
								t.Errorf("pause %d was %v, want %v or half of it at least", i, p, want[i])
							}
						}
					})
				})
			}
		}
	}
}

// A server that is gone for a while is waited for, by all workers.
func TestAStageWaitsForWhatItCannotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(100)), "f", func(context.Context) (int, error) {
				if time.Since(begun) < 3*time.Second {
					return 0, errors.New("no server")
				}
				return 0, nil
			}, func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.Mailbox(16))
		}), supervisor.Config{})
		if r.err != nil || len(r.out) != 100 {
			t.Error(len(r.out), r.err)
		}
	})
}

// All workers die of one thing: that is one death, not many in a row.
func TestWorkersThatDieTogetherDieOnce(t *testing.T) {
	const n = 16
	synctest.Test(t, func(t *testing.T) {
		var calls [2]atomic.Int32
		all := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(100)), "f", func(ctx context.Context, v int) (int, error) {
				if a := stages.Attempt(ctx) - 1; a < 2 && v < n {
					if calls[a].Add(1) == n {
						close(all[a])
					}
					<-all[a]
					panic("the server is gone")
				}
				return v, nil
			}, stages.Mailbox(n), stages.Restart{Max: 1})
		}), supervisor.Config{})
		if r.err != nil || len(r.out) != 100 || r.stats.Restarts != 2*n {
			t.Error(len(r.out), r.err, r.stats.Restarts)
		}
	})
}

var faultyTails = law("faulty tails", func(g *stages.Graph, fails int) stages.Stream[int] {
	f := func(ctx context.Context, v int) (int, error) {
		if v >= 1000-fails {
			return 0, errTemporary
		}
		return v, nil
	}
	return stages.Map(stages.Map(stages.Source(g, "ints", ints(1000)), "a", f, stages.OnError(stages.Skip(1000))), "b", f)
})

func TestARunHasABudgetOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   supervisor.Config
		fails int
		ok    bool
	}{
		{"as many as may", supervisor.Config{MaxFailed: 5}, 5, true},
		{"one more", supervisor.Config{MaxFailed: 5}, 6, false},
		{"a fraction", supervisor.Config{MaxFailedFraction: 0.01}, 10, true},
		{"a larger one", supervisor.Config{MaxFailedFraction: 0.01}, 11, false},
		{"in probation", supervisor.Config{MaxFailedFraction: 0.01, Probation: 1000}, 11, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			everyRun(t, faultyTails, c.fails, c.cfg, func(t *testing.T, run *supervisor.Run[int]) {
				r := playRun(t, run)
				if (r.err == nil) != c.ok || r.err != nil && !errors.Is(r.err, stages.ErrBudget) {
					t.Error(r.err)
				}
				if c.ok && r.stats.Failed != int64(c.fails) {
					t.Error(r.stats.Failed)
				}
			})
		})
	}
}

// Items that die at every attempt do not make the stage suspect when others have been finished since they first did, also
// when they are all that is left in the end.
func TestItemsThatAlwaysDieAreTheItemsFault(t *testing.T) {
	const n, bad = 20_000, 50
	for _, workers := range []int{2, 8} {
		synctest.Test(t, func(t *testing.T) {
			out, stats, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(_ context.Context, v int) (int, error) {
					if v%(n/bad) == 7 {
						panic("always")
					}
					return v, nil
				}, stages.Mailbox(workers), stages.OnError(stages.Skip(bad)))
			}))
			if err != nil || len(out) != n-bad || stats.Failed != bad {
				t.Errorf("%d workers: %d items, %d failed, %v", workers, len(out), stats.Failed, err)
			}
		})
	}
}

// A stage with a room that follows the flow does not stand still while items wait for another attempt: every fifth of these
// waits 20 ms, and without them 2000 items of 1 ms take 250 ms.
func TestAStageGoesOnWhileItemsWait(t *testing.T) {
	for order, most := range map[stages.Order]time.Duration{stages.Ordered: 1500 * time.Millisecond, stages.Unordered: 600 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			out, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(2000)), "f", func(ctx context.Context, v int) (int, error) {
					wait(ctx, time.Millisecond, false)
					if v%5 == 0 && stages.Attempt(ctx) <= 2 {
						return 0, stages.Retryable(errTemporary)
					}
					return v, nil
				}, order, stages.Mailbox(8), stages.Retry{First: 10 * time.Millisecond})
			}))
			if took := time.Since(begun); err != nil || len(out) != 2000 || took > most {
				t.Errorf("order %v: %d items, %v after %v, want %v at most", order, len(out), err, took, most)
			}
		})
	}
}
