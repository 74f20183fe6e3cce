package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func bothOrders() map[string]stages.Order {
	return map[string]stages.Order{"ordered": stages.Ordered, "unordered": stages.Unordered}
}

// A stage of several workers that cannot be opened gives up once, though others are about to be opened when it does, and
// their pieces come before the one at which it does.
func TestF04AStageThatHasGivenUpOpensNobody(t *testing.T) {
	for _, workers := range []int{1, 4, 8} {
		for name, order := range bothOrders() {
			for _, takes := range []time.Duration{0, time.Millisecond, time.Second} {
				t.Run(fmt.Sprint(workers, name, takes), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var opens atomic.Int32
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return stages.MapWith(stages.Source(g, "ints", ints(1000)), "f", func(ctx context.Context) (int, error) {
								n := opens.Add(1)
								wait(ctx, takes, true)
								return 0, fmt.Errorf("death %d", n)
							}, func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.Mailbox(workers), order)
						}), supervisor.Config{})
						run, ok := errors.AsType[*supervisor.RunError](r.err)
						e, ok2 := errors.AsType[*stages.RestartError](r.err)
						if !ok || !ok2 || len(run.Causes) != 1 || e.Restarts != 10 || len(e.Causes) != 9 {
							t.Errorf("got %v", r.err)
						}
						if n := opens.Load(); n < 11 || n > 10+int32(workers) {
							t.Errorf("%d openings", n)
						}
						if len(r.out) > 0 || r.stats.Failed > 0 {
							t.Errorf("%d items, %d failed", len(r.out), r.stats.Failed)
						}
					})
				})
			}
		}
	}
}

// Nor does one whose function always panics: the run has one cause.
func TestF04AStageWhoseWorkersAllPanicGivesUpOnce(t *testing.T) {
	for _, workers := range []int{1, 4, 8} {
		for name, order := range bothOrders() {
			t.Run(fmt.Sprint(workers, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var deaths atomic.Int32
					r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
						return stages.Map(stages.Source(g, "ints", ints(1000)), "f", func(ctx context.Context, v int) (int, error) {
							wait(ctx, time.Millisecond, true)
							deaths.Add(1)
							panic("always")
						}, stages.Mailbox(workers), order, stages.OnError(stages.Skip(1000)))
					}), supervisor.Config{})
					run, ok := errors.AsType[*supervisor.RunError](r.err)
					if !ok || len(run.Causes) != 1 || !errors.Is(r.err, stages.ErrRestarts) || len(r.out) > 0 {
						t.Errorf("got %v, %d items", r.err, len(r.out))
					}
					if n := deaths.Load(); n < 11 || workers == 1 && n > 11 {
						t.Errorf("%d deaths", n)
					}
				})
			})
		}
	}
}

// What a run has failed of is all that its error says: the budget of the whole run is judged while it lasts, and at the
// end of one that is complete.
func TestARunThatHasFailedIsNotJudgedByItsBudgetAsWell(t *testing.T) {
	for name, policy := range map[string]stages.AnyOption{
		"fail": stages.OnError(stages.Fail()), "skip": stages.OnError(stages.Skip(1)), "letters": stages.OnError(stages.DeadLetter(&archive{}, 1)),
	} {
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(5)), "f", func(_ context.Context, v int) (int, error) {
				if v >= 2 {
					return 0, errBad
				}
				return v, nil
			}, policy)
		}), supervisor.Config{MaxFailedFraction: 0.01})
		run, ok := errors.AsType[*supervisor.RunError](r.err)
		if !ok || len(run.Causes) != 1 || errors.Is(r.err, stages.ErrBudget) != (name != "fail") || !errors.Is(r.err, errBad) {
			t.Errorf("%s: got %v", name, r.err)
		}
	}
}

// A lease is a state that says when it was opened, closed, and its context ended.
type lease struct {
	ctx            context.Context // of the incarnation that opened it
	opened, closed time.Time
	note           func(*lease)
}

func (l *lease) Close() error {
	l.closed = time.Now()
	l.note(l)
	return nil
}

