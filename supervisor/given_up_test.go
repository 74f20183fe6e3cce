package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A function that was given up may ask for its item as long as it likes: also when nothing is left of the item, and of what
// it was made of. The race detector watches it.
func TestAFunctionThatWasGivenUpMayAskForItsItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, asked := make(chan bool), 0
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			two := stages.FlatMap(stages.Source(g, "ints", ints(10)), "two", func(_ context.Context, v int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					_ = yield(2*v, nil) && yield(2*v+1, nil)
				}
			})
			return stages.Map(two, "f", func(ctx context.Context, v int) (int, error) {
				if v != 5 {
					return v, nil
				}
				was := fmt.Sprint(stages.ItemID(ctx), stages.Attempt(ctx), stages.Where(ctx))
				for {
					select {
					case <-release:
						return v, nil
					case <-time.After(10 * time.Millisecond):
						asked++
						if is := fmt.Sprint(stages.ItemID(ctx), stages.Attempt(ctx), stages.Where(ctx)); is != was {
							t.Errorf("it was at %s, and is at %s", was, is)
						}
					}
				}
			}, stages.Mailbox(3), stages.Ordered, stages.Timeout(time.Second), stages.OnError(stages.Skip(5)))
		}), supervisor.Config{Grace: time.Second})
		var out []int
		for v, err := range run.Items(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			out = append(out, v)
		}
		time.Sleep(time.Minute)
		close(release)
		synctest.Wait()
		wantItems(t, out, without(20, 5))
		if asked < 6000 {
			t.Errorf("it has asked %d times", asked)
		}
	})
}

// RunEnded is the last event of a run, whatever functions that were given up do behind it, and whoever stops it.
func TestNothingIsToldBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		var heard []supervisor.Event
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(10)), "f", func(context.Context) (closer, error) { return func() error { return errBad }, nil },
				func(_ closer, _ context.Context, v int) (int, error) {
					if v == 3 {
						<-release
					}
					return v, nil
				}, stages.Timeout(time.Second), stages.OnError(stages.Skip(5)))
		}), supervisor.Config{OnEvent: func(e supervisor.Event) { heard = append(heard, e) }})
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		run.Wait(t.Context())
		for range 2 {
			if err := run.Stop(); !errors.Is(err, stages.ErrHung) {
				t.Errorf("stopped: %v", err)
			}
		}
		close(release)
		synctest.Wait()
		for _, events := range [][]supervisor.Event{heard, slices.Collect(run.Events(t.Context()))} {
			if _, ok := events[len(events)-1].(supervisor.RunEnded); !ok || len(told[supervisor.RunEnded](events)) != 1 {
				t.Errorf("the last event is %T", events[len(events)-1])
			}
		}
	})
}

// Times that are too long to be added up are for ever.
func TestTimesThatAreTooLongAreForEver(t *testing.T) {
	const ever = time.Duration(math.MaxInt64)
	fails := func(_ context.Context, v int) error {
		if v == 3 {
			return stages.Retryable(errBad)
		}
		return nil
	}
	var opens atomic.Int32
	for name, c := range map[string]struct {
		cfg   supervisor.Config
		f     func(ctx context.Context, v int) error
		open  func() error
		waits bool
		opt   stages.Option
	}{
		"a timeout":             {supervisor.Config{}, noHarm, nil, false, stages.Timeout(ever)},
		"a timeout and a grace": {supervisor.Config{Grace: ever}, noHarm, nil, false, stages.Timeout(time.Hour)},
		"a drain":               {supervisor.Config{DrainWithin: ever}, noHarm, nil, false, nil},
		"a pause":               {supervisor.Config{}, fails, nil, true, stages.Retry{First: ever}},
		"a rest": {supervisor.Config{}, noHarm, func() error {
			if opens.Add(1) < 4 { // two workers may fail together
				return errBad
			}
			return nil
		}, true, stages.Restart{First: ever}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					opts := []stages.Option{stages.Mailbox(2)}
					if c.opt != nil {
						opts = append(opts, c.opt)
					}
					return stages.MapWith(stages.Source(g, "ints", ints(10)), "f", func(context.Context) (int, error) {
						if c.open != nil {
							return 0, c.open()
						}
						return 0, nil
					}, func(_ int, ctx context.Context, v int) (int, error) {
						if err := wait(ctx, time.Second, false); err != nil {
							return 0, err
						}
						return v, c.f(ctx, v)
					}, opts...)
				}), c.cfg)
				ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
				defer cancel()
				if name == "a drain" {
					time.AfterFunc(1500*time.Millisecond, run.Drain)
				}
				var last error
				for _, err := range run.Items(ctx) {
					last = err
				}
				if waits := last == context.DeadlineExceeded; waits != c.waits || !waits && last != nil || run.Stats().Failed > 0 {
					t.Errorf("it ends with %v, %d failed", last, run.Stats().Failed)
				}
			})
		})
	}
}

