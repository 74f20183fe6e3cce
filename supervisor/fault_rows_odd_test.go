package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A misdeed is a way in which user code does not return, or returns what it should not.
type misdeed struct {
	do    func() error
	value string // part of what is told of it
	costs bool   // the worker
}

type (
	unprintable struct{} // its String panics
	unspeakable struct{} // its Error panics
	fleeing     struct{} // its Error ends the goroutine
	nilError    struct{ text string }
)

func (unprintable) String() string { panic("in String") }
func (unspeakable) Error() string  { panic("in Error") }

func (fleeing) Error() string {
	runtime.Goexit()
	return ""
}

// Error needs a receiver.
func (e *nilError) Error() string { return e.text }

// flight is a misdeed of functions that return an error: some do not.
const flight = "error that ends goroutines"

func misdeeds() map[string]misdeed {
	return map[string]misdeed{
		"goexit":                          {func() error { runtime.Goexit(); return nil }, "runtime.Goexit was called", true},
		"panic of nil":                    {func() error { panic(nil) }, "nil", true},
		"panic of an error":               {func() error { panic(errBad) }, "bad", true},
		"panic of a nil pointer":          {func() error { panic((*nilError)(nil)) }, "nil", true},
		"panic of what cannot be printed": {func() error { panic(unprintable{}) }, "in String", true},
		"panic of what cannot be said":    {func() error { panic(unspeakable{}) }, "in Error", true},
		"goexit while it panics": {func() error {
			defer runtime.Goexit()
			panic("behind")
		}, "", true},
		"panic while it goexits": {func() error {
			defer func() { panic("behind") }()
			runtime.Goexit()
			return nil
		}, "behind", true},
		"panic of what ends goroutines": {func() error { panic(fleeing{}) }, "do not return", true},
		flight:                          {func() error { return fleeing{} }, "", true},
		"a runtime error":               {func() error { i := 1; _ = []int{}[i]; return nil }, "out of range", true},
		"error that is a nil pointer":   {func() error { return (*nilError)(nil) }, "nil", false},
		"error that cannot be said":     {func() error { return unspeakable{} }, "in Error", false},
	}
}

// Whatever a function does instead of returning, it is a failed attempt: it costs its worker, or only its item, and nothing
// stands still.
func TestF06WhateverAFunctionDoesIsAFailedAttempt(t *testing.T) {
	const n, at = 40, 17
	for deed, d := range misdeeds() {
		for name, k := range kinds() {
			for _, always := range []bool{false, true} {
				if !always && !d.costs || name == "batch by size" && (!d.costs || deed == flight) { // errors are not tried again
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, always %v", deed, name, always), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var calls atomic.Int32
						h := &harm{workers: 2, policy: stages.OnError(stages.Skip(1)), open: func() {}, at: func(_ context.Context, v int) error {
							if v == at && (calls.Add(1) == 1 || always) {
								return d.do()
							}
							return nil
						}}
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return k.build(stages.Source(g, "ints", ints(n)), h)
						}), supervisor.Config{})
						if r.err != nil {
							t.Fatal(r.err)
						}
						out, failed := r.out, int64(0)
						if always {
							failed = 1
						}
						if len(out) < (n-1)*k.times || r.stats.Failed != failed || r.stats.Delivered != n-failed {
							t.Errorf("%d outputs, %d failed, %d delivered", len(out), r.stats.Failed, r.stats.Delivered)
						}
						if d.costs != (r.stats.Restarts > 0) {
							t.Errorf("%d restarts", r.stats.Restarts)
						}
						for _, e := range r.stats.Failures {
							if text := e.Error(); e.Item.Index != at || !strings.Contains(text, d.value) {
								t.Errorf("got %q, want %q in it", text, d.value)
							}
							if _, ok := errors.AsType[*stages.PanicError](e); ok != d.costs {
								t.Errorf("got %v", e)
							}
						}
					})
				})
			}
		}
	}
}

