package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// What must hold many items before it can give one has room for them, however small the rooms around it are: none of these
// stands still.
func TestF33WhatMustHoldManyItemsHasRoomForThem(t *testing.T) {
	none := stages.Buffer(0)
	two := func(v int) func(context.Context, []int) ([]int, error) {
		return func(_ context.Context, b []int) ([]int, error) {
			to := make([]int, len(b))
			for i := range b {
				to[i] = b[i] / v % 2
			}
			return to, nil
		}
	}
	for name, build := range map[string]func(in stages.Stream[int]) stages.Stream[int]{
		"a large batch": func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Unbatch(stages.Batch(in, "batch", 1000, none), "undone")
		},
		"a batch larger than the source": func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Unbatch(stages.Batch(in, "batch", 1<<20, none), "undone")
		},
		"batches of batches of batches": func(in stages.Stream[int]) stages.Stream[int] {
			a := stages.Batch(in, "a", 30, none)
			b := stages.Batch(stages.Batch(a, "b", 20, none), "c", 10, none)
			return stages.Unbatch(stages.Unbatch(stages.Unbatch(b, "d"), "e"), "f")
		},
		"an aggregate that would hold more than it may": func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Unbatch(stages.Aggregate(in, "f", func(context.Context) (*pile, error) {
				return &pile{size: 1 << 30, at: func(context.Context, int) error { return nil }}, nil
			}, none, stages.MaxHeld(3)), "undone")
		},
		"more groups than there may be": func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Unbatch(stages.AggregateByKey(in, "f", func(v int) int { return v / 2 % 100 }, func(context.Context, int) (*pile, error) {
				return &pile{size: 3, at: func(context.Context, int) error { return nil }}, nil
			}, none, stages.Groups(2), stages.MaxHeld(5)), "undone")
		},
		"a large batch that is split and joined": func(in stages.Stream[int]) stages.Stream[int] {
			r := stages.RouteBatch(stages.Batch(in, "batch", 700, none), "deal", 2, two(3), none)
			again := stages.RouteBatch(r[0], "deal again", 2, two(7), none)
			return stages.Unbatch(stages.Rejoin("whole", stages.Rejoin("half", again...), r[1]), "undone")
		},
		"an order of which all items go one way first": func(in stages.Stream[int]) stages.Stream[int] {
			r := stages.Route(in, "route", 3, func(_ context.Context, v int) (int, error) { return v * 3 / 5000, nil }, none)
			return stages.Merge("join", stages.InputOrder{}, stages.Map(r[2], "c", same, none), stages.Map(r[0], "a", same, none), r[1])
		},
		"an order behind batches of different sizes": func(in stages.Stream[int]) stages.Stream[int] {
			r := stages.Route(in, "route", 2, func(_ context.Context, v int) (int, error) { return v / 1250 % 2, nil }, none)
			a := stages.Batch(r[0], "a", 625, none)
			b := stages.Batch(r[1], "b", 1250, none)
			return stages.Unbatch(stages.Merge("join", stages.InputOrder{}, a, b), "undone")
		},
		"workers that wait for the first": func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "f", func(ctx context.Context, v int) (int, error) {
				if v%100 == 0 {
					return v, wait(ctx, time.Minute, false)
				}
				return v, nil
			}, stages.Mailbox(64), stages.Ordered, none)
		},
		"many outputs of one input": func(in stages.Stream[int]) stages.Stream[int] {
			all := stages.Batch(in, "batch", 5000, none)
			return stages.FlatMap(all, "f", func(_ context.Context, b []int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for _, v := range b {
						if !yield(v, nil) {
							return
						}
					}
				}
			}, stages.Streaming, none)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which a standstill is a deadlock, and fails
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					return build(stages.Source(g, "ints", ints(5000), none))
				}), supervisor.Config{})
				if r.err != nil {
					t.Fatal(r.err)
				}
				if strings.Contains(name, "groups") {
					slices.Sort(r.out)
				}
				wantItems(t, r.out, numbers(5000))
			})
		})
	}
}

