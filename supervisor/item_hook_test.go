package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A diary notes what hooks and functions do.
type diary struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) check(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(d.lines, "\n"), strings.Join(want, "\n"))
	}
}

// items returns a hook that notes its items under name.
func (d *diary) items(name string) stages.Hook {
	return stages.Hook{
		ItemEnter: func(_ context.Context, it stages.Item) error {
			d.note("%s enters %s %v %d", name, it.Stage, it.ID, it.Attempt)
			return nil
		},
		ItemExit: func(_ context.Context, it stages.Item, err error) error {
			d.note("%s exits %s %v %d: %s", name, it.Stage, it.ID, it.Attempt, placeless(fmt.Sprint(err)))
			return err
		},
	}
}

// onExit is a hook whose ItemExit alone does something.
func onExit(f func(it stages.Item, err error) error) stages.Hook {
	return stages.Hook{ItemExit: func(_ context.Context, it stages.Item, err error) error { return f(it, err) }}
}

// numbered reports whether it is number n of the source.
func numbered(it stages.Item, n int64) bool { return it.ID.Index == n }

func TestItemHooksNestAroundEveryAttemptWhereverTheyAreAdded(t *testing.T) {
	var d diary
	got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		in := stages.Source(g, "ints", ints(2))
		g.Hook(d.items("outer"))
		out := stages.Map(in, "f", func(ctx context.Context, v int) (int, error) {
			d.note("f %d", v)
			if v == 1 && stages.Attempt(ctx) == 1 {
				panic("once")
			}
			return v, nil
		})
		g.Hook(stages.Hook{}) // is legal, and does nothing
		g.Hook(d.items("inner"))
		return out
	}))
	if err != nil {
		t.Error(err)
	}
	checkCount(t, got, 2)
	d.check(t,
		"outer enters f ints/0/0 1", "inner enters f ints/0/0 1", "f 0", "inner exits f ints/0/0 1: <nil>", "outer exits f ints/0/0 1: <nil>",
		"outer enters f ints/0/1 1", "inner enters f ints/0/1 1", "f 1", "inner exits f ints/0/1 1: panic: once", "outer exits f ints/0/1 1: panic: once",
		"outer enters f ints/0/1 2", "inner enters f ints/0/1 2", "f 1", "inner exits f ints/0/1 2: <nil>", "outer exits f ints/0/1 2: <nil>",
	)
}

func TestAHookAddedAfterTheBuildFunctionDoesNothing(t *testing.T) {
	var late *stages.Graph
	p := define(func(g *stages.Graph) stages.Stream[int] {
		late = g
		return stages.Map(stages.Source(g, "ints", ints(3)), "f", same)
	})
	late.Hook(onExit(func(stages.Item, error) error { return errBad }))
	got, _, err := collect(t, p)
	checkCount(t, got, 3)
	if err != nil {
		t.Error(err)
	}
}

// All kinds have hooks around their items; sources and flushes have none.
func TestEveryKindShowsItsInput(t *testing.T) {
	var mu sync.Mutex
	seen := map[string][]any{}
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		g.Hook(stages.Hook{ItemEnter: func(ctx context.Context, it stages.Item) error {
			mu.Lock()
			defer mu.Unlock()
			if stages.Where(ctx) != it.StageInfo || stages.ItemID(ctx) != it.ID || stages.Attempt(ctx) != it.Attempt || it.Pipeline != "test" || it.Incarnation != 1 {
				t.Errorf("got %+v", it)
			}
			if v, ok := stages.Value[int](it); ok {
				seen[it.Stage] = append(seen[it.Stage], v)
			} else if b, ok := stages.Value[[]int](it); ok {
				seen[it.Stage] = append(seen[it.Stage], fmt.Sprint(b))
			}
			if _, ok := stages.Value[string](it); ok {
				t.Error("it is no string")
			}
			return nil
		}})
		s := stages.Map(stages.Source(g, "ints", ints(3)), "map", same, stages.Timeout(time.Minute))
		s = stages.MapWith(s, "mapwith", func(context.Context) (int, error) { return 0, nil }, func(_ int, _ context.Context, v int) (int, error) { return v, nil })
		s = stages.Filter(s, "filter", func(context.Context, int) (bool, error) { return true, nil })
		once := func(_ context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) { yield(v, nil) }
		}
		s = stages.FlatMap(s, "flatmap", once)
		s = stages.FlatMap(s, "streaming", once, stages.Streaming)
		s = stages.AttachSerial(s, "serial", stages.SerialKind[int, int]{Open: func(context.Context) (stages.Worker[int, int], error) { return identity{}, nil }})
		return stages.Unbatch(stages.Batch(s, "batch", 2), "unbatch")
	}))
	if err != nil {
		t.Error(err)
	}
	for _, name := range []string{"map", "mapwith", "filter", "flatmap", "streaming", "serial", "batch"} {
		if !slices.Equal(seen[name], []any{0, 1, 2}) {
			t.Errorf("%s: %v", name, seen[name])
		}
	}
	if !slices.Equal(seen["unbatch"], []any{"[0 1]", "[2]"}) || len(seen) != 8 {
		t.Errorf("got %v", seen)
	}
}

