package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// stages returns a hook that notes its stages under name. fail is asked what a call returns: the first word of the note,
// the second the stage; nil fails nothing.
func (d *diary) stages(name string, fail func(what, stage string, err error) error) stages.Hook {
	if fail == nil {
		fail = func(_, _ string, err error) error { return err }
	}
	return stages.Hook{
		StageEnter: func(_ context.Context, s stages.StageInfo) error {
			d.note("%s enters %s", name, s.Stage)
			return fail("enter", s.Stage, nil)
		},
		StageExit: func(_ context.Context, s stages.StageInfo, err error) error {
			d.note("%s exits %s: %v", name, s.Stage, err)
			return fail("exit", s.Stage, err)
		},
	}
}

// hookedBy is a pipeline of n numbers through "f" and "batch", with hooks.
func hookedBy(n int, f func(context.Context, int) (int, error), hooks ...stages.Hook) stages.Pipeline[[]int] {
	return define(func(g *stages.Graph) stages.Stream[[]int] {
		for _, h := range hooks {
			g.Hook(h)
		}
		return stages.Batch(stages.Map(stages.Source(g, "ints", ints(n)), "f", f), "batch", 2)
	})
}

// ended runs p in a bubble, so that everything of it has ended, and returns its items and its error.
func ended(t *testing.T, p stages.Pipeline[[]int], check func(items [][]int, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		got, _, err := collect(t, p)
		check(got, err)
	})
}

func TestStageHooksAreCalledOnceAroundEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		w := &bystander{d: &d}
		p := define(func(g *stages.Graph) stages.Stream[int] {
			g.Hook(d.stages("outer", nil))
			in := stages.Source(g, "pulled", stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					d.note("pulled")
					yield(1, nil)
					yield(2, nil)
				}
			}))
			out := stages.MapWith(in, "worked", w.open, (*bystander).work)
			out = stages.Filter(out, "filtered", func(context.Context, int) (bool, error) { return false, nil })
			out = stages.Map(out, "idle", same)
			g.Hook(d.stages("inner", nil))
			g.Hook(onExit(func(_ stages.Item, err error) error { return err })) // a worker with hooks is closed, too
			return out
		})
		if got, _, err := collect(t, p); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		d.check(t,
			"outer enters pulled", "inner enters pulled", "outer enters worked", "inner enters worked",
			"outer enters filtered", "inner enters filtered", "outer enters idle", "inner enters idle",
			"pulled", "opened", "worked", "worked", "closed",
			"inner exits idle: <nil>", "outer exits idle: <nil>", "inner exits filtered: <nil>", "outer exits filtered: <nil>",
			"inner exits worked: <nil>", "outer exits worked: <nil>", "inner exits pulled: <nil>", "outer exits pulled: <nil>")
	})
}

// A bystander is a worker's state that notes its life.
type bystander struct{ d *diary }

func (w *bystander) open(context.Context) (*bystander, error) {
	w.d.note("opened")
	return w, nil
}

func (w *bystander) work(_ context.Context, v int) (int, error) {
	w.d.note("worked")
	return v, nil
}

func (w *bystander) Close() error {
	w.d.note("closed")
	return nil
}

func TestStageHooksAreToldTheirStage(t *testing.T) {
	type key struct{}
	var at []stages.StageInfo
	look := func(ctx context.Context, s stages.StageInfo) {
		if stages.Where(ctx) != s || stages.ItemID(ctx) != (stages.ID{}) || stages.Attempt(ctx) != 0 || ctx.Value(key{}) != "mine" {
			t.Errorf("the context of %+v", s)
		}
		at = append(at, s)
	}
	p := hookedBy(3, same, stages.Hook{
		StageEnter: func(ctx context.Context, s stages.StageInfo) error { look(ctx, s); return ctx.Err() },
		StageExit:  func(ctx context.Context, s stages.StageInfo, err error) error { look(ctx, s); return ctx.Err() },
	})
	for _, err := range supervisor.Items(context.WithValue(t.Context(), key{}, "mine"), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			t.Error(err)
		}
	}
	kinds := []string{"source", "map", "batch", "batch", "map", "source"}
	for i, name := range []string{"ints", "f", "batch", "batch", "f", "ints"} {
		if i >= len(at) || at[i] != (stages.StageInfo{Pipeline: "test", Stage: name, Kind: kinds[i]}) {
			t.Fatalf("got %+v", at)
		}
	}
}

