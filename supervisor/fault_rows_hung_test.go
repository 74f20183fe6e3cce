package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// hangs is what a function does that looks at nothing any more: the stacks of those that hang are known by it.
func hangs(release chan bool) { <-release }

// timedKinds are those that take a Timeout.
func timedKinds() map[string]kind {
	all := kinds()
	for _, name := range []string{"streaming flatmap", "serial", "aggregate", "aggregate by key", "batch by size"} {
		delete(all, name)
	}
	return all
}

// A function that does not return when its Timeout has been over for the grace fails its item, which is named with the
// function's stack. By policy the run fails, or goes on without it, and drops what it still comes with.
func TestF08AFunctionThatHangsFailsItsItem(t *testing.T) {
	const n, at = 12, 5
	for name, k := range timedKinds() {
		for policy, p := range map[string]stages.AnyOption{"fail": stages.OnError(stages.Fail()), "skip": stages.OnError(stages.Skip(1))} {
			for _, workers := range []int{1, 3} {
				for _, late := range []bool{false, true} { // the function returns while the run goes on
					t.Run(fmt.Sprintf("%s, %s, %d workers, late %v", name, policy, workers, late), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							release := make(chan bool)
							var open atomic.Bool
							h := &harm{workers: workers, policy: p, open: func() {}, more: []stages.Option{stages.Timeout(2 * time.Second)},
								at: func(ctx context.Context, v int) error {
									if v == at {
										open.Store(true)
										hangs(release)
										open.Store(false)
									}
									return wait(ctx, time.Second, false)
								}}
							run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
								return k.build(stages.Source(g, "ints", ints(n)), h)
							}), supervisor.Config{Grace: 3 * time.Second})
							if late { // at most 5 items of a second each before it, and the 5 seconds after which it is given up
								time.AfterFunc(11500*time.Millisecond, func() { close(release) })
							}
							var r played[int]
							for v, err := range run.Items(t.Context()) {
								if r.err = err; err == nil {
									r.out = append(r.out, v)
								}
							}
							r.stats = run.Stats()
							checkEnd(t, r.stats, r.err)
							checkHung(t, r, name, k, policy, at, n)
							if r.stats.Elapsed < 5*time.Second || r.stats.Elapsed > 30*time.Second {
								t.Errorf("took %v", r.stats.Elapsed)
							}
							if !late {
								if s := r.stats.Stages; !open.Load() || sum64(s, func(s supervisor.StageStats) int64 { return s.Hung }) != 1 {
									t.Errorf("the one that hangs is not counted: %+v", s)
								}
								close(release)
							}
							time.Sleep(time.Minute)
							if s := run.Stats().Stages; open.Load() || sum64(s, func(s supervisor.StageStats) int64 { return s.Hung }) != 0 {
								t.Errorf("it has returned, and is counted: %+v", s)
							}
							if err := run.Stop(); err != nil {
								t.Error(err)
							}
							run.Wait(t.Context())
							hung := 0
							for e := range run.Events(t.Context()) {
								if e, ok := e.(supervisor.StageHung); ok {
									hung++
									if e.Stage != "f" || e.Err.Item.Index != at {
										t.Errorf("told %+v", e)
									}
								}
							}
							if hung != 1 {
								t.Errorf("it was told %d times", hung)
							}
						})
					})
				}
			}
		}
	}
}

func sum64(all []supervisor.StageStats, of func(supervisor.StageStats) int64) (sum int64) {
	for _, s := range all {
		sum += of(s)
	}
	return sum
}