// An identity is the worker of a kind that says nothing of itself.
type identity struct{}

func (identity) Process(_ context.Context, v int, emit func(int) bool) error {
	emit(v)
	return nil
}

func TestTheTimeoutOfAStageBoundsItsHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			g.Hook(stages.Hook{ItemEnter: func(ctx context.Context, _ stages.Item) error {
				<-ctx.Done()
				return ctx.Err()
			}})
			return stages.Map(stages.Source(g, "ints", ints(1)), "f", same, stages.Timeout(time.Second))
		}))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// Enter and exit pair up: of the hook that refused the item, and of what is inside it, nothing is called.
func TestAnErrorOfItemEnterIsTheItems(t *testing.T) {
	var d diary
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		g.Hook(d.items("outer"))
		g.Hook(stages.Hook{
			ItemEnter: func(_ context.Context, it stages.Item) error {
				if numbered(it, 1) {
					return errBad
				}
				return nil
			},
			ItemExit: func(_ context.Context, it stages.Item, err error) error {
				d.note("it exits %v", it.ID)
				return err
			},
		})
		g.Hook(d.items("inner"))
		return stages.Map(stages.Source(g, "ints", ints(2)), "f", func(_ context.Context, v int) (int, error) {
			d.note("f %d", v)
			return v, nil
		}, stages.OnError(stages.Skip(1)))
	}))
	checkCount(t, got, 1)
	if err != nil || s.Failed != 1 || len(s.Failures) != 1 || !errors.Is(s.Failures[0], errBad) || s.Failures[0].Attempts != 1 || s.Restarts != 0 {
		t.Errorf("%v, %+v", err, s)
	}
	d.check(t,
		"outer enters f ints/0/0 1", "inner enters f ints/0/0 1", "f 0", "inner exits f ints/0/0 1: <nil>", "it exits ints/0/0", "outer exits f ints/0/0 1: <nil>",
		"outer enters f ints/0/1 1", "outer exits f ints/0/1 1: bad")
}

// thrice yields each number three times. Of those in bad, an error follows.
func thrice(bad int) func(context.Context, int) iter.Seq2[int, error] {
	return func(_ context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for range 3 {
				if !yield(v, nil) {
					return
				}
			}
			if v == bad {
				yield(0, errBad)
			}
		}
	}
}

func TestItemExitDecidesWhatBecomesOfAnAttempt(t *testing.T) {
	other := errors.New("other")
	for name, c := range map[string]struct {
		hooks            []stages.Hook // outermost first
		failed, filtered int64
		err              error
	}{
		"it returns the error that there is": {
			[]stages.Hook{onExit(func(_ stages.Item, err error) error { return err })}, 1, 0, errBad,
		},
		"another error": {
			[]stages.Hook{onExit(func(_ stages.Item, err error) error {
				if err != nil {
					return other
				}
				return nil
			})}, 1, 0, other,
		},
		"an error for none": {
			[]stages.Hook{onExit(func(it stages.Item, err error) error {
				if numbered(it, 7) {
					return other
				}
				return err
			})}, 2, 0, other,
		},
		"nil for an error": {
			[]stages.Hook{onExit(func(stages.Item, error) error { return nil })}, 0, 1, nil,
		},
		"what an inner one drops is dropped": {
			[]stages.Hook{
				onExit(func(it stages.Item, err error) error {
					if numbered(it, 5) && err != nil {
						t.Errorf("seen from outside: %v", err)
					}
					return err
				}),
				onExit(func(stages.Item, error) error { return nil }),
			}, 0, 1, nil,
		},
		"unless one outside fails it": {
			[]stages.Hook{
				onExit(func(it stages.Item, err error) error {
					if numbered(it, 5) {
						return other
					}
					return err
				}),
				onExit(func(stages.Item, error) error { return nil }),
			}, 1, 0, other,
		},
		"what an inner one fails an outer one drops": {
			[]stages.Hook{
				onExit(func(stages.Item, error) error { return nil }),
				onExit(func(it stages.Item, err error) error { return other }),
			}, 0, 10, nil,
		},
	} {
		for _, workers := range []int{1, 4} {
			t.Run(fmt.Sprint(name, " workers ", workers), func(t *testing.T) {
				got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
					for _, h := range c.hooks {
						g.Hook(h)
					}
					return stages.FlatMap(stages.Source(g, "ints", ints(10)), "f", thrice(5), stages.OnError(stages.Skip(10)), stages.Mailbox(workers))
				}))
				if err != nil || s.Failed != c.failed || s.Filtered != c.filtered || s.Stages[1].Filtered != c.filtered || s.Stages[1].Failed != c.failed || s.Restarts != 0 {
					t.Errorf("%v, %+v", err, s)
				}
				if want := 3 * (10 - c.failed - c.filtered); int64(len(got)) != want || s.Outputs != want {
					t.Errorf("%d outputs, want %d", len(got), want)
				}
				if n := len(s.Failures); c.err != nil && !errors.Is(s.Failures[n-1], c.err) && !errors.Is(s.Failures[0], c.err) {
					t.Errorf("got %v", s.Failures)
				}
			})
		}
	}
}

