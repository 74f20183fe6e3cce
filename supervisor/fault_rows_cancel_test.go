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

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestF31ARunWhoseContextHasEndedIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		var s spring
		told := 0
		sup := supervisor.New(supervisor.Config{OnEvent: func(supervisor.Event) { told++ }})
		if _, err := supervisor.Deploy(ctx, sup, s.pipeline(2), nil); !errors.Is(err, cause) {
			t.Errorf("Deploy: %v", err)
		}
		turns := 0
		for _, err := range supervisor.Items(ctx, sup, s.pipeline(2), nil) {
			if turns++; !errors.Is(err, cause) {
				t.Errorf("Items: %v", err)
			}
		}
		time.Sleep(time.Hour)
		if turns != 1 || told != 0 || s.yielded.Load() != 0 || len(sup.Runs()) != 0 {
			t.Errorf("%d turns, %d events, %d pulled", turns, told, s.yielded.Load())
		}
	})
}

// wait returns when d is over or ctx has ended, unless it is deaf to that.
func wait(ctx context.Context, d time.Duration, deaf bool) error {
	if deaf {
		ctx = context.Background()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wherever a run is when its context ends, its loop ends at that moment, with the cause; Stop waits for user code that
// takes its time, and for nothing else.
func TestF31AContextMayEndAnywhere(t *testing.T) {
	const at, late = 10500 * time.Millisecond, 3 * time.Second
	mapping := func(f func(ctx context.Context, v int) (int, error), opts ...stages.Option) func(*stages.Graph) stages.Stream[int] {
		return func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(1000)), "f", f, opts...)
		}
	}
	opening := func(open func(ctx context.Context) error) func(*stages.Graph) stages.Stream[int] {
		return func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(1000)), "f", func(ctx context.Context) (int, error) { return 0, open(ctx) },
				func(_ int, _ context.Context, v int) (int, error) { return v, nil })
		}
	}
	reading := func(read func(ctx context.Context) error) func(*stages.Graph) stages.Stream[int] {
		return func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(func(ctx context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for i := 0; yield(i, read(ctx)); i++ {
					}
				}
			}))
		}
	}
	for name, c := range map[string]struct {
		build func(g *stages.Graph) stages.Stream[int]
		drain time.Duration // when to; 0: not
		late  time.Duration // how long Stop waits
		idle  bool          // nobody takes the items
	}{
		"in a function":                 {build: mapping(func(ctx context.Context, v int) (int, error) { return v, wait(ctx, time.Second, false) })},
		"in a function that is deaf":    {build: mapping(func(ctx context.Context, v int) (int, error) { return v, wait(ctx, 4500*time.Millisecond, true) }), late: late},
		"in functions of many workers":  {build: mapping(func(ctx context.Context, v int) (int, error) { return v, wait(ctx, time.Second, false) }, stages.Mailbox(8))},
		"in a function with a Timeout":  {build: mapping(func(ctx context.Context, v int) (int, error) { return v, wait(ctx, time.Second, false) }, stages.Timeout(time.Minute))},
		"in open":                       {build: opening(func(ctx context.Context) error { return wait(ctx, time.Hour, false) })},
		"in an open that is deaf":       {build: opening(func(ctx context.Context) error { return wait(ctx, at+late, true) }), late: late},
		"between open and its next try": {build: opening(func(ctx context.Context) error { wait(ctx, 3*time.Second, false); return errBad })},
		"in a pause before another try": {build: func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(1000)), "f", func(ctx context.Context) (int, error) { return 0, errBad },
				func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.Restart{First: time.Hour, Pause: time.Hour})
		}},
		"in a pause of an item": {build: mapping(func(context.Context, int) (int, error) { return 0, stages.Retryable(errBad) }, stages.Retry{First: time.Minute})},
		"in a pause of items":   {build: mapping(func(context.Context, int) (int, error) { return 0, stages.Retryable(errBad) }, stages.Retry{First: time.Minute}, stages.Mailbox(8))},
		"in a pause of a source": {build: func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(func(context.Context) iter.Seq2[int, error] { panic("always") }), stages.Restart{First: time.Hour, Pause: time.Hour})
		}},
		"in the source":            {build: reading(func(ctx context.Context) error { return wait(ctx, time.Hour, false) })},
		"in a source that is deaf": {build: reading(func(ctx context.Context) error { return wait(ctx, at+late, true) }), late: late},
		"while it drains":          {build: mapping(func(ctx context.Context, v int) (int, error) { return v, wait(ctx, time.Second, false) }), drain: 5 * time.Second},
		"at the moment it drains":  {build: mapping(func(ctx context.Context, v int) (int, error) { return v, wait(ctx, time.Second, false) }), drain: at},
		"when all of it is full":   {build: mapping(func(_ context.Context, v int) (int, error) { return v, nil }, stages.Mailbox(3), stages.Buffer(2)), idle: true},
		"while a worker is being closed": {late: late, build: func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(1000)), "f", func(context.Context) (closer, error) {
				return func() error { return wait(context.Background(), at+late, true) }, nil
			}, func(_ closer, ctx context.Context, v int) (int, error) {
				if stages.Attempt(ctx) == 1 {
					panic("once")
				}
				return v, nil
			})
		}},
		"in a flush": {build: func(g *stages.Graph) stages.Stream[int] {
			return stages.Unbatch(stages.Aggregate(stages.Source(g, "drip", drip(100)), "f", func(ctx context.Context) (*flusher, error) {
				return &flusher{pile{size: 50, at: func(context.Context, int) error { return nil }}, func() error { return wait(ctx, time.Hour, false) }}, nil
			}, stages.MaxWait(3*time.Second)), "undone")
		}},
	} {
		for _, whose := range []string{"deployment", "loop"} {
			t.Run(name+", "+whose, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cause := errors.New("cause")
					ctx, cancel := context.WithCancelCause(t.Context())
					deployment, loop := ctx, t.Context()
					if whose == "loop" {
						deployment, loop = loop, ctx
					}
					begun := time.Now()
					run, err := supervisor.Deploy(deployment, supervisor.New(supervisor.Config{}), define(c.build), nil)
					if err != nil {
						t.Fatal(err)
					}
					time.AfterFunc(at, func() { cancel(cause) })
					if c.drain > 0 {
						time.AfterFunc(c.drain, run.Drain)
					}
					if c.idle {
						time.Sleep(at + time.Second)
					}
					var last error
					for _, err := range run.Items(loop) {
						last = err
					}
					ended := time.Since(begun)
					if hung := run.Stop(); hung != nil {
						t.Error(hung)
					}
					stopped := time.Since(begun)
					if err := run.Wait(t.Context()); !errors.Is(err, cause) || err != run.Err() || !errors.Is(last, cause) {
						t.Errorf("the last turn is %v, the run's error %v", last, err)
					}
					want := at
					if c.idle {
						want += time.Second
					}
					if ended != want || stopped != want+c.late {
						t.Errorf("the loop has ended after %v, Stop after %v, want %v and %v", ended, stopped, want, want+c.late)
					}
					checkEnd(t, run.Stats(), run.Err())
					if s := run.Stats(); s.Failed != 0 {
						t.Errorf("the end of a context is no failure: %v", s.Failures)
					}
				})
			})
		}
	}
}