// failures are the ways in which a hook fails, and what the error says.
func failures() map[string]func() error {
	return map[string]func() error{
		"bad":                        func() error { return errBad },
		"panic: bad":                 func() error { panic("bad") },
		"runtime.Goexit was called":  func() error { runtime.Goexit(); return nil },
		"whose methods panic: inner": func() error { return hostile{} },
	}
}

type hostile struct{}

func (hostile) Error() string { panic("inner") }

func TestAStageThatIsNotEnteredFailsTheRunBeforeAnyItem(t *testing.T) {
	for says, failure := range failures() {
		t.Run(says, func(t *testing.T) {
			var d diary
			p := hookedBy(3, func(context.Context, int) (int, error) {
				d.note("worked")
				return 0, nil
			}, d.stages("outer", nil), d.stages("middle", func(what, stage string, err error) error {
				if what == "enter" && stage == "f" {
					return failure()
				}
				return err
			}), d.stages("inner", nil))
			var text string
			ended(t, p, func(items [][]int, err error) {
				if _, ok := errors.AsType[*supervisor.RunError](err); !ok || len(items) != 0 {
					t.Fatalf("%v, %v", items, err)
				}
				if text = err.(*supervisor.RunError).Causes[0].Error(); !strings.HasPrefix(text, `stage "f": StageEnter: `) || !strings.Contains(text, says) {
					t.Error(text)
				}
				if says == "bad" != errors.Is(err, errBad) {
					t.Error(err)
				}
				if p, ok := errors.AsType[*stages.PanicError](err); ok && (p.Stage != "f" || !strings.Contains(p.Stack, "stage_hook_test.go")) {
					t.Errorf("got %+v", p)
				}
			})
			d.check(t, "outer enters ints", "middle enters ints", "inner enters ints", "outer enters f", "middle enters f",
				"outer exits f: "+text,
				"inner exits ints: <nil>", "middle exits ints: <nil>", "outer exits ints: <nil>")
		})
	}
}

func TestAStageExitThatFailsComesBehindTheItems(t *testing.T) {
	for says, failure := range failures() {
		t.Run(says, func(t *testing.T) {
			var d diary
			p := hookedBy(5, same, d.stages("outer", nil), d.stages("inner", func(what, stage string, err error) error {
				if what == "exit" && stage == "f" {
					return failure()
				}
				return err
			}))
			text := ""
			ended(t, p, func(items [][]int, err error) {
				run, ok := errors.AsType[*supervisor.RunError](err)
				if !ok || len(items) != 3 || len(run.Causes) != 1 {
					t.Fatalf("%v, %v", items, err)
				}
				if text = run.Causes[0].Error(); !strings.HasPrefix(text, `stage "f": StageExit: `) || !strings.Contains(text, says) {
					t.Error(text)
				}
			})
			d.check(t, "outer enters ints", "inner enters ints", "outer enters f", "inner enters f", "outer enters batch", "inner enters batch",
				"inner exits batch: <nil>", "outer exits batch: <nil>", "inner exits f: <nil>", "outer exits f: "+text,
				"inner exits ints: <nil>", "outer exits ints: <nil>")
		})
	}
}