// A drop fails nothing, and costs no budget: not of a fraction, nor of the deaths in a row.
func TestDroppedItemsAreNoFailures(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		g.Hook(onExit(func(it stages.Item, err error) error {
			if _, died := err.(*stages.PanicError); died {
				return err
			}
			return nil
		}))
		return stages.Map(stages.Source(g, "ints", ints(1000)), "f", func(ctx context.Context, v int) (int, error) {
			if v%2 == 1 {
				return v, errBad
			}
			if stages.Attempt(ctx) == 1 {
				panic("once")
			}
			if v%4 == 2 {
				return v, errBad
			}
			return v, nil
		})
	}))
	if err != nil || len(got) != 250 || s.Filtered != 750 || s.Delivered != 250 || s.Failed != 0 || s.Restarts != 500 {
		t.Errorf("%v, %d items, %+v", err, len(got), s)
	}
}

// An item that is dropped is finished: workers that died on the way to it are not lost in a row.
func TestADropEndsARowOfDeaths(t *testing.T) {
	_, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		g.Hook(onExit(func(it stages.Item, err error) error {
			if it.Attempt == 1 {
				return err
			}
			return nil
		}))
		return stages.Map(stages.Source(g, "ints", ints(20)), "f", func(ctx context.Context, v int) (int, error) {
			if stages.Attempt(ctx) == 1 {
				panic("once")
			}
			return v, errBad
		})
	}))
	if err != nil || s.Filtered != 20 || s.Restarts != 20 {
		t.Errorf("%v, %+v", err, s)
	}
}

// It counts among the items of which a fraction may fail.
func TestADropIsAFinishedItem(t *testing.T) {
	_, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		g.Hook(onExit(func(it stages.Item, err error) error {
			if it.ID.Index%20 == 0 {
				return err
			}
			return nil
		}))
		return stages.Map(stages.Source(g, "ints", ints(200)), "f", func(_ context.Context, v int) (int, error) {
			if v%2 == 0 {
				return 0, errBad
			}
			return v, nil
		}, stages.OnError(stages.Skip(stages.Fraction(0.08))))
	}))
	if err != nil || s.Failed != 10 || s.Filtered != 90 {
		t.Errorf("%v, %+v", err, s)
	}
}

func TestOutputsAreNotVisibleBeforeItemExit(t *testing.T) {
	for name, c := range map[string]struct {
		opts    []stages.FlatMapOption
		visible bool
	}{"together": {nil, false}, "streaming": {[]stages.FlatMapOption{stages.Streaming}, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan bool)
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					g.Hook(onExit(func(_ stages.Item, err error) error {
						<-release
						return nil // drops it
					}))
					return stages.FlatMap(stages.Source(g, "ints", ints(1)), "f", thrice(0), c.opts...)
				}), supervisor.Config{})
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := run.Next(ctx); (err == nil) != c.visible {
					t.Errorf("in ItemExit: %v", err)
				}
				close(release)
				for range run.Items(t.Context()) {
				}
				synctest.Wait()
				s := run.Stats()
				if err := run.Err(); err != nil || s.Stages[1].Filtered != 1 || s.Yielded != 1 || s.InFlight != 0 || s.Failed != 0 || (s.Delivered == 1) != c.visible {
					t.Errorf("%v, %+v", err, s)
				}
			})
		})
	}
}

