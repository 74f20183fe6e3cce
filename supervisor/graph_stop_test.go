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

// A web is a graph of everything: two sources, branches within branches, joins of several kinds, and a Sink.
type web struct {
	yielded [2]atomic.Int64
	mu      sync.Mutex
	sunk    map[int]int // guarded by mu: how often
}

func (w *web) build(slow time.Duration, opts ...stages.Option) stages.Pipeline[int] {
	work := func(ctx context.Context, v int) (int, error) {
		if slow > 0 && v%64 == 0 {
			select {
			case <-time.After(slow):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		return v, nil
	}
	return define(func(g *stages.Graph) stages.Stream[int] {
		w.sunk = map[int]int{}
		a := stages.Source(g, "a", endless(&w.yielded[0]))
		b := stages.Source(g, "b", endless(&w.yielded[1]))
		x, y := stages.Tee(a, "tee")
		stages.Sink(y, "sink", func(ctx context.Context, v int) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sunk[v]++
			return nil
		}, opts...)
		r := stages.Route(x, "route", 3, func(_ context.Context, v int) (int, error) { return v % 7 % 3, nil }, opts...)
		parts := stages.RouteBatch(stages.Batch(r[0], "batch", 5), "deal", 2, func(_ context.Context, v []int) ([]int, error) {
			to := make([]int, len(v))
			for i := range v {
				to[i] = v[i] % 2
			}
			return to, nil
		}, opts...)
		whole := stages.Unbatch(stages.Rejoin("rejoin", parts[0], parts[1]), "unbatch")
		odd := stages.Filter(r[1], "odd", func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil }, opts...)
		c := stages.Merge("in order", stages.InputOrder{}, whole, stages.Map(r[2], "work", work, opts...), odd)
		return stages.Merge("both", stages.RoundRobin{}, c, stages.Map(b, "other work", work, opts...))
	})
}

// Every way to leave a graph early ends all of its sources and goroutines, at once, and says why.
func TestEveryWayOutOfAGraphEndsAllOfIt(t *testing.T) {
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		leave func(t *testing.T, end func(), run *supervisor.Run[int])
		err   error
	}{
		"break": {func(t *testing.T, _ func(), run *supervisor.Run[int]) {
			n := 0
			for range run.Items(t.Context()) {
				if n++; n == 700 {
					break
				}
			}
		}, supervisor.ErrStopped},
		"stop in the loop": {func(t *testing.T, _ func(), run *supervisor.Run[int]) {
			n := 0
			for _, err := range run.Items(t.Context()) {
				if n++; n == 700 {
					run.Stop()
				}
				if err != nil && !errors.Is(err, supervisor.ErrStopped) {
					t.Error(err)
				}
			}
		}, supervisor.ErrStopped},
		"stop before the first item": {func(t *testing.T, _ func(), run *supervisor.Run[int]) {}, supervisor.ErrStopped},
		"stop of a full graph": {func(t *testing.T, _ func(), run *supervisor.Run[int]) {
			time.Sleep(time.Hour)
		}, supervisor.ErrStopped},
		"the deployment's context": {func(t *testing.T, end func(), run *supervisor.Run[int]) {
			n := 0
			for _, err := range run.Items(t.Context()) {
				if n++; n == 700 {
					end()
				}
				if err != nil && !errors.Is(err, cause) {
					t.Error(err)
				}
			}
		}, cause},
		"the loop's context": {func(t *testing.T, _ func(), run *supervisor.Run[int]) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			n := 0
			for _, err := range run.Items(ctx) {
				if n++; n == 700 {
					cancel(cause)
				}
				if err != nil && !errors.Is(err, cause) {
					t.Error(err)
				}
			}
		}, cause},
	} {
		for _, opts := range [][]stages.Option{{stages.Buffer(0)}, {stages.Mailbox(3), stages.Ordered}} {
			for _, slow := range []time.Duration{0, time.Minute} {
				t.Run(fmt.Sprint(name, opts, slow), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { // which ends only when every goroutine has ended
						if slow > 0 && (name == "break" || name == "stop of a full graph") {
							slow = time.Second
						}
						var w web
						ctx, end := context.WithCancelCause(t.Context())
						defer end(nil)
						run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), w.build(slow, opts...), nil)
						if err != nil {
							t.Fatal(err)
						}
						c.leave(t, func() { end(cause) }, run)
						begun := time.Now()
						if err := run.Stop(); err != nil {
							t.Error(err)
						}
						if d := time.Since(begun); d > 0 {
							t.Errorf("Stop has taken %v", d)
						}
						if err := run.Wait(t.Context()); !errors.Is(err, c.err) {
							t.Errorf("the run: %v, want %v", err, c.err)
						}
						a, b := w.yielded[0].Load(), w.yielded[1].Load()
						synctest.Wait()
						if w.yielded[0].Load() != a || w.yielded[1].Load() != b {
							t.Error("a source goes on")
						}
						s := run.Stats()
						if s.Yielded != s.Delivered+s.Filtered+s.Failed+s.InFlight || s.InFlight < 0 || s.Failed > 0 {
							t.Errorf("the counts do not add up: %s", tellStages(s))
						}
					})
				})
			}
		}
	}
}

