package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// dies panics, or ends its goroutine, at the first attempt at every 997th item, and checks what it is told of it.
func dies(goexit bool) func(context.Context, int) (int, error) {
	var seen sync.Map
	return func(ctx context.Context, v int) (int, error) {
		if v%997 != 0 {
			return v, nil
		}
		if id := stages.ItemID(ctx); id.Index != int64(v) || id.Source != "ints" || id.Path != "" {
			return 0, fmt.Errorf("item %d is called %v", v, id)
		}
		if _, again := seen.LoadOrStore(v, true); again {
			if a := stages.Attempt(ctx); a != 2 {
				return 0, fmt.Errorf("item %d: attempt %d, want 2", v, a)
			}
			return v, nil
		}
		if a := stages.Attempt(ctx); a != 1 {
			return 0, fmt.Errorf("item %d: attempt %d, want 1", v, a)
		}
		if goexit {
			runtime.Goexit()
		}
		panic("once")
	}
}

func TestWorkersThatDieLoseNothing(t *testing.T) {
	const n = 100_000
	for _, workers := range []int{1, 4} {
		for _, goexit := range []bool{false, true} {
			for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
				t.Run(fmt.Sprintf("workers %d goexit %v order %d", workers, goexit, order), func(t *testing.T) {
					got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
						in := stages.Source(g, "ints", ints(n))
						one := stages.Map(in, "one", dies(goexit), stages.Mailbox(workers), order)
						return stages.Map(one, "two", dies(goexit), stages.Mailbox(workers), order)
					}))
					if err != nil {
						t.Fatal(err)
					}
					if order == stages.Unordered {
						slices.Sort(got)
					}
					checkCount(t, got, n)
					const deaths = (n + 996) / 997
					for _, st := range s.Stages[1:] {
						if st.Restarts != deaths || st.Retries != deaths || st.In != n || st.Out != n || st.Failed != 0 {
							t.Errorf("%+v, want %d restarts", st, deaths)
						}
					}
				})
			}
		}
	}
}

// What an attempt has done before it died is not done again: only the item at which it died is.
func TestOnlyTheItemThatDiedIsTriedAgain(t *testing.T) {
	const n = 20_000
	var calls [n]atomic.Int32
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(_ context.Context, v int) (int, error) {
			if c := calls[v].Add(1); v%100 == 50 && c == 1 {
				panic("once")
			}
			return v, nil
		}, stages.Mailbox(2))
	}))
	if err != nil {
		t.Fatal(err)
	}
	for v := range calls {
		want := int32(1)
		if v%100 == 50 {
			want = 2
		}
		if c := calls[v].Load(); c != want {
			t.Fatalf("item %d was worked on %d times, want %d", v, c, want)
		}
	}
}

func TestPoisonFailsTheRunAndIsNamed(t *testing.T) {
	for _, workers := range []int{1, 3} {
		got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			in := stages.Source(g, "ints", ints(100_000))
			bad := stages.Map(in, "bad", func(_ context.Context, v int) (int, error) {
				if v == 5000 {
					panic(fmt.Sprintf("poison %d", v))
				}
				return v, nil
			}, stages.Mailbox(workers), stages.Ordered)
			return stages.Map(bad, "after", same, stages.Mailbox(3), stages.Ordered)
		}))
		checkCount(t, got, 5000) // what came before it is delivered
		item, ok := errors.AsType[*stages.ItemError](err)
		if !ok || item.Stage != "bad" || item.Item.Index != 5000 || item.Attempts != 3 {
			t.Fatalf("got %v", err)
		}
		p, ok := errors.AsType[*stages.PanicError](err)
		if !ok || p.Value != "poison 5000" || !strings.Contains(p.Stack, "fault_test.go") || p.Item != item.Item {
			t.Errorf("got %+v", p)
		}
		if run, ok := errors.AsType[*supervisor.RunError](err); !ok || len(run.Causes) != 1 || !strings.Contains(err.Error(), `stage "bad": item ints/0/5000`) {
			t.Errorf("got %v", err)
		}
		if s.Failed != 1 || s.Delivered != 5000 || s.Stages[1].Restarts != 2 {
			t.Errorf("got %+v", s)
		}
	}
}

func TestAnErrorFailsTheRunBehindWhatCameBefore(t *testing.T) {
	bad := errors.New("bad")
	for _, workers := range []int{1, 4} {
		got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(1_000_000)), "f", func(_ context.Context, v int) (int, error) {
				if v == 54_321 {
					return 0, bad
				}
				return v, nil
			}, stages.Mailbox(workers), stages.Ordered)
		}))
		if !errors.Is(err, bad) {
			t.Fatal(err)
		}
		checkCount(t, got, 54_321)
	}
}

