package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

var errTemporary = errors.New("temporary")

// upTo is a source of the numbers below n.
func upTo(g *stages.Graph, n int) stages.Stream[int] {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return stages.Source(g, "numbers", stages.FromSlice(all))
}

// outcomeOf runs what build makes to its end, and returns what came out.
func outcomeOf[T any](t *testing.T, cfg supervisor.Config, build func(g *stages.Graph) stages.Stream[T]) (got []T, stats supervisor.Stats, err error) {
	t.Helper()
	p := stages.Define("care", func(g *stages.Graph, _ struct{}) stages.Stream[T] { return build(g) }).With(struct{}{})
	run, err := supervisor.Deploy(t.Context(), supervisor.New(cfg), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Stop()
	for v, e := range run.Items(t.Context()) {
		if err = e; e == nil {
			got = append(got, v)
		}
	}
	return got, run.Stats(), err
}

// An item that is to be tried again waits, and in a stage with several workers it waits alone.
func TestAnItemIsTriedAgainAfterAPause(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
			for name, fails := range map[string]func() error{
				"an error":  func() error { return stages.Retryable(errTemporary) },
				"by If":     func() error { return errTemporary },
				"by Goexit": func() error { panic("no") },
			} {
				t.Run(fmt.Sprint(name, workers, order), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var at []time.Duration
						var begun time.Time
						got, stats, err := outcomeOf(t, supervisor.Config{}, func(g *stages.Graph) stages.Stream[int] {
							begun = time.Now()
							return stages.Map(upTo(g, 100), "f", func(ctx context.Context, v int) (int, error) {
								if v == 42 {
									if at = append(at, time.Since(begun)); stages.Attempt(ctx) < 4 {
										return 0, fails()
									}
								}
								return v, nil
							}, stages.Mailbox(workers), order, stages.Retry{Attempts: 4, First: time.Second, Max: 3 * time.Second,
								If: func(err error) bool { return errors.Is(err, errTemporary) }})
						})
						if err != nil || stats.Retries != 3 {
							t.Fatal(err, stats)
						}
						if workers == 1 || order == stages.Ordered {
							if !slices.IsSorted(got) {
								t.Errorf("out of order: %v", got)
							}
						} else if got[99] != 42 {
							t.Errorf("the others waited: %v", got)
						}
						if len(got) != 100 {
							t.Errorf("got %d", len(got))
						}
						pauses := []time.Duration{at[1] - at[0], at[2] - at[1], at[3] - at[2]}
						want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
						if strings.Contains(name, "Goexit") {
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

// A stage whose workers cannot be opened waits longer and longer, and gives up.
func TestAStageThatCannotBeOpenedGivesUp(t *testing.T) {
	for _, workers := range []int{1, 8} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var opens atomic.Int32
				begun := time.Now()
				_, _, err := outcomeOf(t, supervisor.Config{}, func(g *stages.Graph) stages.Stream[int] {
					return stages.MapWith(upTo(g, 100), "f", func(context.Context) (int, error) {
						return 0, fmt.Errorf("no server %d", opens.Add(1))
					}, func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.Mailbox(workers))
				})
				var r *stages.RestartError
				if !errors.As(err, &r) || len(r.Causes) != 9 || r.Restarts != 10 {
					t.Fatal(err)
				}
				if n := opens.Load(); n < 11 || n > 10+int32(workers) {
					t.Errorf("%d openings", n)
				}
				if d := time.Since(begun); d > 22*time.Second || d < 10*time.Second {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}

// A server that is gone for a while is waited for, by all workers.
func TestAStageWaitsForWhatItCannotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		got, _, err := outcomeOf(t, supervisor.Config{}, func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(upTo(g, 100), "f", func(context.Context) (int, error) {
				if time.Since(begun) < 3*time.Second {
					return 0, errors.New("no server")
				}
				return 0, nil
			}, func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.Mailbox(16))
		})
		if err != nil || len(got) != 100 {
			t.Error(len(got), err)
		}
	})
}

// All workers die of one thing: that is one death, not many in a row.
func TestWorkersThatDieTogetherDieOnce(t *testing.T) {
	const n = 16
	synctest.Test(t, func(t *testing.T) {
		var calls [2]atomic.Int32
		all := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		got, stats, err := outcomeOf(t, supervisor.Config{}, func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(upTo(g, 100), "f", func(ctx context.Context, v int) (int, error) {
				if a := stages.Attempt(ctx) - 1; a < 2 && v < n {
					if calls[a].Add(1) == n {
						close(all[a])
					}
					<-all[a]
					panic("the server is gone")
				}
				return v, nil
			}, stages.Mailbox(n), stages.Restart{Max: 1})
		})
		if err != nil || len(got) != 100 || stats.Restarts != 2*n {
			t.Error(len(got), err, stats.Restarts)
		}
	})
}

// Whatever items die at their first attempt: if the second succeeds, there are no deaths in a row, however many workers.
func TestDeathsAtFirstAttemptsAreNotInARow(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 8} {
		for _, every := range []int{1, 2, 13} {
			t.Run(fmt.Sprint(workers, every), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					got, stats, err := outcomeOf(t, supervisor.Config{}, func(g *stages.Graph) stages.Stream[int] {
						return stages.Map(upTo(g, 3000), "f", func(ctx context.Context, v int) (int, error) {
							if v%every == 0 && stages.Attempt(ctx) == 1 {
								panic("mine")
							}
							return v, nil
						}, stages.Mailbox(workers), stages.Ordered)
					})
					if want := (3000 + every - 1) / every; err != nil || len(got) != 3000 || stats.Restarts != int64(want) {
						t.Error(len(got), err, stats.Restarts)
					}
					if d := time.Since(begun); d > 0 {
						t.Errorf("it paused for %v", d)
					}
				})
			})
		}
	}
}

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
			_, stats, err := outcomeOf(t, c.cfg, func(g *stages.Graph) stages.Stream[int] {
				f := func(ctx context.Context, v int) (int, error) {
					if v >= 1000-c.fails {
						return 0, errTemporary
					}
					return v, nil
				}
				return stages.Map(stages.Map(upTo(g, 1000), "a", f, stages.OnError(stages.Skip(1000))), "b", f)
			})
			if (err == nil) != c.ok || err != nil && !errors.Is(err, stages.ErrBudget) {
				t.Error(err)
			}
			if c.ok && stats.Failed != int64(c.fails) {
				t.Error(stats.Failed)
			}
		})
	}
}

// A sink that fails ends the run, with the item in flight: not dropped, nor counted as failed.
func TestASinkThatFailsEndsTheRun(t *testing.T) {
	for name, m := range map[string]*memory{"a full disk": {full: 2}, "no sync": {sync: io.ErrShortWrite}} {
		t.Run(name, func(t *testing.T) {
			_, stats, err := outcomeOf(t, supervisor.Config{}, func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(upTo(g, 10), "f", func(_ context.Context, v int) (int, error) {
					return 0, errTemporary
				}, stages.OnError(stages.DeadLetter(m, 10)))
			})
			var run *supervisor.RunError
			if !errors.As(err, &run) || !errors.Is(err, errTemporary) || stats.Failed > 2 || stats.Failed+stats.InFlight != stats.Yielded {
				t.Errorf("%v\n%+v", err, stats)
			}
		})
	}
}