// Drain ends a graph behind what has been yielded: all of it comes out, or into the Sink.
func TestDrainFinishesWhatAGraphHasYielded(t *testing.T) {
	for _, at := range []int{0, 1, 500} {
		for _, opts := range [][]stages.Option{{stages.Buffer(0)}, {stages.Mailbox(3), stages.Ordered}, nil} {
			for _, slow := range []time.Duration{0, time.Millisecond} {
				t.Run(fmt.Sprint(at, opts, slow), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var w web
						run := deploy(t, w.build(slow, opts...), supervisor.Config{})
						if at == 0 {
							run.Drain()
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
						defer cancel()
						n, out := 0, map[int]int{}
						for v, err := range run.Items(ctx) {
							if err != nil {
								t.Fatalf("%v: %s", err, tellStages(run.Stats()))
							}
							out[v]++
							if n++; n == at {
								run.Drain()
							}
						}
						if err := run.Wait(ctx); err != nil {
							t.Fatal(err)
						}
						s := run.Stats()
						if s.InFlight != 0 || s.Failed != 0 || s.Filtered != 0 || s.Delivered != s.Yielded {
							t.Errorf("%s", tellStages(s))
						}
						a, b := 0, 0 // yielded: what the sink has got, and the rest
						for v, n := range w.sunk {
							if a++; n != 1 {
								t.Errorf("the sink got %d %d times", v, n)
							}
							if v%7%3 != 1 || v%2 == 1 { // the others are filtered on the way out
								out[v]--
							}
						}
						for v := 0; out[v] > 0; v++ {
							out[v]--
							b++
						}
						for v, n := range out {
							if n != 0 {
								t.Errorf("%d came out %d times more than it was yielded", v, n)
							}
						}
						if int64(a+b) != s.Yielded {
							t.Errorf("%d + %d are out, %d were yielded", a, b, s.Yielded)
						}
					})
				})
			}
		}
	}
}

// An item that fails for good in any branch ends the run with that error, and what comes out of an InputOrder is a prefix
// of what a sequential loop gives: all that came before the first item that fails.
func TestAFailureInABranchDeliversAPrefix(t *testing.T) {
	const n = 600
	for _, where := range []string{"route", "a", "b", "inner", "join behind"} {
		for _, at := range []int{0, 1, 2, 377, n - 1} {
			for _, workers := range []int{1, 4} {
				for _, opts := range [][]stages.Option{{stages.Mailbox(workers), stages.Ordered}, {stages.Mailbox(workers), stages.Ordered, stages.Buffer(0)}} {
					t.Run(fmt.Sprint(where, at, opts), func(t *testing.T) {
						fail := func(name string) func(context.Context, int) (int, error) {
							return func(_ context.Context, v int) (int, error) {
								if name == where && (v == at || v > at && v%5 == at%5) {
									return 0, fmt.Errorf("%d: %w", v, errBad)
								}
								return v, nil
							}
						}
						got, s, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
							route := fail("route")
							r := stages.Route(numbersOf(g, "source", n), "route", 3, func(ctx context.Context, v int) (int, error) {
								_, err := route(ctx, v)
								return v % 5 % 3, err
							}, opts...)
							x, y := stages.Tee(stages.Map(r[2], "a", fail("a"), opts...), "tee")
							stages.Sink(y, "sink", func(context.Context, int) error { return nil })
							inner := stages.Route(r[0], "inner route", 2, func(_ context.Context, v int) (int, error) { return v / 5 % 2, nil }, opts...)
							z := stages.Merge("inner join", stages.InputOrder{}, stages.Map(inner[0], "inner", fail("inner"), opts...), inner[1])
							all := stages.Merge("join", stages.InputOrder{}, z, stages.Map(r[1], "b", fail("b"), opts...), x)
							return stages.Map(all, "join behind", fail("join behind"), opts...)
						}))
						checkCount(t, got, len(got))
						e, ok := errors.AsType[*stages.ItemError](err)
						if err == nil { // that branch never has such an item
							if len(got) != n || s.Failed != 0 {
								t.Errorf("%d items, %d failed", len(got), s.Failed)
							}
							return
						}
						if !ok || !errors.Is(err, errBad) || e.Stage != where {
							t.Fatalf("got %v", err)
						}
						if i := int(e.Item.Index); i < at || len(got) > i {
							t.Errorf("item %d has failed, %d came out", i, len(got))
						}
						if len(got) < at {
							t.Errorf("item %d has failed, the first %d came out, want %d", int(e.Item.Index), len(got), at)
						}
					})
				}
			}
		}
	}
}