// A join that restores the order is given all that comes before an item of a branch that fails, in whatever way it does.
func TestAJoinIsGivenAllThatComesBeforeAFailure(t *testing.T) {
	const n, at = 40, 21
	skip := stages.OnError(stages.Skip(100))
	for name, c := range map[string]struct {
		policy stages.AnyOption
		open   error // of those behind the first
		fail   func() error
	}{
		"an error":        {stages.OnError(stages.Fail()), nil, func() error { return errBad }},
		"panics":          {skip, nil, func() error { panic("always") }},
		"a failed open":   {skip, errBad, func() error { panic("once") }},
		"a letter's sink": {stages.OnError(stages.DeadLetter(&archive{sync: func() error { return errFull }}, 100)), nil, func() error { return errBad }},
		"a budget":        {stages.OnError(stages.Skip(0)), nil, func() error { return errBad }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opens := 0
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					out := stages.Route(stages.Source(g, "ints", ints(n)), "route", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil })
					odd := stages.MapWith(out[1], "odd", func(context.Context) (int, error) {
						if opens++; opens > 1 {
							return 0, c.open
						}
						return 0, nil
					}, func(_ int, _ context.Context, v int) (int, error) {
						if v >= at {
							return 0, c.fail()
						}
						return v, nil
					}, c.policy, stages.Buffer(0))
					return stages.Merge("join", stages.InputOrder{}, stages.Map(out[0], "even", same), odd)
				}), supervisor.Config{})
				if run, ok := errors.AsType[*supervisor.RunError](r.err); !ok || len(run.Causes) != 1 {
					t.Errorf("got %v", r.err)
				}
				if name == "panics" { // those behind it fail for good first, and are skipped
					if len(r.out) < at {
						t.Errorf("%d items, want those before %d", len(r.out), at)
					}
					return
				}
				wantItems(t, r.out, numbers(at))
			})
		})
	}
}

// What counts in the budget of a run is how many items of the sources have failed, whatever was made of them.
func TestTheBudgetOfARunCountsItemsOfSources(t *testing.T) {
	bad := func(_ context.Context, v int) (int, error) {
		if v < 30 {
			return 0, errBad
		}
		return v, nil
	}
	skip := stages.OnError(stages.Skip(stages.Fraction(1)))
	for shape, build := range map[string]func(g *stages.Graph) stages.Stream[int]{
		"flatmap": func(g *stages.Graph) stages.Stream[int] {
			three := stages.FlatMap(stages.Source(g, "ints", ints(100)), "three", func(_ context.Context, v int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for i := 0; i < 3 && yield(v, nil); i++ {
					}
				}
			})
			return stages.Map(three, "f", bad, skip, stages.Mailbox(4))
		},
		"tee": func(g *stages.Graph) stages.Stream[int] {
			a, b := stages.Tee(stages.Source(g, "ints", ints(100)), "tee")
			stages.Sink(b, "sink", func(ctx context.Context, v int) error { _, err := bad(ctx, v); return err }, skip)
			return stages.Map(a, "f", bad, skip)
		},
	} {
		for name, c := range map[string]struct {
			cfg supervisor.Config
			ok  bool
		}{
			"exactly the count":       {supervisor.Config{MaxFailed: 30}, true},
			"one more":                {supervisor.Config{MaxFailed: 29}, false},
			"exactly the fraction":    {supervisor.Config{MaxFailedFraction: 0.3, Probation: 1000}, true},
			"more than the fraction":  {supervisor.Config{MaxFailedFraction: 0.29, Probation: 1000}, false},
			"the fraction at the end": {supervisor.Config{MaxFailedFraction: 0.29, Probation: 100}, false},
		} {
			t.Run(shape+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := play(t, define(build), c.cfg)
					if (r.err == nil) != c.ok || !c.ok && !errors.Is(r.err, stages.ErrBudget) || c.ok && r.stats.Failed != 30 {
						t.Errorf("%v, %d failed", r.err, r.stats.Failed)
					}
				})
			})
		}
	}
}

// A worker that does not come to an end of closing what it had opened keeps the others from nothing.
func TestACloseThatHangsHoldsUpNobodyElse(t *testing.T) {
	for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan bool)
			died := false
			run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.MapWith(stages.Source(g, "ints", ints(100)), "f", func(context.Context) (*closer, error) { return new(closer), nil },
					func(c *closer, ctx context.Context, v int) (int, error) {
						if v == 10 && !died {
							died = true
							*c = func() error { <-release; return nil }
							panic("once")
						}
						return v, wait(ctx, 10*time.Millisecond, false)
					}, stages.Mailbox(4), order)
			}), supervisor.Config{})
			time.AfterFunc(time.Hour, func() { close(release) })
			n := 0
			for _, err := range run.Items(t.Context()) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n != 100 || run.Stats().Elapsed >= time.Hour {
				t.Errorf("%d items in %v", n, run.Stats().Elapsed)
			}
			run.Wait(t.Context())
		})
	}
}
