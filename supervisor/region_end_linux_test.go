package supervisor_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A run of which a region is elsewhere ends in all the ways in which others end, with nothing left over.
func TestF41EveryWayOutEndsTheChildren(t *testing.T) {
	endless := shape{Of: "maps", N: 1 << 40, Workers: 4, Order: true}
	for at, on := range map[string]supervisor.Placement{"child": supervisor.Subprocess{}, "pool": supervisor.Pool{Size: 2, Of: supervisor.Subprocess{}}} {
		for name, end := range map[string]func(t *testing.T, run *supervisor.Run[cell], cancel context.CancelFunc) error{
			"break": func(t *testing.T, run *supervisor.Run[cell], _ context.CancelFunc) error {
				for v := range run.Items(t.Context()) {
					if v.V == 5000 {
						break
					}
				}
				return supervisor.ErrStopped
			},
			"stop at once": func(*testing.T, *supervisor.Run[cell], context.CancelFunc) error { return supervisor.ErrStopped },
			"nobody pulls, drain": func(t *testing.T, run *supervisor.Run[cell], _ context.CancelFunc) error {
				run.Drain()
				return supervisor.ErrStopped
			},
			"stop in mid-run": func(t *testing.T, run *supervisor.Run[cell], _ context.CancelFunc) error {
				for v := range run.Items(t.Context()) {
					if v.V == 5000 {
						run.Stop()
					}
				}
				return supervisor.ErrStopped
			},
			"cancel": func(t *testing.T, run *supervisor.Run[cell], cancel context.CancelFunc) error {
				for v := range run.Items(t.Context()) {
					if v.V == 5000 {
						cancel()
					}
				}
				return context.Canceled
			},
			"drain": func(t *testing.T, run *supervisor.Run[cell], _ context.CancelFunc) error {
				n := 0
				for v, err := range run.Items(t.Context()) {
					if err != nil || v.V != n {
						t.Fatalf("item %d is %v, %v", n, v, err)
					}
					if n++; n == 5000 {
						run.Drain()
					}
				}
				if s := run.Stats(); s.Delivered != int64(n) || s.Yielded != int64(n) || s.Stages[1].In != int64(n) || s.Stages[2].Out != int64(n) {
					t.Errorf("%d items, %+v", n, s)
				}
				return nil
			},
			"next with a deadline": func(t *testing.T, run *supervisor.Run[cell], _ context.CancelFunc) error {
				for n := 0; n < 100; {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					v, err := run.Next(ctx)
					cancel()
					switch {
					case errors.Is(err, context.DeadlineExceeded):
					case err != nil || v.V != n:
						t.Fatalf("item %d is %v, %v", n, v, err)
					default:
						n++
					}
				}
				return supervisor.ErrStopped
			},
		} {
			t.Run(name+", "+at, func(t *testing.T) {
				leavesNothing(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				run, err := supervisor.Deploy(ctx, children, shapes.With(endless), regionAt("first", "last", on))
				if err != nil {
					t.Fatal(err)
				}
				want := end(t, run, cancel)
				begun := time.Now()
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
				if err := run.Wait(t.Context()); !errors.Is(err, want) {
					t.Errorf("ended with %v, want %v", err, want)
				}
				if took := time.Since(begun); took > time.Second {
					t.Errorf("Stop took %v", took)
				}
			})
		}
	}
}

// A function that ignores its context keeps Stop waiting for the grace, and no longer: its process is killed, and the stage named.
func TestF08AFunctionThatHangsInAChildIsKilledAndNamed(t *testing.T) {
	leavesNothing(t)
	s := shape{Of: "maps", N: 1000, Fault: "deaf", Every: 10}
	run := deployShape(t, s, supervisor.Subprocess{}, supervisor.Config{Grace: time.Second})
	for v := range run.Items(t.Context()) {
		if v.V == 8 {
			break
		}
	}
	begun := time.Now()
	err := run.Stop()
	took := time.Since(begun)
	hung, ok := errors.AsType[*stages.HungError](err)
	if !ok || hung.Stage != "first" || !strings.Contains(hung.Stack, "work") || took > 1100*time.Millisecond {
		t.Errorf("Stop returned %v after %v", err, took)
	}
	if err := run.Wait(t.Context()); err != supervisor.ErrStopped {
		t.Error(err)
	}
}

// A child that has been stopped is not dead: the run goes on when it does.
func TestF14AStoppedChildIsNotTakenForDead(t *testing.T) {
	leavesNothing(t)
	pids := make(chan int, 10)
	run := deployShape(t, shape{Of: "maps", N: 30_000, Workers: 2, Order: true}, supervisor.Subprocess{}, supervisor.Config{OnEvent: func(e supervisor.Event) {
		switch e := e.(type) {
		case supervisor.NodeStarted:
			pids <- e.PID
		case supervisor.NodeRestarted:
			t.Errorf("taken for dead: %v", e.Err)
		}
	}})
	n := 0
	for v, err := range run.Items(t.Context()) {
		if err != nil || v.V != n {
			t.Fatalf("item %d is %v, %v", n, v, err)
		}
		if n++; n == 100 {
			pid := <-pids
			syscall.Kill(pid, syscall.SIGSTOP)
			time.AfterFunc(3*time.Second, func() { syscall.Kill(pid, syscall.SIGCONT) })
		}
	}
	if n != 30_000 {
		t.Errorf("%d items", n)
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	run.Wait(t.Context())
}

// Stop ends a run with a child that has been stopped within the grace.
func TestF14StopEndsAStoppedChild(t *testing.T) {
	leavesNothing(t)
	pids := make(chan int, 10)
	run := deployShape(t, shape{Of: "maps", N: 1 << 40}, supervisor.Subprocess{}, supervisor.Config{Grace: 500 * time.Millisecond, OnEvent: func(e supervisor.Event) {
		if e, ok := e.(supervisor.NodeStarted); ok {
			pids <- e.PID
		}
	}})
	if _, err := run.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(<-pids, syscall.SIGSTOP)
	begun := time.Now()
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 600*time.Millisecond {
		t.Errorf("Stop took %v", took)
	}
	run.Wait(t.Context())
}
