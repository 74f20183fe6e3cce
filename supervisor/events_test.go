package supervisor_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

var errUnlucky = errors.New("unlucky")

// unlucky fails items that end in 7.
func unlucky(_ context.Context, v int) (int, error) {
	if v%10 == 7 {
		return 0, errUnlucky
	}
	return v, nil
}

func luckPipeline(opts ...stages.Option) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(100)), "luck", unlucky, opts...)
	})
}

// The last event of a run, however it ends, tells its error and its final statistics, and tells them once.
func TestTheLastEventHasTheFinalStatistics(t *testing.T) {
	for name, c := range map[string]struct {
		pipeline stages.Pipeline[int]
		loop     func(ctx context.Context, run *supervisor.Run[int])
		err      error
	}{
		"complete": {luckPipeline(stages.OnError(stages.Skip(100))), func(ctx context.Context, run *supervisor.Run[int]) {
			for range run.Items(ctx) {
			}
		}, nil},
		"failed": {luckPipeline(), func(ctx context.Context, run *supervisor.Run[int]) {
			for range run.Items(ctx) {
			}
		}, errUnlucky},
		"stopped": {luckPipeline(stages.OnError(stages.Skip(100))), func(ctx context.Context, run *supervisor.Run[int]) {
			run.Next(ctx)
			run.Stop()
		}, supervisor.ErrStopped},
		"left": {luckPipeline(stages.OnError(stages.Skip(100))), func(ctx context.Context, run *supervisor.Run[int]) {
			for range run.Items(ctx) {
				break
			}
		}, supervisor.ErrStopped},
		"drained": {luckPipeline(stages.OnError(stages.Skip(100))), func(ctx context.Context, run *supervisor.Run[int]) {
			run.Drain()
			for range run.Items(ctx) {
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []supervisor.Event // owned by the listener, until all is quiet
				run := deploy(t, c.pipeline, supervisor.Config{
					OnEvent: func(e supervisor.Event) { told = append(told, e) }, Job: "job", Rank: "3",
				})
				c.loop(t.Context(), run)
				if err := run.Wait(t.Context()); !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
					t.Fatalf("the run's error is %v", err)
				}
				synctest.Wait()
				if journal := slices.Collect(run.Events(t.Context())); len(journal) != len(told) {
					t.Errorf("%d events in the journal, %d were told", len(journal), len(told))
				}
				ends := 0
				for _, e := range told {
					if i := e.Info(); i.Run != run.ID() || i.Pipeline != "test" || i.Job != "job" || i.Rank != "3" || i.Time.IsZero() {
						t.Errorf("%T has %+v", e, i)
					}
					if _, ok := e.(supervisor.RunEnded); ok {
						ends++
					}
				}
				if first, ok := told[0].(supervisor.RunStarted); !ok || first.Placement != "inprocess" {
					t.Errorf("the first event is %+v", told[0])
				}
				last, ok := told[len(told)-1].(supervisor.RunEnded)
				if !ok || ends != 1 {
					t.Fatalf("the last event is %T, and the run has ended %d times", told[len(told)-1], ends)
				}
				got, want := last.Stats, run.Stats()
				if last.Err != run.Err() {
					t.Errorf("it has the error %v", last.Err)
				}
				if got.Yielded != want.Yielded || got.Delivered != want.Delivered || got.Filtered != want.Filtered || got.Failed != want.Failed ||
					got.InFlight != want.InFlight || got.Outputs != want.Outputs || got.Elapsed != want.Elapsed || len(got.Failures) != len(want.Failures) || got.Job != "job" {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
				if got.Yielded == 0 || got.Yielded != got.Delivered+got.Filtered+got.Failed+got.InFlight {
					t.Errorf("the counts do not add up: %+v", got)
				}
			})
		})
	}
}

// A listener that never returns holds up neither items nor Stop, and finds what it has missed counted.
func TestAListenerThatBlocksHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20_000
		release := make(chan bool)
		var told, lost int64
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(n)), "luck", unlucky, stages.OnError(stages.Skip(n)))
		}), supervisor.Config{OnEvent: func(e supervisor.Event) {
			<-release
			if l, ok := e.(supervisor.EventsLost); ok {
				lost += l.Count
			} else {
				told++
			}
		}})
		got := 0
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got++
		}
		if err := run.Stop(); err != nil || got != n*9/10 {
			t.Errorf("%d items, %v", got, err)
		}
		close(release)
		synctest.Wait()
		if all := told + lost; all != n/10+3 { // started, the epoch's end, ended
			t.Errorf("%d events told and %d lost, want %d", told, lost, n/10+3)
		}
		if told > 1002 || lost == 0 {
			t.Errorf("%d events told, %d lost", told, lost)
		}
	})
}

// Each configuration's listener has a goroutine of its own, also when the supervisors share the rest.
func TestAListenerThatBlocksHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, told := make(chan bool), 0
		sup := supervisor.New(supervisor.Config{OnEvent: func(supervisor.Event) { <-release }})
		other := sup.With(supervisor.Config{OnEvent: func(supervisor.Event) { told++ }})
		for _, s := range []*supervisor.Supervisor{sup, other} {
			for _, err := range supervisor.Items(t.Context(), s, luckPipeline(stages.OnError(stages.Skip(100))), nil) {
				if err != nil {
					t.Error(err)
				}
			}
		}
		synctest.Wait()
		if told != 13 { // started, ten failures, the epoch's end, ended
			t.Errorf("the other listener is told %d events, want 13", told)
		}
		close(release)
	})
}

func TestAListenerThatPanicsCostsNoItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		run := deploy(t, luckPipeline(stages.OnError(stages.Skip(100))), supervisor.Config{OnEvent: func(supervisor.Event) { calls++; panic("mine") }})
		got := 0
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got++
		}
		if run.Stop(); got != 90 {
			t.Errorf("%d items, want 90", got)
		}
		synctest.Wait()
		if calls < 13 {
			t.Errorf("%d calls of the listener", calls)
		}
	})
}

func TestEventsEndWithTheRunOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, pipelineOf(endless(new(atomic.Int64))), supervisor.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began, n := time.Now(), 0
		for range run.Events(ctx) {
			n++
		}
		if time.Since(began) != time.Second || n != 1 {
			t.Errorf("%d events in %v", n, time.Since(began))
		}
		time.AfterFunc(time.Minute, func() { run.Stop() })
		n = 0
		for range run.Events(t.Context()) {
			n++
		}
		if time.Since(began) != time.Second+time.Minute || n != 2 {
			t.Errorf("%d events in %v", n, time.Since(began))
		}
	})
}
