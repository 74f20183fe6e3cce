package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// ticks is an endless source of one item a second. Deaf to its context, it looks at it only when it has an item.
func ticks(yielded *atomic.Int64, deaf bool) stages.Origin[int] {
	return stages.FromFunc(func(ctx context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); ; i++ {
				if wait(ctx, time.Second, deaf) != nil {
					return
				}
				yielded.Add(1)
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

// Wherever a run is when it is told to drain, all that was yielded comes out, nothing more is pulled, and it ends well.
func TestF34ADrainFinishesWhereverTheRunIs(t *testing.T) {
	const at = 10500 * time.Millisecond
	for name, c := range map[string]struct {
		build func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int]
		deaf  bool
		ended time.Duration // when it has
	}{
		"with a source that waits":                 {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] { return in }, false, at},
		"with a source that is in a read and deaf": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] { return in }, true, 11 * time.Second},
		"with a batch begun": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			return stages.Unbatch(stages.Batch(in, "batch", 64), "undone")
		}, false, at},
		"with a batch that waits": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			return stages.Unbatch(stages.Batch(in, "batch", 64, stages.MaxWait(4*time.Second)), "undone")
		}, false, at},
		"while a worker is slow": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "f", func(ctx context.Context, v int) (int, error) { return v, wait(ctx, 2*time.Second, false) }, stages.Buffer(1))
		}, false, 0},
		"while a worker dies again and again": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "f", dieOnce, stages.Buffer(1))
		}, false, at},
		"at the moment at which a worker dies": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "f", func(ctx context.Context, v int) (int, error) {
				if wait(ctx, 500*time.Millisecond, false); stages.Attempt(ctx) == 1 { // at 10.5 s, too
					panic("once")
				}
				return v, nil
			})
		}, false, 11 * time.Second},
		"while a worker cannot be opened": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			begun, tries := time.Now(), 0
			return stages.MapWith(in, "f", func(ctx context.Context) (int, error) {
				if tries++; time.Since(begun) < 12*time.Second {
					wait(ctx, 2*time.Second, false)
					return 0, errBad
				}
				return 0, nil
			}, func(_ int, _ context.Context, v int) (int, error) { return v, nil })
		}, false, 0},
		"while an item waits for its next attempt": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "f", func(ctx context.Context, v int) (int, error) {
				if v%3 == 0 && stages.Attempt(ctx) < 3 {
					return 0, stages.Retryable(errBad)
				}
				return v, nil
			}, stages.Retry{First: 2 * time.Second}, stages.Mailbox(2), stages.Ordered)
		}, false, 0},
		"while a worker waits to be replaced": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			begun := time.Now()
			return stages.MapWith(in, "f", func(ctx context.Context) (int, error) {
				if time.Since(begun) < at {
					return 0, errBad
				}
				return 0, nil
			}, func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.Restart{First: 6 * time.Second, Pause: 12 * time.Second})
		}, false, 0},
		"with an aggregate that dies in its flush": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			died := false
			return stages.Unbatch(stages.Aggregate(in, "f", func(context.Context) (*flusher, error) {
				return &flusher{pile{size: 64, at: func(context.Context, int) error { return nil }}, func() error {
					if !died {
						died = true
						panic("once")
					}
					return nil
				}}, nil
			}), "undone")
		}, false, at},
		"with branches": {func(g *stages.Graph, in stages.Stream[int]) stages.Stream[int] {
			r := stages.Route(in, "route", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil })
			slow := stages.Map(r[0], "slow", func(ctx context.Context, v int) (int, error) { return v, wait(ctx, 3*time.Second, false) })
			return stages.Merge("join", stages.InputOrder{}, slow, r[1])
		}, false, 0},
	} {
		for _, calls := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, called %d times", name, calls), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var yielded atomic.Int64
					begun := time.Now()
					run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
						return c.build(g, stages.Source(g, "ticks", ticks(&yielded, c.deaf)))
					}), supervisor.Config{})
					for i := range calls {
						time.AfterFunc(at+time.Duration(i)*200*time.Millisecond, run.Drain)
					}
					var out []int
					for v, err := range run.Items(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
						out = append(out, v)
					}
					ended := time.Since(begun)
					wantItems(t, out, numbers(int(yielded.Load())))
					if len(out) < 1 || c.ended > 0 && ended != c.ended || ended > at+30*time.Second {
						t.Errorf("%d items, ended after %v, want %v", len(out), ended, c.ended)
					}
					if err := run.Wait(t.Context()); err != nil {
						t.Error(err)
					}
					if s := run.Stats(); s.Delivered != yielded.Load() || s.InFlight != 0 {
						t.Errorf("%d were yielded: %+v", yielded.Load(), s)
					}
					run.Drain()
					if err := run.Stop(); err != nil || run.Err() != nil {
						t.Errorf("%v, %v: what comes behind the end changes it", err, run.Err())
					}
				})
			})
		}
	}
}

