package supervisor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Ways to end a run before its sources do.

var lasting = law("lasting", func(g *stages.Graph, workers int) stages.Stream[[]int] {
	s := stages.Map(stages.Source(g, "ints", ints(1<<40)), "map", same, stages.Mailbox(workers), stages.Ordered)
	return stages.Batch(s, "batch", 7)
})

// takeSome takes items until there are n.
func takeSome(t *testing.T, run *supervisor.Run[[]int], n int) (got []int) {
	t.Helper()
	for len(got) < n {
		b, err := run.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b...)
	}
	return got
}

func TestWhatADrainedRunHasYieldedComesOutEverywhere(t *testing.T) {
	everyRun(t, lasting, 3, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[[]int]) {
		got := takeSome(t, run, 1000)
		run.Drain()
		for b, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b...)
		}
		s := run.Stats()
		if checkEnd(t, s, nil); s.Yielded != int64(len(got)) || s.Delivered != s.Yielded {
			t.Errorf("%d items: %s", len(got), tellStages(s))
		}
		wantItems(t, got, numbers(len(got)))
	})
}

func TestAStoppedRunEndsEverywhere(t *testing.T) {
	everyRun(t, lasting, 3, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[[]int]) {
		got := takeSome(t, run, 1000)
		if err := run.Stop(); err != nil {
			t.Error(err)
		}
		if err := run.Wait(t.Context()); !errors.Is(err, supervisor.ErrStopped) {
			t.Errorf("got %v", err)
		}
		wantItems(t, got, numbers(len(got)))
		checkEnd(t, run.Stats(), supervisor.ErrStopped)
	})
}

func TestALoopThatIsLeftEndsTheRunEverywhere(t *testing.T) {
	everyRun(t, lasting, 1, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[[]int]) {
		for b, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if b[0] > 500 {
				break
			}
		}
		if err := run.Err(); !errors.Is(err, supervisor.ErrStopped) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheCauseOfACancelledLoopIsItsErrorEverywhere(t *testing.T) {
	everyRun(t, lasting, 1, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[[]int]) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var last error
		for b, err := range run.Items(ctx) {
			if last = err; err == nil && b[0] > 500 {
				cancel(errBad)
			}
		}
		if !errors.Is(last, errBad) {
			t.Errorf("got %v", last)
		}
	})
}