func TestSkippedItemsAreCountedNamedAndLimited(t *testing.T) {
	bad := errors.New("bad")
	for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
		for budget, wantErr := range map[int]bool{99: true, 100: false} {
			run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(10_000)), "f", func(_ context.Context, v int) (int, error) {
					if v%100 == 7 {
						return 0, fmt.Errorf("item %d: %w", v, bad)
					}
					return v, nil
				}, stages.Mailbox(4), order, stages.OnError(stages.Skip(budget)))
			}), supervisor.Config{})
			n := 0
			var failure error
			for _, err := range run.Items(t.Context()) {
				if failure = err; err == nil {
					n++
				}
			}
			s := run.Stats()
			if wantErr {
				if !errors.Is(failure, stages.ErrBudget) || !errors.Is(failure, bad) || s.Failed != 100 {
					t.Errorf("budget %d: %v, %d failed", budget, failure, s.Failed)
				}
				continue
			}
			if failure != nil || n != 9900 || s.Failed != 100 || s.Delivered != 9900 || len(s.Failures) != 100 || s.Restarts != 0 {
				t.Errorf("budget %d: %v, %d items, %+v", budget, failure, n, s)
			}
			for _, f := range s.Failures {
				if f.Item.Index%100 != 7 || f.Attempts != 1 || !errors.Is(f, bad) {
					t.Errorf("got %v", f)
				}
			}
		}
	}
}

func TestAFractionIsJudgedAfterProbationAndAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		n, every int
		max      stages.Fraction
		fails    bool
	}{
		"few failures in many":                  {10_000, 50, 0.05, false},
		"too many":                              {10_000, 10, 0.05, true},
		"too many in a run that is short":       {50, 10, 0.05, true},
		"the first items fail, the rest do not": {1000, 1000, 0.05, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(c.n)), "f", func(_ context.Context, v int) (int, error) {
					if v%c.every == 0 {
						return 0, errors.New("bad")
					}
					return v, nil
				}, stages.OnError(stages.Skip(c.max)))
			}))
			if errors.Is(err, stages.ErrBudget) != c.fails {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFatalIsNeverSkipped(t *testing.T) {
	bad := errors.New("bad")
	got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(1000)), "f", func(_ context.Context, v int) (int, error) {
			if v == 500 {
				return 0, stages.Fatal(bad)
			}
			return v, nil
		}, stages.OnError(stages.Skip(1000)))
	}))
	checkCount(t, got, 500)
	if !errors.Is(err, bad) || !errors.Is(err, stages.ErrFatal) {
		t.Error(err)
	}
}

// A state belongs to one worker, is opened once per incarnation, and closed.
type state struct {
	busy, closed atomic.Bool
	open         *atomic.Int32
}

func (s *state) Close() error {
	if s.closed.Swap(true) {
		panic("closed twice")
	}
	s.open.Add(-1)
	return nil
}

func TestStateIsOpenedAndClosedOncePerIncarnation(t *testing.T) {
	var opened, open atomic.Int32
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.MapWith(stages.Source(g, "ints", ints(10_000)), "f", func(context.Context) (*state, error) {
			opened.Add(1)
			open.Add(1)
			return &state{open: &open}, nil
		}, func(s *state, ctx context.Context, v int) (int, error) {
			if s.busy.Swap(true) || s.closed.Load() {
				return 0, errors.New("the state is not mine alone")
			}
			if v%1000 == 1 && stages.Attempt(ctx) == 1 {
				panic("once")
			}
			s.busy.Store(false)
			return v, nil
		}, stages.Mailbox(3), stages.Ordered)
	}))
	if err != nil {
		t.Fatal(err)
	}
	checkCount(t, got, 10_000)
	if s.Restarts != 10 || opened.Load() < 11 || opened.Load() > 13 || open.Load() != 0 {
		t.Errorf("%d restarts, %d opened, %d left open", s.Restarts, opened.Load(), open.Load())
	}
}

func TestACloseThatFailsIsAnEventAndNothingElse(t *testing.T) {
	for name, f := range map[string]closer{"error": func() error { return errors.New("no") }, "panic": func() error { panic("no") }} {
		t.Run(name, func(t *testing.T) {
			run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.MapWith(stages.Source(g, "ints", ints(10)), "f", func(context.Context) (closer, error) { return f, nil },
					func(_ closer, _ context.Context, v int) (int, error) { return v, nil })
			}), supervisor.Config{})
			for _, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := run.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			seen := 0
			for e := range run.Events(t.Context()) {
				if c, ok := e.(supervisor.CloseFailed); ok && c.Stage == "f" {
					seen++
				}
			}
			if seen != 1 {
				t.Errorf("%d events", seen)
			}
		})
	}
}

type closer func() error

func (c closer) Close() error { return c() }

// dieOnce panics at the first attempt at every item.
func dieOnce(ctx context.Context, v int) (int, error) {
	if stages.Attempt(ctx) == 1 {
		panic("once")
	}
	return v, nil
}