// What cannot finish in time is stopped, at that moment and not later, however often Drain is called. A drain that could
// have finished by itself just then has.
func TestF34ADrainIsOverAtItsDeadline(t *testing.T) {
	const within = 30 * time.Second
	hang := func(ctx context.Context, _ int) error { return wait(ctx, time.Hour, false) }
	for name, c := range map[string]struct {
		cfg   supervisor.Config
		want  time.Duration
		build func(g *stages.Graph) stages.Stream[int]
	}{
		"the default": {supervisor.Config{}, within, func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(10)), "f", func(ctx context.Context, v int) (int, error) { return v, hang(ctx, v) })
		}},
		"another one": {supervisor.Config{DrainWithin: 7 * time.Second}, 7 * time.Second, func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(10)), "f", func(ctx context.Context, v int) (int, error) { return v, hang(ctx, v) })
		}},
		"a source that is deaf to it": {supervisor.Config{}, within, func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(func(ctx context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					wait(ctx, 10*time.Second+within+time.Second, true)
				}
			}))
		}},
		"a sink that hangs": {supervisor.Config{}, within, func(g *stages.Graph) stages.Stream[int] {
			a, b := stages.Tee(stages.Source(g, "ints", ints(10)), "tee")
			stages.Sink(b, "f", hang)
			return a
		}},
		"a worker that cannot be opened": {supervisor.Config{}, within, func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(10)), "f", func(ctx context.Context) (int, error) { return 0, hang(ctx, 0) },
				func(_ int, _ context.Context, v int) (int, error) { return v, nil })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				run := deploy(t, define(c.build), c.cfg)
				time.AfterFunc(10*time.Second, run.Drain)
				time.AfterFunc(12*time.Second, run.Drain) // does not make it longer
				var last error
				for _, err := range run.Items(t.Context()) {
					last = err
				}
				if d := time.Since(begun); last != supervisor.ErrDrainTimeout || d != 10*time.Second+c.want {
					t.Errorf("%v after %v, want ErrDrainTimeout after %v", last, d, 10*time.Second+c.want)
				}
				if err := run.Stop(); err != nil || run.Err() != supervisor.ErrDrainTimeout {
					t.Errorf("%v, %v", err, run.Err())
				}
				checkEnd(t, run.Stats(), run.Err())
			})
		})
	}
}

// Drain and Stop, in every order, at once, and by several goroutines: the first Stop decides, and a Drain behind it does
// nothing.
func TestF34DrainAndStopGoInEveryOrder(t *testing.T) {
	for name, c := range map[string]struct {
		calls func(run *supervisor.Run[int])
		want  error
	}{
		"drain":                 {func(run *supervisor.Run[int]) { run.Drain() }, nil},
		"drain, stop":           {func(run *supervisor.Run[int]) { run.Drain(); run.Stop() }, supervisor.ErrStopped},
		"stop, drain":           {func(run *supervisor.Run[int]) { run.Stop(); run.Drain() }, supervisor.ErrStopped},
		"stop, drain, stop":     {func(run *supervisor.Run[int]) { run.Stop(); run.Drain(); run.Stop() }, supervisor.ErrStopped},
		"drain, drain, drain":   {func(run *supervisor.Run[int]) { run.Drain(); run.Drain(); run.Drain() }, nil},
		"drain, a second, stop": {func(run *supervisor.Run[int]) { run.Drain(); wait(context.Background(), time.Second, true); run.Stop() }, supervisor.ErrStopped},
		"drain, an hour, stop":  {func(run *supervisor.Run[int]) { run.Drain(); wait(context.Background(), time.Hour, true); run.Stop() }, nil},
		"all at the same time": {func(run *supervisor.Run[int]) {
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					if i%2 == 0 {
						run.Drain()
					} else {
						run.Stop()
					}
				})
			}
			wg.Wait()
		}, supervisor.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var yielded atomic.Int64
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					in := stages.Source(g, "ticks", ticks(&yielded, false))
					return stages.Map(in, "f", func(ctx context.Context, v int) (int, error) { return v, wait(ctx, 3*time.Second, false) }, stages.Buffer(2))
				}), supervisor.Config{})
				time.AfterFunc(10500*time.Millisecond, func() { c.calls(run) })
				var out []int
				var last error
				for v, err := range run.Items(t.Context()) {
					if last = err; err == nil {
						out = append(out, v)
					}
				}
				if err := run.Wait(t.Context()); err != c.want || last != c.want {
					t.Errorf("the last turn is %v, the run's error %v, want %v", last, err, c.want)
				}
				if !slices.Equal(out, numbers(len(out))) || c.want == nil && len(out) != int(yielded.Load()) {
					t.Errorf("%v of %d came out", out, yielded.Load())
				}
				checkEnd(t, run.Stats(), run.Err())
				time.Sleep(2 * time.Hour) // what the deadline of a drain would do
				if run.Err() != c.want {
					t.Errorf("later, the run's error is %v", run.Err())
				}
			})
		})
	}
}

// A failure while a run drains is the run's error, not that it has been drained.
func TestF34AFailureWhileItDrainsIsTheRunsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var yielded atomic.Int64
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ticks", ticks(&yielded, false)), "f", func(ctx context.Context, v int) (int, error) {
				if v == 5 {
					return 0, errBad
				}
				return v, wait(ctx, 3*time.Second, false)
			})
		}), supervisor.Config{})
		time.AfterFunc(8500*time.Millisecond, run.Drain)
		var out []int
		var last error
		for v, err := range run.Items(t.Context()) {
			if last = err; err == nil {
				out = append(out, v)
			}
		}
		wantError(t, last, "f", 5, 1)
		if !errors.Is(last, errBad) || !slices.Equal(out, numbers(5)) {
			t.Errorf("%v, %v", out, last)
		}
		checkEnd(t, run.Stats(), last)
	})
}
