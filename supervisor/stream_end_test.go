package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// How streams in a child end, other than by themselves.

// unending is a source without an end, a map, and batches if there is a size.
var unending = stages.Define("unending", func(g *stages.Graph, size int) stages.Stream[[]int] {
	s := stages.Map(stages.Source(g, "source", ints(1<<40)), "map", same, stages.Mailbox(3), stages.Ordered)
	if size > 0 {
		return stages.Batch(s, "batch", size)
	}
	return stages.Map(s, "single", func(_ context.Context, v int) ([]int, error) { return []int{v}, nil })
})

// often is a child that may die as often as it is killed.
func often() *supervisor.Supervisor {
	return children.With(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: time.Microsecond, Pause: time.Microsecond}})
}

func killChildren(t *testing.T) {
	for _, pid := range childrenOf(t) {
		killProcess(pid)
	}
}

func startUnending(t *testing.T, size int) *supervisor.Run[[]int] {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), often(), unending.With(size), supervisor.Subprocess{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.Stop(); err != nil {
			t.Error(err)
		}
		if left := childrenOf(t); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return run
}

func TestWhatAChildHasYieldedComesOutWhenItIsDrained(t *testing.T) {
	for name, kill := range map[string]func(when string, n int) bool{
		"and lives":           func(string, int) bool { return false },
		"and dies before":     func(when string, n int) bool { return when == "before" },
		"and dies behind":     func(when string, n int) bool { return when == "behind" },
		"and dies every time": func(when string, n int) bool { return when != "at last" && n < 6 },
	} {
		for _, size := range []int{0, 7} {
			t.Run(name, func(t *testing.T) {
				run := startUnending(t, size)
				var got []int
				drained, kills := false, 0
				for b, err := range run.Items(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, b...)
					when := "before"
					if drained {
						when = "at last"
					}
					if !drained && len(got) > 3000 {
						if kill("before", kills) {
							killChildren(t)
							kills++
						}
						run.Drain()
						drained = true
						when = "behind"
					}
					if when == "behind" && kill(when, kills) {
						killChildren(t)
						kills++
					}
				}
				s := run.Stats()
				checkEnd(t, s, nil)
				if s.Yielded != int64(len(got)) || s.Delivered != s.Yielded {
					t.Errorf("yielded %d, delivered %d, got %d", s.Yielded, s.Delivered, len(got))
				}
				wantItems(t, got, numbers(len(got)))
			})
		}
	}
}

func TestAStreamThatIsDrainedAtOnceEnds(t *testing.T) {
	for _, kills := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(kills, " kills"), func(t *testing.T) {
			run := startUnending(t, 0)
			run.Drain()
			for range kills {
				for len(childrenOf(t)) == 0 && run.Err() == nil && run.Stats().Elapsed < time.Second {
				}
				killChildren(t)
			}
			var got []int
			for b, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b...)
			}
			wantItems(t, got, numbers(len(got)))
			checkEnd(t, run.Stats(), nil)
		})
	}
}

func TestASourceInAChildStopsWhenNothingIsTaken(t *testing.T) {
	for _, kills := range []int{0, 5} {
		t.Run(fmt.Sprint(kills, " kills"), func(t *testing.T) { // with one run at a time, so that its processes are its own
			run := startUnending(t, 0)
			if _, err := run.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			var before int64
			for still := 0; still < 20; still++ {
				<-time.After(10 * time.Millisecond)
				if now := run.Stats().Yielded; now != before {
					before, still = now, 0
				}
				if still == 10 && kills > 0 {
					killChildren(t)
					kills, still = kills-1, 0
				}
			}
			// The largest windows of three stages and the door, and frames.
			if before > 40_000 {
				t.Errorf("%d items were yielded of which 1 was taken", before)
			}
			t.Log(before)
			s := run.Stats()
			if s.Yielded != s.Delivered+s.Filtered+s.Failed+s.InFlight || s.InFlight < 0 {
				t.Errorf("the counts do not add up: %+v", s)
			}
		})
	}
}

func TestALoopOverAStreamInAChildCanBeLeft(t *testing.T) {
	run := startUnending(t, 7)
	var got []int
	for b, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, b...); len(got) > 1000 {
			break
		}
	}
	wantItems(t, got, numbers(len(got)))
	if err := run.Err(); !errors.Is(err, supervisor.ErrStopped) {
		t.Errorf("got %v, want ErrStopped", err)
	}
	run = startUnending(t, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	defer cancel(nil)
	var last error
	for b, err := range run.Items(ctx) {
		if last = err; err == nil && b[0] == 100 {
			cancel(cause)
		}
	}
	if !errors.Is(last, cause) {
		t.Errorf("got %v, want the cause", last)
	}
}

// passes is epochs without an end.
var passes = stages.Define("passes", func(g *stages.Graph, n int) stages.Stream[[]int] {
	return stages.Batch(source(g, n, stages.Forever), "batch", 7)
})

func TestAnEpochOfAStreamInAChildCanBeLeft(t *testing.T) {
	for _, kill := range []bool{false, true} {
		const n = 20_000
		run, err := supervisor.Deploy(t.Context(), often(), passes.With(n), supervisor.Subprocess{})
		if err != nil {
			t.Fatal(err)
		}
		for epoch, batches := range run.Epochs(t.Context()) {
			var got []int
			for b, err := range batches {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b...)
				if kill && len(got) > 500 && len(got) <= 507 {
					killChildren(t)
				}
				if epoch%2 == 1 && len(got) > 600 {
					break
				}
			}
			if epoch%2 == 0 && len(got) != n {
				t.Errorf("epoch %d has %d items", epoch, len(got))
			}
			for i, v := range got {
				if v != epoch*1_000_000+i {
					t.Fatalf("item %d of epoch %d is %d", i, epoch, v)
				}
			}
			if epoch == 4 {
				break
			}
		}
		if err := run.Stop(); err != nil {
			t.Error(err)
		}
	}
	if left := childrenOf(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