func checkHung(t *testing.T, r played[int], name string, k kind, policy string, at, n int) {
	t.Helper()
	if r.stats.Failed != 1 || len(r.stats.Failures) != 1 {
		t.Fatalf("%d failed: %v", r.stats.Failed, r.stats.Failures)
	}
	item := r.stats.Failures[0]
	hung, ok := errors.AsType[*stages.HungError](item)
	if !ok || !errors.Is(item, stages.ErrHung) || hung.Stage != "f" || hung.Item != item.Item || item.Item.Index != int64(at) || !strings.Contains(hung.Stack, "supervisor_test.hangs") {
		t.Errorf("got %+v", item.Err)
	}
	if policy == "fail" {
		wantError(t, r.err, "f", at, 1)
		if name != "sink" {
			wantItems(t, r.out, repeated(numbers(at), k.times))
		}
		return
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	want := without(n, at)
	if name == "sink" {
		want = numbers(n)
	}
	wantItems(t, r.out, repeated(want, k.times))
}

// As many functions that hang as there are workers, and two where there is one, are the end: what is wrong is not the items.
func TestF08FunctionsThatAllHangFailTheRun(t *testing.T) {
	for _, c := range []struct {
		workers, most int
		order         stages.Order
	}{{1, 2, stages.Ordered}, {2, 2, stages.Ordered}, {2, 2, stages.Unordered}, {4, 4, stages.Ordered}, {4, 4, stages.Unordered}} {
		workers, most := c.workers, c.most
		synctest.Test(t, func(t *testing.T) {
			release := make(chan bool)
			begun := time.Now()
			run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(100)), "f", func(_ context.Context, v int) (int, error) {
					hangs(release)
					return v, nil
				}, stages.Mailbox(workers), c.order, stages.Timeout(time.Second), stages.OnError(stages.Skip(100)))
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			var last error
			for _, err := range run.Items(t.Context()) {
				last = err
			}
			ended := time.Since(begun)
			rounds := time.Duration((most + workers - 1) / workers)
			if !errors.Is(last, stages.ErrHung) || ended != rounds*6*time.Second {
				t.Errorf("%d workers: %v after %v", workers, last, ended)
			}
			if s := run.Stats(); s.Stages[1].Hung != int64(most) || s.Failed != int64(most) {
				t.Errorf("%d workers: %d hang, %d failed, want %d", workers, s.Stages[1].Hung, s.Failed, most)
			}
			if err := run.Stop(); !errors.Is(err, stages.ErrHung) {
				t.Errorf("Stop says nothing of them: %v", err)
			}
			close(release)
			synctest.Wait()
			run.Wait(t.Context())
			if err := run.Stop(); err != nil {
				t.Errorf("stopped again: %v", err)
			}
		})
	}
}

// A function that is deaf to its Timeout and late, but within the grace, has succeeded, whatever it is compared with and
// whenever somebody looks.
func TestF08AFunctionThatIsLateIsNotGivenUp(t *testing.T) {
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			const n = 40
			r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(ctx context.Context, v int) (int, error) {
					return v, wait(ctx, 3500*time.Millisecond+time.Duration(v%3)*500*time.Millisecond, true)
				}, stages.Mailbox(workers), stages.Ordered, stages.Timeout(2*time.Second))
			}), supervisor.Config{Grace: 3 * time.Second})
			if r.err != nil || r.stats.Failed != 0 || r.stats.Restarts != 0 || len(told[supervisor.StageHung](r.events)) > 0 {
				t.Fatalf("%v, %+v", r.err, r.stats)
			}
			wantItems(t, r.out, numbers(n))
		})
	}
}

// What is waited for when a run is stopped: a function that returns within the grace is waited for, one that does not is
// named, and neither holds up the loop.
func TestF08StopWaitsForTheGraceAndNoLonger(t *testing.T) {
	for _, c := range []struct{ grace, takes, want time.Duration }{
		{0, 4 * time.Second, 4 * time.Second},
		{0, time.Hour, 5 * time.Second},
		{20 * time.Second, time.Hour, 20 * time.Second},
		{20 * time.Second, 19 * time.Second, 19 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{Grace: c.grace}), define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(9)), "f", func(context.Context, int) (int, error) {
					release := make(chan bool)
					time.AfterFunc(c.takes, func() { close(release) })
					hangs(release)
					return 0, nil
				})
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			begun := time.Now()
			err = run.Stop()
			if d := time.Since(begun); d != c.want {
				t.Errorf("%+v: Stop took %v", c, d)
			}
			hung, ok := errors.AsType[*stages.HungError](err)
			if ok != (c.takes > c.want) || ok && (hung.Stage != "f" || !strings.Contains(hung.Stack, "supervisor_test.hangs")) {
				t.Errorf("%+v: %v", c, err)
			}
			time.Sleep(2 * time.Hour)
			if run.Err() != supervisor.ErrStopped {
				t.Error(run.Err())
			}
		})
	}
}