// A function that never returns is named when Stop has waited for it as long as it may.
func TestF31AFunctionThatNeverReturnsIsNamedAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan bool)
		run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(10)), "f", func(context.Context, int) (int, error) {
				stubborn(release)
				return 0, nil
			})
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, cancel)
		begun := time.Now()
		for _, err := range run.Items(t.Context()) {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if d := time.Since(begun); d != time.Minute {
			t.Errorf("the loop has ended after %v", d)
		}
		hung, ok := errors.AsType[*stages.HungError](run.Stop())
		if !ok || hung.Stage != "f" || hung.Stack == "" || time.Since(begun) != time.Minute+5*time.Second {
			t.Errorf("got %+v after %v", hung, time.Since(begun))
		}
		close(release)
		if err := run.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// A tripwire ends a run at its k-th call: every function of a pipeline calls it.
type tripwire struct {
	at    int64
	calls atomic.Int64
	end   func()
	after string // what the function does then
	trip  atomic.Bool
}

var errTold = errors.New("told to end")

// call is what a function of user code does at its beginning. ctx may be nil.
func (w *tripwire) call(ctx context.Context) error {
	if w.calls.Add(1) != w.at {
		return nil
	}
	w.trip.Store(true)
	w.end()
	switch {
	case w.after == "panic":
		panic("tripped")
	case w.after == "error":
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: %w", errTold, err)
		}
	}
	return nil
}

// pass is call in a hook around a stage: to fail there fails the run, and which of the two was first is open.
func (w *tripwire) pass() error {
	if w.calls.Add(1) == w.at {
		w.trip.Store(true)
		w.end()
	}
	return nil
}

