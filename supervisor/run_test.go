package supervisor_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// ints is a source of 0, 1, ... n-1 that can seek.
func ints(n int) stages.Origin[int] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < n; i++ {
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

func same(_ context.Context, v int) (int, error) { return v, nil }

// define is Define for tests that need no configuration.
func define[Out any](build func(g *stages.Graph) stages.Stream[Out]) stages.Pipeline[Out] {
	return stages.Define("test", func(g *stages.Graph, _ struct{}) stages.Stream[Out] { return build(g) }).With(struct{}{})
}

// deploy starts p, and sees to it that it is stopped and nothing of it is left.
func deploy[Out any](t testing.TB, p stages.Pipeline[Out], cfg supervisor.Config) *supervisor.Run[Out] {
	t.Helper()
	return deployOn(t, supervisor.New(cfg), p)
}

func deployOn[Out any](t testing.TB, sup *supervisor.Supervisor, p stages.Pipeline[Out]) *supervisor.Run[Out] {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), sup, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return run
}

// collect runs p to its end and checks that the counts add up.
func collect[Out any](t testing.TB, p stages.Pipeline[Out]) ([]Out, supervisor.Stats, error) {
	t.Helper()
	return collectOn(t, supervisor.New(supervisor.Config{}), p)
}

// collectOn is collect for many pipelines, which need not have a supervisor each.
func collectOn[Out any](t testing.TB, sup *supervisor.Supervisor, p stages.Pipeline[Out]) ([]Out, supervisor.Stats, error) {
	t.Helper()
	r := playOn(t, sup, p)
	return r.out, r.stats, r.err
}

func TestItemsComeOutOnceAndInOrder(t *testing.T) {
	const n = 100_000
	for name, c := range map[string]struct {
		workers int
		order   stages.Order
	}{
		"one worker":              {1, stages.Ordered},
		"four workers, ordered":   {4, stages.Ordered},
		"four workers, unordered": {4, stages.Unordered},
	} {
		t.Run(name, func(t *testing.T) {
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				s := stages.Source(g, "ints", ints(n))
				for _, name := range []string{"a", "b", "c"} {
					s = stages.Map(s, name, same, stages.Mailbox(c.workers), c.order)
				}
				return stages.Unbatch(stages.Batch(s, "batch", 32), "unbatch")
			}))
			if err != nil {
				t.Fatal(err)
			}
			if c.order == stages.Unordered {
				slices.Sort(got)
			}
			checkCount(t, got, n)
			if s.Delivered != n || s.Outputs != n || s.Restarts != 0 {
				t.Errorf("got %+v", s)
			}
			for _, st := range s.Stages {
				if st.Stage != "batch" && st.Stage != "unbatch" && (st.In != n || st.Out != n) {
					t.Errorf("stage %s: %d in, %d out, want %d", st.Stage, st.In, st.Out, n)
				}
			}
		})
	}
}

// checkCount wants 0, 1, ... n-1.
func checkCount(t testing.TB, got []int, n int) {
	t.Helper()
	for i, v := range got {
		if v != i {
			t.Fatalf("item %d is %d", i, v)
		}
	}
	if len(got) != n {
		t.Fatalf("%d items, want %d", len(got), n)
	}
}

func TestEmptySourceEndsCleanly(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		return stages.Batch(stages.Map(stages.Source(g, "none", stages.FromSlice([]int(nil))), "same", same), "batch", 4)
	}))
	if err != nil || len(got) != 0 || s.Yielded != 0 {
		t.Errorf("got %v, %v, %+v", got, err, s)
	}
}

func TestASourceAloneIsAPipeline(t *testing.T) {
	got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(5000)) }))
	if err != nil {
		t.Fatal(err)
	}
	checkCount(t, got, 5000)
}

func TestNextTakesOneItemAndAnEndedContextNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "slow", stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for i := range 3 {
						time.Sleep(time.Second)
						if !yield(i, nil) {
							return
						}
					}
				}
			})), "same", same)
		}), supervisor.Config{})
		var got []int
		timeouts := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			v, err := run.Next(ctx)
			cancel()
			if err == io.EOF {
				break
			}
			if errors.Is(err, context.DeadlineExceeded) {
				timeouts++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		checkCount(t, got, 3)
		if timeouts != 6 { // 0.4 and 0.8 s behind the start, and behind each item but the last
			t.Errorf("%d calls timed out, want 6", timeouts)
		}
		if _, err := run.Next(t.Context()); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
		if err := run.Err(); err != nil {
			t.Error(err)
		}
	})
}

func TestNextThenItemsGoesOnBehindIt(t *testing.T) {
	run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(1000)) }), supervisor.Config{})
	var got []int
	for range 3 {
		v, err := run.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	checkCount(t, got, 1000)
	if s := run.Stats(); s.Delivered != 1000 {
		t.Errorf("delivered %d", s.Delivered)
	}
}

func TestSeveralPullersShareTheItems(t *testing.T) {
	run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(20_000)) }), supervisor.Config{})
	results := make(chan []int)
	pull := func() {
		var mine []int
		for {
			v, err := run.Next(context.Background())
			if err != nil {
				results <- mine
				return
			}
			mine = append(mine, v)
		}
	}
	loop := func() {
		var mine []int
		for v, err := range run.Items(context.Background()) {
			if err == nil {
				mine = append(mine, v)
			}
		}
		results <- mine
	}
	go pull()
	go pull()
	go loop()
	go loop()
	var got []int
	for range 4 {
		got = append(got, <-results...)
	}
	slices.Sort(got)
	checkCount(t, got, 20_000)
}

func TestItemsDeploysAndStops(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	p := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Source(g, "ints", ints(10), stages.Forever)
	})
	n := 0
	for _, err := range supervisor.Items(t.Context(), sup, p, supervisor.InProcess{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1234 {
			break
		}
	}
	if runs := sup.Runs(); len(runs) != 0 {
		t.Errorf("still running: %v", runs)
	}
	for _, err := range supervisor.Items(t.Context(), sup, stages.Pipeline[int]{}, nil) {
		if err == nil {
			t.Error("the zero Pipeline was deployed")
		}
	}
}

func TestRunsNamesWhatRuns(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	p := define(func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(10), stages.Forever) })
	run, err := supervisor.Deploy(t.Context(), sup, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := sup.With(supervisor.Config{Job: "x"}).Runs(); len(r) != 1 || r[0].ID != run.ID() || r[0].Pipeline != "test" {
		t.Errorf("got %+v", r)
	}
	run.Stop()
	if r := sup.Runs(); len(r) != 0 {
		t.Errorf("got %+v", r)
	}
}