// A merge that waits for one of two inputs that depend on each other is refused. That this is right is shown by a graph in
// which the refusal has been gone around: it does stand still.
func TestF33AMergeThatCouldWaitForItselfIsRefused(t *testing.T) {
	build := func(mix stages.Mix) stages.Pipeline[int] {
		return define(func(g *stages.Graph) stages.Stream[int] {
			// What a RoundRobin waits for comes behind what is full.
			r := stages.Route(stages.Source(g, "ints", ints(5000)), "route", 2, func(_ context.Context, v int) (int, error) { return v / 4000, nil })
			return stages.Merge("join", mix, stages.Map(r[0], "a", same, stages.Buffer(0)), stages.Map(r[1], "b", same, stages.Buffer(0)))
		})
	}
	weights := stages.Weighted{Weights: []float64{1, 1}}
	for _, mix := range []stages.Mix{stages.RoundRobin{}, weights} {
		e, ok := errors.AsType[*stages.DefinitionError](build(mix).Err())
		if !ok || e.Stage != "join" || !strings.Contains(e.Reason, `two of its inputs come from "route"`) || e.Line == 0 {
			t.Errorf("%T: %v", mix, e)
		}
	}
	for how, stands := range map[plan.How]bool{plan.Arrival: false, plan.RoundRobin: true, plan.Weighted: true} {
		synctest.Test(t, func(t *testing.T) {
			p := build(stages.Arrival{})
			for _, s := range p.Plan().Stages {
				if s.Mix != nil {
					s.Mix.How, s.Mix.Weights = how, weights.Weights
				}
			}
			run := deploy(t, p, supervisor.Config{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			n := 0
			var err error
			for ; err == nil; n++ {
				_, err = run.Next(ctx)
			}
			if stood := err == context.DeadlineExceeded; stood != stands {
				t.Errorf("merged by %v, %v behind %d items", how, err, n-1)
			}
		})
	}
}

// All that is wrong with a definition is said at once, with its stage and line, and by Deploy, which then starts nothing.
func TestF44ADefinitionSaysAllThatIsWrongAtOnce(t *testing.T) {
	pass := func(_ context.Context, v int) (int, error) { return v, nil }
	var nothing stages.Origin[int]
	p := stages.Define("test", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
		in := stages.Source(g, "no origin", nothing, stages.Epochs(0))
		in = stages.Map(in, "no function", (func(context.Context, int) (int, error))(nil))
		in = stages.Map(in, "", pass)
		in = stages.Map(in, "twice", pass)
		in = stages.Map(in, "twice", pass)
		in = stages.Map(in, "mailbox 0", pass, stages.Mailbox(0))
		in = stages.Map(in, "mailbox negative", pass, stages.Mailbox(-3), stages.Buffer(-1))
		in = stages.Map(in, "budgets", pass, stages.OnError(stages.Skip(-1)))
		in = stages.Map(in, "fraction", pass, stages.OnError(stages.Skip(stages.Fraction(math.NaN()))))
		in = stages.Map(in, "no sink", pass, stages.OnError(stages.DeadLetter(nil, 3)))
		in = stages.Map(in, "timeout", pass, stages.Timeout(30))
		in = stages.Map(in, "retry", pass, stages.Retry{Attempts: -1, First: -1, Max: -1})
		in = stages.Map(in, "restart", pass, stages.Restart{Within: -1, Together: []string{"nobody"}})
		in = stages.Unbatch(stages.Batch(in, "batch 0", 0, stages.MaxWait(7), stages.MaxHeld(0)), "undone")
		r := stages.Route(in, "branches", 2, func(context.Context, int) (int, error) { return 0, nil })
		stages.Map(stages.Source(g, "ints", ints(1)), "goes nowhere", pass)
		return stages.Merge("waits for itself", stages.RoundRobin{}, r...)
	}).With(struct{}{})
	faults := p.Err().(interface{ Unwrap() []error }).Unwrap()
	by := map[string]int{}
	for _, f := range faults {
		e, ok := f.(*stages.DefinitionError)
		if !ok || e.Pipeline != "test" || e.Line == 0 || !strings.HasSuffix(e.File, "fault_rows_graph_test.go") || e.Reason == "" {
			t.Errorf("got %v", f)
			continue
		}
		by[e.Stage]++
	}
	want := map[string]int{
		"no origin": 2, "no function": 1, "": 1, "twice": 1, "mailbox 0": 1, "mailbox negative": 2, "budgets": 1, "fraction": 1, "no sink": 1,
		"timeout": 1, "retry": 3, "restart": 2, "batch 0": 3, "goes nowhere": 1, "waits for itself": 1,
	}
	if fmt.Sprint(by) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v\n%v", by, want, p.Err())
	}
	told := 0
	sup := supervisor.New(supervisor.Config{Grace: -1, OnEvent: func(supervisor.Event) { told++ }})
	_, err := supervisor.Deploy(t.Context(), sup, p, nil)
	for _, f := range faults {
		if !errors.Is(err, f) {
			t.Errorf("Deploy does not say %v", f)
		}
	}
	if !strings.Contains(fmt.Sprint(err), "Config.Grace") || told > 0 || len(sup.Runs()) > 0 {
		t.Errorf("%v, %d events", err, told)
	}
}

