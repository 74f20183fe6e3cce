package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A storm is a stage that dies again and again. dies is called at each death, and says how.
type storm func(g *stages.Graph, dies func() error, opts stages.Restart) stages.Stream[int]

func storms() map[string]storm {
	src := func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(1000)) }
	return map[string]storm{
		"open": func(g *stages.Graph, dies func() error, r stages.Restart) stages.Stream[int] {
			return stages.MapWith(src(g), "f", func(context.Context) (int, error) { return 0, dies() },
				func(_ int, _ context.Context, v int) (int, error) { return v, nil }, r, stages.OnError(stages.Skip(1000)))
		},
		"open of an aggregate": func(g *stages.Graph, dies func() error, r stages.Restart) stages.Stream[int] {
			return stages.Unbatch(stages.Aggregate(src(g), "f", func(context.Context) (*pile, error) { return nil, dies() }, r), "undone")
		},
		"open of several workers": func(g *stages.Graph, dies func() error, r stages.Restart) stages.Stream[int] {
			one := stages.Filter(src(g), "one", func(_ context.Context, v int) (bool, error) { return v == 0, nil }) // one item wants one worker
			return stages.MapWith(one, "f", func(context.Context) (int, error) { return 0, dies() },
				func(_ int, _ context.Context, v int) (int, error) { return v, nil }, r, stages.Mailbox(4))
		},
	}
}

// panicking storms are those that die of a panic only.
func panickingStorms() map[string]storm {
	all := map[string]storm{
		"function": func(g *stages.Graph, dies func() error, r stages.Restart) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(1000)), "f", func(context.Context, int) (int, error) { return 0, dies() },
				r, stages.OnError(stages.Skip(1000)))
		},
		"iterator": func(g *stages.Graph, dies func() error, r stages.Restart) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
				return func(func(int, error) bool) { dies() }
			}), r)
		},
		"opening of an iterator": func(g *stages.Graph, dies func() error, r stages.Restart) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(func(context.Context) iter.Seq2[int, error] { dies(); return nil }), r)
		},
	}
	for name, s := range storms() {
		all[name] = s
	}
	return all
}

// checkPauses wants these pauses between deaths, each shortened by up to half.
func checkPauses(t *testing.T, at []time.Duration, full []time.Duration) (shortened int) {
	t.Helper()
	if len(at) != len(full)+1 {
		t.Fatalf("%d deaths, want %d: %v", len(at), len(full)+1, at)
	}
	for i, most := range full {
		got := at[i+1] - at[i]
		if got > most || got < most/2 {
			t.Errorf("pause %d is %v, want %v to %v", i+1, got, most/2, most)
		}
		if got < most {
			shortened++
		}
	}
	return shortened
}

func defaultPauses() (all []time.Duration) {
	for _, ms := range []int{0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000} {
		all = append(all, time.Duration(ms)*time.Millisecond)
	}
	return all
}

func TestF04AStormOfRestartsEndsAtTheEleventhDeath(t *testing.T) {
	shortened := 0
	for way, cases := range map[string]map[string]storm{"error": storms(), "panic": panickingStorms()} {
		for name, build := range cases {
			for opts, c := range map[string]struct {
				restart stages.Restart
				pauses  []time.Duration
			}{
				"by default":                  {stages.Restart{}, defaultPauses()},
				"three restarts":              {stages.Restart{Max: 3}, defaultPauses()[:3]},
				"no restart":                  {stages.Restart{Max: -1}, nil},
				"twenty, of which ten are":    {stages.Restart{Max: 20, Within: time.Hour}, defaultPauses()},
				"ten in a row in no time":     {stages.Restart{Max: 2, Within: time.Nanosecond}, defaultPauses()},
				"pauses of its own":           {stages.Restart{Max: 4, First: time.Second, Pause: 3 * time.Second}, []time.Duration{0, 1e9, 2e9, 3e9}},
				"a first longer than longest": {stages.Restart{Max: 2, First: time.Minute, Pause: time.Second}, []time.Duration{0, 1e9}},
			} {
				t.Run(fmt.Sprintf("%s, %s, %s", way, name, opts), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var at []time.Duration
						begun := time.Now()
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return build(g, func() error {
								at = append(at, time.Since(begun))
								err := fmt.Errorf("death %d", len(at))
								if way == "panic" {
									panic(err)
								}
								return err
							}, c.restart)
						}), supervisor.Config{})
						shortened += checkPauses(t, at, c.pauses)
						if len(r.out) > 0 || r.stats.Delivered > 0 || time.Since(begun) != at[len(at)-1] {
							t.Errorf("%d items, ended %v after the last death", len(r.out), time.Since(begun)-at[len(at)-1])
						}
						checkRestartError(t, r.err, len(c.pauses))
						restarts := told[supervisor.WorkerRestarted](r.events)
						if len(restarts) != len(c.pauses) {
							t.Fatalf("%d restarts were told, want %d", len(restarts), len(c.pauses))
						}
						for i, e := range restarts {
							pause := at[i+1] - at[i]
							if name == "function" { // the item has a pause of its own before its third attempt
								pause = min(pause, e.Retry)
							}
							if e.Retry != pause || e.Retry < c.pauses[i]/2 || e.Stage != "f" || e.Lives != i+2 || e.Err == nil {
								t.Errorf("restart %d: told %+v, and it was %v", i, e, at[i+1]-at[i])
							}
						}
					})
				})
			}
		}
	}
	if shortened < 100 {
		t.Errorf("%d pauses are shortened: those that fail together come back together", shortened)
	}
}