// What a worker has opened is closed when it dies, and not when it is replaced: its successor may wait for it.
func TestF04ADeadWorkersStateIsClosedAtOnce(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for kind, aggregate := range map[string]bool{"map": false, "aggregate": true} {
			t.Run(fmt.Sprint(kind, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					died := map[*lease]time.Time{}
					closed := 0
					open := func(ctx context.Context) (*lease, error) {
						return &lease{ctx: ctx, opened: time.Now(), note: func(l *lease) {
							mu.Lock()
							defer mu.Unlock()
							closed++
							if at, ok := died[l]; ok && !at.Equal(l.closed) {
								t.Errorf("closed %v after its worker has died", l.closed.Sub(at))
							}
							context.AfterFunc(l.ctx, func() {
								if d := time.Since(l.closed); d > 0 {
									t.Errorf("its context has ended %v after it was closed", d)
								}
							})
						}}, nil
					}
					die := func(l *lease) {
						time.Sleep(time.Millisecond)
						mu.Lock()
						died[l] = time.Now()
						mu.Unlock()
						panic("always")
					}
					restart := stages.Restart{First: 10 * time.Second, Pause: time.Hour, Max: 5}
					r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
						in := stages.Source(g, "ints", ints(1000))
						if aggregate {
							return stages.Unbatch(stages.Aggregate(in, "f", func(ctx context.Context) (*leased, error) {
								l, err := open(ctx)
								return &leased{lease: l, die: die}, err
							}, restart, stages.OnError(stages.Skip(1000))), "undone")
						}
						return stages.MapWith(in, "f", open, func(l *lease, _ context.Context, v int) (int, error) { die(l); return v, nil },
							restart, stages.Mailbox(workers), stages.OnError(stages.Skip(1000)))
					}), supervisor.Config{})
					if !errors.Is(r.err, stages.ErrRestarts) || closed < 6 || closed != len(died) {
						t.Errorf("%v, %d closed, %d died", r.err, closed, len(died))
					}
				})
			})
		}
	}
}

// A leased aggregator dies at its first item.
type leased struct {
	*lease
	die func(*lease)
}

func (l *leased) Process(context.Context, int, func([]int) bool) error { l.die(l.lease); return nil }
func (l *leased) Held() int                                            { return 0 }
func (l *leased) Flush(context.Context, func([]int) bool) error        { return nil }

// Without a longest pause, the first one may be as long as it likes.
func TestAFirstPauseIsNotCutShort(t *testing.T) {
	checkPause := func(t *testing.T, got, full time.Duration) {
		t.Helper()
		if got > full || got < full/2 {
			t.Errorf("a pause of %v, want %v to %v", got, full/2, full)
		}
	}
	for first, later := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, 8 * time.Second: 10 * time.Second, time.Second: 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Time
			r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(1)), "f", func(context.Context, int) (int, error) {
					at = append(at, time.Now())
					return 0, stages.Retryable(errBad)
				}, stages.Retry{First: first})
			}), supervisor.Config{})
			wantError(t, r.err, "f", 0, 3)
			checkPause(t, at[1].Sub(at[0]), first)
			checkPause(t, at[2].Sub(at[1]), later)
		})
	}
	for first, later := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, 3 * time.Second: 5 * time.Second, time.Second: 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Time
			r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.MapWith(stages.Source(g, "ints", ints(1)), "f", func(context.Context) (int, error) {
					at = append(at, time.Now())
					return 0, errBad
				}, func(int, context.Context, int) (int, error) { return 0, nil }, stages.Restart{First: first, Max: 3, Within: time.Hour})
			}), supervisor.Config{})
			if !errors.Is(r.err, stages.ErrRestarts) || len(at) != 4 {
				t.Fatalf("%v, %d openings", r.err, len(at))
			}
			checkPause(t, at[1].Sub(at[0]), 0)
			checkPause(t, at[2].Sub(at[1]), first)
			checkPause(t, at[3].Sub(at[2]), later)
		})
	}
}