// A stream that does not exist yet cannot be written down; one that is fed into itself by a trick is none.
func TestF44ACycleCannotBeWritten(t *testing.T) {
	var later stages.Stream[int]
	p := define(func(g *stages.Graph) stages.Stream[int] {
		both := stages.Merge("both", stages.Arrival{}, stages.Source(g, "ints", ints(1)), later)
		later = stages.Map(both, "later", same)
		return later
	})
	if e, ok := errors.AsType[*stages.DefinitionError](p.Err()); !ok || e.Stage != "both" {
		t.Errorf("got %v", p.Err())
	}
	again := define(func(g *stages.Graph) stages.Stream[int] { // the stream of an earlier build
		return stages.Merge("both", stages.Arrival{}, stages.Source(g, "ints", ints(1)), later)
	})
	if again.Err() == nil {
		t.Error("a stream of another graph has been taken")
	}
}

// Nothing, or one item, comes through every kind of stage, several epochs of it included.
func TestF44AnEmptySourceAndOneItemEndCleanly(t *testing.T) {
	for name, k := range kinds() {
		for n := range 3 {
			for _, epochs := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %d items, %d epochs", name, n, epochs), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h := &harm{workers: 2, policy: stages.OnError(stages.Fail()), open: func() {}, at: func(context.Context, int) error { return nil }}
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return k.build(stages.Source(g, "ints", ints(n), stages.Epochs(epochs)), h)
						}), supervisor.Config{})
						var want []int
						for range epochs {
							want = append(want, repeated(numbers(n), k.times)...)
						}
						wantItems(t, r.out, want)
						if ends := told[supervisor.EpochEnded](r.events); r.err != nil || len(ends) != epochs || r.stats.Yielded != int64(n*epochs) {
							t.Errorf("%v, %d epochs, %+v", r.err, len(ends), r.stats)
						}
					})
				})
			}
		}
	}
}

// Ten thousand stages in a row are as many actors and workers: it is built, runs, and ends. The race detector takes no more
// than 8128 goroutines.
func TestF44TenThousandStagesRun(t *testing.T) {
	many := 10_000
	if raceDetected() {
		many = 3000
	}
	r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
		s := stages.Source(g, "ints", ints(10), stages.Buffer(0))
		for i := range many {
			s = stages.Map(s, fmt.Sprint("stage ", i), same, stages.Buffer(0))
		}
		return s
	}), supervisor.Config{})
	if r.err != nil || len(r.stats.Stages) != many+1 {
		t.Fatalf("%v, %d stages", r.err, len(r.stats.Stages))
	}
	wantItems(t, r.out, numbers(10))
}

// raceDetected reports whether this program was built with the race detector.
func raceDetected() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
