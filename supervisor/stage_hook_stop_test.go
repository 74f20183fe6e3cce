package supervisor_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Being stopped is no error of a stage. What StageExit then returns is told as an event, and does not take the place of
// what the run was stopped by; its context has not ended, whatever that was.
func TestStageHooksOfARunThatIsStopped(t *testing.T) {
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		leave func(run *supervisor.Run[int], end func())
		err   error
	}{
		"stop":    {func(run *supervisor.Run[int], _ func()) { run.Stop() }, supervisor.ErrStopped},
		"context": {func(_ *supervisor.Run[int], end func()) { end() }, cause},
		"break": {func(run *supervisor.Run[int], _ func()) {
			for range run.Items(context.Background()) {
				break
			}
		}, supervisor.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				var yielded atomic.Int64
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				p := define(func(g *stages.Graph) stages.Stream[int] {
					g.Hook(d.stages("outer", nil))
					g.Hook(stages.Hook{StageExit: func(ctx context.Context, s stages.StageInfo, err error) error {
						d.note("exits %s: %v, context %v", s.Stage, err, ctx.Err())
						return errBad
					}})
					return stages.Map(stages.Source(g, "source", endless(&yielded)), "f", func(ctx context.Context, v int) (int, error) {
						if v == 10 {
							<-ctx.Done()
							return 0, ctx.Err()
						}
						return v, nil
					})
				})
				run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), p, nil)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				c.leave(run, func() { end(cause) })
				if err := run.Wait(t.Context()); !errors.Is(err, c.err) || errors.Is(err, errBad) {
					t.Error(err)
				}
				d.check(t, "outer enters source", "outer enters f",
					"exits f: <nil>, context <nil>", `outer exits f: stage "f": StageExit: bad`,
					"exits source: <nil>, context <nil>", `outer exits source: stage "source": StageExit: bad`)
				var failed []string
				for e := range run.Events(t.Context()) {
					if h, ok := e.(supervisor.HookFailed); ok && errors.Is(h.Err, errBad) {
						failed = append(failed, h.Stage)
					}
				}
				if len(failed) != 2 || failed[0] != "f" || failed[1] != "source" {
					t.Errorf("events of %v", failed)
				}
			})
		})
	}
}

// Deploy does not wait for StageEnter. A run that is stopped in one enters no further stage, leaves those it has entered,
// and has not failed; an error that has nothing to do with it is told.
func TestARunThatIsStoppedWhileItsStagesAreEntered(t *testing.T) {
	for name, c := range map[string]struct {
		returned func(ctx context.Context) error
		told     string
		events   int
	}{
		"nil":               {func(context.Context) error { return nil }, "<nil>", 0},
		"the context's end": {func(ctx context.Context) error { return ctx.Err() }, "<nil>", 0},
		"another error":     {func(context.Context) error { return errBad }, `stage "f": StageEnter: bad`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				run := deploy(t, hookedBy(3, same, d.stages("outer", nil), stages.Hook{
					StageEnter: func(ctx context.Context, s stages.StageInfo) error {
						if s.Stage != "f" {
							return nil
						}
						<-ctx.Done()
						d.note("told to end")
						return c.returned(ctx)
					},
				}, d.stages("inner", nil)), supervisor.Config{})
				time.Sleep(time.Hour)
				d.check(t, "outer enters ints", "inner enters ints", "outer enters f")
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
				d.check(t, "outer enters ints", "inner enters ints", "outer enters f", "told to end",
					"outer exits f: "+c.told, "inner exits ints: <nil>", "outer exits ints: <nil>")
				if err := run.Wait(t.Context()); err != supervisor.ErrStopped {
					t.Error(err)
				}
				events := 0
				for e := range run.Events(t.Context()) {
					if _, ok := e.(supervisor.HookFailed); ok {
						events++
					}
				}
				if events != c.events {
					t.Errorf("%d events", events)
				}
				if err := run.Err(); err != supervisor.ErrStopped {
					t.Error(err)
				}
			})
		})
	}
}

func TestStopNamesAHookThatDoesNotReturn(t *testing.T) {
	for name, hook := range map[string]func(release chan bool) stages.Hook{
		"StageEnter": func(release chan bool) stages.Hook {
			return stages.Hook{StageEnter: func(_ context.Context, s stages.StageInfo) error {
				if s.Stage == "f" {
					stubborn(release)
				}
				return nil
			}}
		},
		"StageExit": func(release chan bool) stages.Hook {
			return stages.Hook{StageExit: func(_ context.Context, s stages.StageInfo, _ error) error {
				if s.Stage == "f" {
					stubborn(release)
				}
				return nil
			}}
		},
		"ItemExit": func(release chan bool) stages.Hook {
			return onExit(func(it stages.Item, err error) error {
				if it.Stage == "f" {
					stubborn(release)
				}
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan bool)
				run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{Grace: time.Second}), hookedBy(3, same, hook(release)), nil)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				begun := time.Now()
				err = run.Stop()
				hung, ok := errors.AsType[*stages.HungError](err)
				if !ok || !errors.Is(err, stages.ErrHung) || hung.Stage != "f" || !strings.Contains(hung.Stack, ".stubborn+") {
					t.Fatalf("got %v", err)
				}
				if ofWorker := name == "ItemExit"; (hung.Worker == 0) != ofWorker || strings.Contains(err.Error(), "its hook") == ofWorker {
					t.Errorf("worker %d: %v", hung.Worker, err)
				}
				if d := time.Since(begun); d != time.Second {
					t.Errorf("stopped after %v, want the grace", d)
				}
				close(release)
				if err := run.Stop(); err != nil {
					t.Errorf("stopped again: %v", err)
				}
				if err := run.Wait(t.Context()); err != supervisor.ErrStopped {
					t.Error(err)
				}
			})
		})
	}
}

// The consumer has every item before StageExit is done, and the end only behind it.
func TestTheEndWaitsForStageExitAndTheItemsDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		run := deploy(t, hookedBy(4, same, stages.Hook{StageExit: func(context.Context, stages.StageInfo, error) error {
			<-release
			return nil
		}}), supervisor.Config{})
		for range 2 {
			if _, err := run.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := run.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before StageExit has returned: %v", err)
		}
		close(release)
		for _, err := range run.Items(t.Context()) {
			t.Errorf("another turn: %v", err)
		}
		if err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestManyRunsWithHooksLeaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside atomic.Int64
		cycle(t, supervisor.New(supervisor.Config{}), define(func(g *stages.Graph) stages.Stream[int] {
			g.Hook(stages.Hook{
				StageEnter: func(context.Context, stages.StageInfo) error { inside.Add(1); return nil },
				StageExit:  func(_ context.Context, _ stages.StageInfo, err error) error { inside.Add(-1); return err },
			})
			return stages.Map(stages.Source(g, "ints", ints(100)), "f", same, stages.Mailbox(3))
		}), 200)
		synctest.Wait()
		if n := inside.Load(); n != 0 {
			t.Errorf("%d stages were not left", n)
		}
	})
}