// pipeline has every kind of user code, all of which goes over the wire.
func (w *tripwire) pipeline(n int) stages.Pipeline[int] {
	pass := func(ctx context.Context, v int) (int, error) { return v, w.call(ctx) }
	return define(func(g *stages.Graph) stages.Stream[int] {
		g.Hook(stages.Hook{
			StageEnter: func(context.Context, stages.StageInfo) error { return w.pass() },
			StageExit:  func(context.Context, stages.StageInfo, error) error { return w.pass() },
		})
		in := stages.Source(g, "source", stages.FromSeq(func(ctx context.Context) iter.Seq2[int, error] {
			w.call(context.Background())
			return func(yield func(int, error) bool) {
				defer w.call(context.Background())
				for i := range n {
					w.call(context.Background())
					if !yield(i, nil) {
						return
					}
				}
			}
		}), stages.Epochs(2))
		a, b := stages.Tee(in, "tee")
		stages.Sink(b, "sink", func(ctx context.Context, v int) error { return w.call(ctx) }, stages.Mailbox(2))
		with := stages.MapWith(a, "with", func(ctx context.Context) (closer, error) {
			return func() error { return w.call(context.Background()) }, w.call(ctx)
		}, func(_ closer, ctx context.Context, v int) (int, error) { return pass(ctx, v) }, stages.Mailbox(2), stages.Ordered)
		r := stages.Route(with, "route", 2, func(ctx context.Context, v int) (int, error) { return v % 2, w.call(ctx) })
		many := stages.FlatMap(r[0], "many", func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				if err := w.call(ctx); err != nil {
					yield(0, err)
					return
				}
				yield(v, nil)
				w.call(context.Background())
			}
		}, stages.Streaming)
		both := stages.Merge("both", stages.InputOrder{}, many, stages.Map(r[1], "odd", pass))
		sums := stages.Aggregate(both, "sums", func(ctx context.Context) (*flusher, error) {
			return &flusher{pile{size: 4, at: func(ctx context.Context, v int) error { return w.call(ctx) }}, func() error { return w.call(context.Background()) }}, w.call(ctx)
		})
		return stages.Unbatch(sums, "undone")
	})
}

// Every function of a pipeline that has all kinds of them ends the run, at each of its calls, in each of several ways, and
// then goes on, fails or dies. It ends at that moment, says why, and leaves no goroutine.
func TestF31ARunMayEndAtEveryCallOfUserCode(t *testing.T) {
	const n = 9
	cause := errors.New("cause")
	for _, after := range []string{"go on", "error", "panic"} {
		for _, whose := range []string{"deployment", "loop", "stop", "drain, deployment"} {
			t.Run(after+", "+whose, func(t *testing.T) {
				ended, calls := 0, 0
				synctest.Test(t, func(t *testing.T) {
					sup := supervisor.New(supervisor.Config{})
					for k := int64(1); ; k++ {
						w := &tripwire{at: k, after: after}
						deployment, endDeployment := context.WithCancelCause(t.Context())
						loop, endLoop := context.WithCancelCause(t.Context())
						want := cause
						var run *supervisor.Run[int]
						var stop sync.WaitGroup
						there := make(chan bool) // Deploy has returned
						w.end = func() {
							switch whose {
							case "deployment":
								endDeployment(cause)
							case "loop":
								endLoop(cause)
							case "stop":
								stop.Go(func() {
									<-there
									run.Stop()
								})
							case "drain, deployment":
								stop.Go(func() {
									<-there
									run.Drain()
									endDeployment(cause)
								})
							}
						}
						if whose == "stop" {
							want = supervisor.ErrStopped
						}
						begun := time.Now()
						var err error
						if run, err = supervisor.Deploy(deployment, sup, w.pipeline(n), nil); err != nil {
							t.Fatal(err)
						}
						close(there)
						var out []int
						var last error
						for v, err := range run.Items(loop) {
							if last = err; err == nil {
								out = append(out, v)
							}
						}
						if hung := run.Stop(); hung != nil {
							t.Fatalf("call %d: %v", k, hung)
						}
						stop.Wait()
						run.Wait(t.Context())
						all := append(numbers(n), numbers(n)...)
						switch {
						case last == nil && run.Err() == nil: // it was complete, or drained
							if whose != "drain, deployment" && !slices.Equal(out, all) {
								t.Fatalf("call %d: complete with %v", k, out)
							}
						case !w.trip.Load() || !errors.Is(last, want) || !errors.Is(run.Err(), want):
							// The cause of a run that ends while it fails may be both.
							t.Fatalf("call %d: the last turn is %v, the run's error %v, want %v", k, last, run.Err(), want)
						default:
							ended++
						}
						if d := time.Since(begun); d > 0 {
							t.Errorf("call %d: it took %v", k, d)
						}
						for i, v := range out {
							if v != all[i] {
								t.Fatalf("call %d: %v came out", k, out)
							}
						}
						checkEnd(t, run.Stats(), run.Err())
						synctest.Wait()
						if left := actors.Goroutines().Stacks(actors.LabelRun, string(run.ID())); len(left) > 0 {
							t.Fatalf("call %d: goroutines are left: %s", k, left)
						}
						endDeployment(nil)
						endLoop(nil)
						if calls = int(w.calls.Load()); !w.trip.Load() {
							return // it has fewer calls
						}
					}
				})
				if calls < 100 || ended < calls/2 {
					t.Errorf("%d calls, of which %d have ended the run: it shows nothing", calls, ended)
				}
			})
		}
	}
}
