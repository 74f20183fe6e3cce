package supervisor_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// endless yields numbers until it is told to end, and counts how many.
func endless(yielded *atomic.Int64) stages.Origin[int] {
	return stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := 0; ; i++ {
				yielded.Add(1)
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

func pipelineOf(from stages.Origin[int]) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		s := stages.Map(stages.Source(g, "source", from), "one", same, stages.Mailbox(4))
		return stages.Map(s, "two", same)
	})
}

// Every way to leave early ends the source and every goroutine, and says why.
func TestEveryWayOutEndsTheSourceAndEveryGoroutine(t *testing.T) {
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		leave func(t *testing.T, ctx context.Context, end func(), run *supervisor.Run[int]) error // the last turn's error
		err   error                                                                               // of the run
		turn  error
	}{
		"break": {func(t *testing.T, ctx context.Context, _ func(), run *supervisor.Run[int]) error {
			n := 0
			for range run.Items(ctx) {
				if n++; n == 2000 {
					break
				}
			}
			return nil
		}, supervisor.ErrStopped, nil},
		"panic": {func(t *testing.T, ctx context.Context, _ func(), run *supervisor.Run[int]) error {
			defer func() {
				if recover() != "mine" {
					t.Error("the panic did not come through")
				}
			}()
			for v := range run.Items(ctx) {
				if v == 2000 {
					panic("mine")
				}
			}
			return nil
		}, supervisor.ErrStopped, nil},
		"the loop's context": {func(t *testing.T, ctx context.Context, _ func(), run *supervisor.Run[int]) (last error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			n := 0
			for _, err := range run.Items(ctx) {
				if last = err; err != nil {
					continue
				}
				if n++; n == 2000 {
					cancel(cause)
				}
				if n > 2000 {
					t.Error("an item after the end of the context")
				}
			}
			return last
		}, cause, cause},
		"the deployment's context": {func(t *testing.T, ctx context.Context, end func(), run *supervisor.Run[int]) (last error) {
			for v, err := range run.Items(ctx) {
				if last = err; v == 2000 && err == nil {
					end()
				}
			}
			return last
		}, cause, cause},
		"stop in the loop": {func(t *testing.T, ctx context.Context, _ func(), run *supervisor.Run[int]) (last error) {
			n, stopped := 0, false
			for _, err := range run.Items(ctx) {
				if last = err; err != nil {
					continue
				}
				if stopped {
					t.Error("an item after Stop")
				}
				if n++; n == 2000 {
					stopped = true
					if err := run.Stop(); err != nil {
						t.Error(err)
					}
				}
			}
			return last
		}, supervisor.ErrStopped, supervisor.ErrStopped},
		"stop before the first item": {func(t *testing.T, ctx context.Context, _ func(), run *supervisor.Run[int]) error {
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
			_, err := run.Next(ctx)
			return err
		}, supervisor.ErrStopped, supervisor.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which ends only when every goroutine has ended
				var yielded atomic.Int64
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), pipelineOf(endless(&yielded)), nil)
				if err != nil {
					t.Fatal(err)
				}
				if turn := c.leave(t, t.Context(), func() { end(cause) }, run); !errors.Is(turn, c.turn) {
					t.Errorf("the last turn: %v, want %v", turn, c.turn)
				}
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
				if err := run.Err(); !errors.Is(err, c.err) {
					t.Errorf("the run: %v, want %v", err, c.err)
				}
				y := yielded.Load()
				synctest.Wait()
				if yielded.Load() != y {
					t.Error("the source goes on")
				}
				if s := run.Stats(); s.InFlight < 0 || s.Yielded > y || s.Yielded < y-1 {
					t.Errorf("%d were pulled: %+v", y, s)
				}
				if err := run.Wait(t.Context()); !errors.Is(err, c.err) {
					t.Error(err)
				}
			})
		})
	}
}

func TestAForgottenStopLeaksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), pipelineOf(ints(1000)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range run.Items(t.Context()) {
		}
	})
}