func checkRestartError(t *testing.T, err error, restarts int) {
	t.Helper()
	run, ok := errors.AsType[*supervisor.RunError](err)
	if !ok || len(run.Causes) != 1 || !errors.Is(err, stages.ErrRestarts) {
		t.Errorf("got %v", err)
	}
	e, ok := errors.AsType[*stages.RestartError](err)
	if !ok || e.Stage != "f" || e.Restarts != restarts {
		t.Fatalf("got %+v, want %d restarts", e, restarts)
	}
	var want []int // the first and the last eight
	for i := 1; i <= restarts+1; i++ {
		if i == 1 || i > restarts+1-8 {
			want = append(want, i)
		}
	}
	var got []int
	for _, cause := range e.Causes {
		for i := range restarts + 1 {
			if text := fmt.Sprintf("death %d", i+1); placeless(cause.Error()) == text || placeless(cause.Error()) == "open: "+text || placeless(cause.Error()) == "panic: "+text {
				got = append(got, i+1)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("its causes are %v, want deaths %v", e.Causes, want)
	}
}

// As long as items complete in between, panics are the items' business: they are replaced at once, however many they are.
func TestF05DeathsBetweenItemsThatCompleteDoNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		every time.Duration
	}{
		"nine in more than a minute": {9, 7 * time.Second},
		"a hundred at once":          {100, 0},
		"a hundred in a minute":      {100, 600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					return stages.Map(stages.Source(g, "ints", ints(c.n)), "f", func(ctx context.Context, v int) (int, error) {
						if stages.Attempt(ctx) == 1 {
							time.Sleep(c.every)
							panic("once")
						}
						return v, nil
					})
				}), supervisor.Config{})
				if r.err != nil || r.stats.Restarts != int64(c.n) || r.stats.Elapsed != time.Duration(c.n)*c.every {
					t.Errorf("%v, %d restarts in %v", r.err, r.stats.Restarts, r.stats.Elapsed)
				}
				wantItems(t, r.out, numbers(c.n))
				for _, e := range told[supervisor.WorkerRestarted](r.events) {
					if e.Retry != 0 {
						t.Errorf("a pause of %v, although an item has completed", e.Retry)
					}
				}
			})
		})
	}
}

// Failed opens count although items complete in between, as long as they are of the last minute.
func TestF05FailedOpensCountForAMinute(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		fails bool
	}{
		"one every seven seconds": {7 * time.Second, false},
		"one every four seconds":  {4 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 40
				opened := 0
				begun := time.Now()
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					return stages.MapWith(stages.Source(g, "ints", ints(n)), "f", func(context.Context) (int, error) {
						if opened++; opened%2 == 0 { // the one behind a panic
							return 0, fmt.Errorf("opening %d", opened)
						}
						return 0, nil
					}, func(_ int, ctx context.Context, v int) (int, error) {
						if stages.Attempt(ctx) == 1 {
							time.Sleep(c.every)
							panic("once")
						}
						return v, nil
					})
				}), supervisor.Config{})
				if !c.fails {
					if r.err != nil {
						t.Fatal(r.err)
					}
					wantItems(t, r.out, numbers(n))
					for i, e := range told[supervisor.WorkerRestarted](r.events) {
						if most := []time.Duration{0, 100 * time.Millisecond}[i%2]; e.Retry > most || e.Retry < most/2 { // it begins anew with each item
							t.Errorf("restart %d comes after a pause of %v, want up to %v", i, e.Retry, most)
						}
					}
					return
				}
				e, ok := errors.AsType[*stages.RestartError](r.err)
				if d := time.Since(begun); !ok || e.Restarts != 10 || len(e.Causes) != 9 || d < 36*time.Second || d > time.Minute {
					t.Errorf("%v after %v", r.err, d)
				}
				wantItems(t, r.out, numbers(len(r.out)))
			})
		})
	}
}

// An open that is slow to fail is never eleven times within a minute, but it is in a row.
func TestF05ASlowOpenThatFailsIsCountedInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		begun := time.Now()
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(10)), "f", func(context.Context) (int, error) {
				opened++
				time.Sleep(10 * time.Second)
				return 0, fmt.Errorf("death %d", opened)
			}, func(_ int, _ context.Context, v int) (int, error) { return v, nil })
		}), supervisor.Config{})
		checkRestartError(t, r.err, 10)
		var pauses, least time.Duration
		for _, p := range defaultPauses() {
			pauses, least = pauses+p, least+p/2
		}
		if d := time.Since(begun) - 110*time.Second; opened != 11 || d < least || d > pauses {
			t.Errorf("%d openings, %v beside them, want %v to %v", opened, d, least, pauses)
		}
	})
}