// What a StageExit returns goes on outwards. Another error than the stage's fails the run too; none mends nothing.
func TestStageExitIsToldTheStagesError(t *testing.T) {
	other := errors.New("other")
	const item = `stage "f": item ints/0/3 failed: bad`
	for name, c := range map[string]struct {
		inner   func(err error) error
		outside string
		causes  int
	}{
		"it returns it":   {func(err error) error { return err }, item, 1},
		"it returns none": {func(error) error { return nil }, "<nil>", 1},
		"it returns more": {func(err error) error { return fmt.Errorf("%w: %w", other, err) }, `stage "f": StageExit: other: ` + item, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var d diary
			p := hookedBy(10, func(_ context.Context, v int) (int, error) {
				if v == 3 {
					return 0, errBad
				}
				return v, nil
			}, d.stages("outer", nil), d.stages("inner", func(what, stage string, err error) error {
				if what == "exit" && stage == "f" {
					return c.inner(err)
				}
				return err
			}))
			ended(t, p, func(items [][]int, err error) {
				run, ok := errors.AsType[*supervisor.RunError](err)
				if !ok || len(items) != 1 || len(run.Causes) != c.causes || !errors.Is(err, errBad) || errors.Is(err, other) != (c.causes == 2) {
					t.Errorf("%v, %v", items, err)
				}
			})
			d.check(t, "outer enters ints", "inner enters ints", "outer enters f", "inner enters f", "outer enters batch", "inner enters batch",
				"inner exits batch: <nil>", "outer exits batch: <nil>", "inner exits f: "+item, "outer exits f: "+c.outside,
				"inner exits ints: <nil>", "outer exits ints: <nil>")
		})
	}
}

// A source, a budget that is spent and a flush are failures of a stage, too.
func TestStageExitIsToldEveryKindOfFailure(t *testing.T) {
	for name, build := range map[string]func(g *stages.Graph) stages.Stream[int]{
		"source": func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "bad", stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) { yield(0, errBad) }
			}))
		},
		"iterator": func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "bad", stages.FromSeq(func(context.Context) iter.Seq2[int, error] { panic(errBad) }))
		},
		"budget": func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(10)), "bad", func(context.Context, int) (int, error) { return 0, errBad },
				stages.OnError(stages.Skip(stages.Fraction(0.5))))
		},
		"open": func(g *stages.Graph) stages.Stream[int] {
			return stages.MapWith(stages.Source(g, "ints", ints(10)), "bad", func(context.Context) (int, error) { return 0, stages.Fatal(errBad) },
				func(_ int, _ context.Context, v int) (int, error) { return v, nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := map[string]error{}
				_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
					g.Hook(stages.Hook{StageExit: func(_ context.Context, s stages.StageInfo, err error) error {
						told[s.Stage] = err
						return err
					}})
					return stages.Map(build(g), "good", same)
				}))
				run, ok := errors.AsType[*supervisor.RunError](err)
				if !ok || len(run.Causes) != 1 || told["bad"] != run.Causes[0] || told["good"] != nil || told["ints"] != nil {
					t.Errorf("%v, told %v", err, told)
				}
			})
		})
	}
}

func TestStageHooksOfARunThatIsDrainedAndEpochByEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			g.Hook(d.stages("it", func(what, _ string, _ error) error {
				if what == "exit" {
					return errBad
				}
				return nil
			}))
			return stages.Source(g, "ints", ints(3), stages.Forever)
		}), supervisor.Config{})
		var last error
		for epoch, items := range run.Epochs(t.Context()) {
			for v, err := range items {
				if last = err; err == nil && epoch == 2 && v == 0 {
					run.Drain()
				}
			}
		}
		if _, ok := errors.AsType[*supervisor.RunError](last); !ok || !errors.Is(last, errBad) || run.Err() != last {
			t.Errorf("%v, %v", last, run.Err())
		}
		d.check(t, "it enters ints", "it exits ints: <nil>")
		if err := run.Wait(t.Context()); err != last {
			t.Error(err)
		}
		events := 0
		for e := range run.Events(t.Context()) {
			if h, ok := e.(supervisor.HookFailed); ok && h.Stage == "ints" && errors.Is(h.Err, errBad) {
				events++
			}
		}
		if events != 1 {
			t.Errorf("%d events", events)
		}
	})
}

// A run nobody reads still leaves its stages when it is stopped.
func TestAGraphOfASourceAloneThatIsNeverRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			g.Hook(d.stages("it", nil))
			return stages.Source(g, "ints", ints(1_000_000))
		}), supervisor.Config{})
		time.Sleep(time.Hour)
		d.check(t, "it enters ints")
		run.Stop()
		d.check(t, "it enters ints", "it exits ints: <nil>")
	})
}