func TestDeployUnderAnEndedContextIsRefused(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), pipelineOf(ints(1)), nil); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestDrainDeliversWhatWasYielded(t *testing.T) {
	for name, twice := range map[string]bool{"once": false, "twice": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var yielded atomic.Int64
				p := define(func(g *stages.Graph) stages.Stream[[]int] {
					return stages.Batch(stages.Map(stages.Source(g, "source", endless(&yielded)), "one", same, stages.Mailbox(3), stages.Ordered), "batch", 32)
				})
				run := deploy(t, p, supervisor.Config{})
				var got []int
				for b, err := range run.Items(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, b...); len(got) == 320 {
						if run.Drain(); twice {
							run.Drain()
						}
					}
				}
				checkCount(t, got, int(yielded.Load()))
				if err := run.Err(); err != nil {
					t.Error(err)
				}
				if s := run.Stats(); s.InFlight != 0 || s.Delivered != yielded.Load() {
					t.Errorf("got %+v", s)
				}
				run.Drain() // after the end
			})
		})
	}
}

func TestDrainEndsASourceThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		run := deploy(t, pipelineOf(stages.FromChan(c)), supervisor.Config{})
		go func() {
			for i := range 10 {
				c <- i
			}
			run.Drain()
		}()
		var got []int
		for v, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		slices.Sort(got)
		checkCount(t, got, 10) // what was received comes out
	})
}

func TestADrainThatTakesTooLongBecomesAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(1_000_000)), "slow", func(ctx context.Context, v int) (int, error) {
				select {
				case <-time.After(time.Minute):
					return v, nil
				case <-ctx.Done():
					return 0, ctx.Err()
				}
			}, stages.Buffer(8))
		}), supervisor.Config{DrainWithin: 90 * time.Second})
		synctest.Wait()
		begun := time.Now()
		run.Drain()
		n := 0
		var last error
		for _, err := range run.Items(t.Context()) {
			if last = err; err == nil {
				n++
			}
		}
		if last != supervisor.ErrDrainTimeout || run.Err() != supervisor.ErrDrainTimeout || n != 1 || time.Since(begun) != 90*time.Second {
			t.Errorf("%v, %d items after %v", last, n, time.Since(begun))
		}
	})
}

func TestStopNamesAFunctionThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		p := define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(10)), "stubborn", func(context.Context, int) (int, error) {
				stubborn(release)
				return 0, nil
			})
		})
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{Grace: time.Second}), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begun := time.Now()
		err = run.Stop()
		hung, ok := errors.AsType[*stages.HungError](err)
		if !ok || !errors.Is(err, stages.ErrHung) || hung.Stage != "stubborn" || !strings.Contains(hung.Stack, ".stubborn+") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(begun); d != time.Second {
			t.Errorf("stopped after %v, want the grace", d)
		}
		close(release)
		if err := run.Stop(); err != nil {
			t.Errorf("stopped again: %v", err)
		}
	})
}

func stubborn(release chan bool) { <-release }

// cycle runs p n times, leaving the loop at different places.
func cycle(t *testing.T, sup *supervisor.Supervisor, p stages.Pipeline[int], n int) {
	for i := range n {
		k := 0
		for _, err := range supervisor.Items(t.Context(), sup, p, nil) {
			if k++; err != nil || k == i%100 {
				break
			}
		}
	}
}

func TestManyRunsLeaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which ends only when every goroutine has ended
		cycle(t, supervisor.New(supervisor.Config{}), pipelineOf(ints(100)), 200)
	})
}

func TestARunThatHasEndedIsGarbage(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	var left []weak.Pointer[[1 << 10]int]
	for i := range 100 {
		table := new([1 << 10]int) // reachable from the run only
		left = append(left, weak.Make(table))
		p := define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(1000)), "look up", func(_ context.Context, v int) (int, error) {
				return table[v], nil
			}, stages.Mailbox(2))
		})
		cycle(t, sup, p, 1+i%2)
	}
	runtime.GC()
	runtime.GC() // pools keep what they have through one collection
	for i, w := range left {
		if w.Value() != nil {
			t.Fatalf("run %d is still reachable", i)
		}
	}
	runtime.KeepAlive(sup)
}