func TestAHookThatPanicsCostsTheWorkerAndTheItemIsTriedAgain(t *testing.T) {
	for name, die := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		for where, hook := range map[string]func(f func(stages.Item)) stages.Hook{
			"ItemEnter": func(f func(stages.Item)) stages.Hook {
				return stages.Hook{ItemEnter: func(_ context.Context, it stages.Item) error { f(it); return nil }}
			},
			"ItemExit": func(f func(stages.Item)) stages.Hook {
				return onExit(func(it stages.Item, err error) error { f(it); return err })
			},
		} {
			t.Run(name+" in "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					outside := 0
					got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
						g.Hook(onExit(func(it stages.Item, err error) error {
							if p, ok := err.(*stages.PanicError); ok && p.Item == it.ID && p.Stage == "f" && strings.Contains(p.Stack, "item_hook_test.go") {
								outside++
							}
							return err
						}))
						g.Hook(hook(func(it stages.Item) {
							if numbered(it, 30) || it.ID.Index%10 == 3 && it.Attempt < 3 {
								die()
							}
						}))
						return stages.Map(stages.Source(g, "ints", ints(40)), "f", same, stages.OnError(stages.Skip(1)))
					}))
					if err != nil || len(got) != 39 || s.Failed != 1 || s.Restarts != 11 || s.Failures[0].Attempts != 3 || outside != 11 {
						t.Errorf("%v, %d items, %d seen outside, %+v", err, len(got), outside, s)
					}
				})
			})
		}
	}
}

// What ItemExit says while the goroutine unwinds changes nothing: the item is tried again, and fails with what the
// function panicked with.
func TestADeathOfTheFunctionStands(t *testing.T) {
	for name, die := range map[string]func(){"panic": func() { panic("mine") }, "runtime.Goexit was called": runtime.Goexit} {
		for what, exit := range map[string]func(){"returns nil": func() {}, "panics": func() { panic("hook") }} {
			t.Run(name+" and ItemExit "+what, func(t *testing.T) {
				calls, outside := 0, 0
				var inside error
				_, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
					g.Hook(onExit(func(_ stages.Item, err error) error {
						if err != nil && err == inside { // the same one, whatever happens in between
							outside++
						}
						return err
					}))
					g.Hook(onExit(func(_ stages.Item, err error) error {
						inside = err
						if p, ok := errors.AsType[*stages.PanicError](err); !ok || !strings.Contains(err.Error(), name) || !strings.Contains(p.Stack, "item_hook_test.go") {
							t.Errorf("got %v", err)
						}
						calls++
						exit()
						return nil
					}))
					return stages.Map(stages.Source(g, "ints", ints(1)), "f", func(context.Context, int) (int, error) {
						die()
						return 0, nil
					})
				}))
				p, ok := errors.AsType[*stages.PanicError](err)
				if !ok || !strings.Contains(p.Error(), name) || !strings.Contains(p.Stack, "item_hook_test.go") || calls != 3 || outside != 3 || s.Failed != 1 || s.Restarts != 2 {
					t.Errorf("%v, %d calls, %d outside, %+v", err, calls, outside, s)
				}
			})
		}
	}
}

// Not even an ItemExit that ends its goroutine while that unwinds: the hooks outside are still called, with the same
// error, and the item has had its attempt.
func TestAnItemExitThatEndsAnUnwindingGoroutine(t *testing.T) {
	for name, die := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var inside error
			outside := 0
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				g.Hook(onExit(func(_ stages.Item, err error) error {
					if err != nil && err == inside {
						outside++
					}
					return err
				}))
				g.Hook(onExit(func(_ stages.Item, err error) error {
					if inside = err; err != nil {
						runtime.Goexit()
					}
					return nil
				}))
				return stages.Map(stages.Source(g, "ints", ints(5)), "f", func(_ context.Context, v int) (int, error) {
					if v == 2 {
						die()
					}
					return v, nil
				}, stages.OnError(stages.Skip(1)))
			}))
			if err != nil || len(got) != 4 || s.Failed != 1 || s.Restarts != 3 || outside != 3 {
				t.Errorf("%v, %v, %d outside, %+v", err, got, outside, s)
			}
		})
	}
}

// Hooks see what the stage itself has against an attempt.
func TestHooksSeeTheStagesOwnErrors(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(ctx context.Context, v int) iter.Seq2[int, error]
		opts []stages.FlatMapOption
		err  error
	}{
		"too many": {func(_ context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for yield(v, nil) {
				}
			}
		}, nil, stages.ErrTooMany},
		"too few": {func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				if stages.Attempt(ctx) == 1 {
					yield(v, nil)
					panic("once")
				}
			}
		}, []stages.FlatMapOption{stages.Streaming}, stages.ErrNotDeterministic},
	} {
		t.Run(name, func(t *testing.T) {
			var last error
			_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				g.Hook(onExit(func(_ stages.Item, err error) error {
					last = err
					return err
				}))
				return stages.FlatMap(stages.Source(g, "ints", ints(1)), "f", c.f, c.opts...)
			}))
			if !errors.Is(err, c.err) || !errors.Is(last, c.err) {
				t.Errorf("the run: %v, the hook: %v", err, last)
			}
		})
	}
}