// The same, in what is called around items: once, or, if that must fail the run, always.
func TestF06WhateverOpenFlushOrAnIteratorDoesIsADeath(t *testing.T) {
	const n = 20
	for deed, d := range misdeeds() {
		for where, build := range map[string]func(g *stages.Graph, f func() error) stages.Stream[int]{
			"open": func(g *stages.Graph, f func() error) stages.Stream[int] {
				return stages.MapWith(stages.Source(g, "ints", ints(n)), "f", func(context.Context) (int, error) { return 0, f() },
					func(_ int, _ context.Context, v int) (int, error) { return v, nil })
			},
			"open of an aggregate": func(g *stages.Graph, f func() error) stages.Stream[int] {
				return stages.Unbatch(stages.Aggregate(stages.Source(g, "ints", ints(n)), "f", func(context.Context) (*pile, error) {
					return &pile{size: 7, at: func(context.Context, int) error { return nil }}, f()
				}), "undone")
			},
			"flush": func(g *stages.Graph, f func() error) stages.Stream[int] {
				return stages.Unbatch(stages.Aggregate(stages.Source(g, "ints", ints(n)), "f", func(context.Context) (*flusher, error) {
					return &flusher{pile{size: 7, at: func(context.Context, int) error { return nil }}, f}, nil
				}), "undone")
			},
			"iterator": func(g *stages.Graph, f func() error) stages.Stream[int] {
				return stages.Source(g, "f", stages.FromSeq(faulty(n, func(i int) error {
					if i == 11 {
						return f()
					}
					return nil
				})), stages.OnError(stages.Fail()))
			},
			"function of a merge": func(g *stages.Graph, f func() error) stages.Stream[int] {
				return stages.MergeFunc("f", func(heads []*int) int {
					i := first(heads)
					if *heads[i] == 11 && f() != nil {
						return -1
					}
					return i
				}, threes(g, 0, n/3+1), threes(g, 1, n/3+1), threes(g, 2, n/3))
			},
		} {
			for _, always := range []bool{false, true} {
				if where == "function of a merge" && deed == flight {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, always %v", deed, where, always), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						calls := 0
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return build(g, func() error {
								if calls++; calls == 1 || always {
									return d.do()
								}
								return nil
							})
						}), supervisor.Config{})
						tolerated := !always && (d.costs || strings.HasPrefix(where, "open")) // an error of open is a death
						if !tolerated {
							if r.err == nil || !strings.Contains(r.err.Error(), `"f"`) {
								t.Errorf("got %v", r.err)
							}
							if _, ok := errors.AsType[*supervisor.RunError](r.err); !ok {
								t.Errorf("got %v", r.err)
							}
							return
						}
						if r.err != nil {
							t.Fatal(r.err)
						}
						wantItems(t, r.out, numbers(n))
						if len(told[supervisor.WorkerRestarted](r.events)) != 1 || calls < 2 {
							t.Errorf("%d restarts, %d calls", r.stats.Restarts, calls)
						}
					})
				})
			}
		}
	}
}

// A flusher is a pile of which Flush may return an error.
type flusher struct {
	pile
	do func() error
}

func (f *flusher) Flush(ctx context.Context, emit func([]int) bool) error {
	if err := f.do(); err != nil {
		return err
	}
	return f.pile.Flush(ctx, emit)
}

// What Close does costs nothing: neither at the end, nor at a restart.
func TestF06WhateverCloseDoesIsAnEvent(t *testing.T) {
	const n = 40
	for deed, d := range misdeeds() {
		if !d.costs {
			d = misdeed{func() error { return errBad }, "bad", false}
		}
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", deed, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					opened := 0
					r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
						return stages.MapWith(stages.Source(g, "ints", ints(n)), "f", func(context.Context) (closer, error) {
							opened++
							return d.do, nil
						}, func(_ closer, ctx context.Context, v int) (int, error) {
							if restart && v == 11 && stages.Attempt(ctx) == 1 {
								panic("once")
							}
							return v, nil
						})
					}), supervisor.Config{})
					if r.err != nil {
						t.Fatal(r.err)
					}
					wantItems(t, r.out, numbers(n))
					failed := told[supervisor.CloseFailed](r.events)
					if len(failed) != opened || opened != map[bool]int{false: 1, true: 2}[restart] {
						t.Errorf("opened %d times, closed with %v", opened, failed)
					}
					for _, e := range failed {
						if e.Stage != "f" || !strings.Contains(e.Err.Error(), d.value) {
							t.Errorf("got %v, want %q in it", e.Err, d.value)
						}
					}
				})
			})
		}
	}
}

// So it is where programs have asked for panics of nil as they were before Go 1.21: recover then tells nothing of them.
func TestF06APanicOfNilIsADeathAsItWasBefore(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	for name, k := range kinds() {
		for _, always := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, always %v", name, always), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var calls atomic.Int32
					h := &harm{workers: 2, policy: stages.OnError(stages.Skip(1)), open: func() {}, at: func(_ context.Context, v int) error {
						if v == 17 && (calls.Add(1) == 1 || always) {
							panic(nil)
						}
						return nil
					}}
					r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
						return k.build(stages.Source(g, "ints", ints(40)), h)
					}), supervisor.Config{})
					failed := int64(map[bool]int{false: 0, true: 1}[always])
					if r.err != nil || r.stats.Failed != failed || r.stats.Delivered != 40-failed {
						t.Errorf("%v: %d failed, %d delivered", r.err, r.stats.Failed, r.stats.Delivered)
					}
				})
			})
		}
	}
}
