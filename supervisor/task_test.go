package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// background is a Config with one task, and what its events say of tasks and of the end, in order.
func background(t supervisor.Task) (supervisor.Config, *[]string) {
	told := new([]string)
	return supervisor.Config{Background: []supervisor.Task{t}, OnEvent: func(e supervisor.Event) {
		switch e := e.(type) {
		case supervisor.TaskFailed:
			*told = append(*told, fmt.Sprintf("%s: %v", e.Task, e.Err))
		case supervisor.RunEnded:
			*told = append(*told, fmt.Sprintf("ended: %v", e.Err))
		}
	}}, told
}

// slow is a pipeline of n items, of one second each.
func slow(n int, f func(v int) error) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(n)), "slow", func(ctx context.Context, v int) (int, error) {
			select {
			case <-time.After(time.Second):
				return v, f(v)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}, stages.Buffer(2))
	})
}

func well(int) error { return nil }

// The task's context ends with the run, not earlier, whatever ends it; the run waits for the task.
func TestATaskLastsAsLongAsItsRun(t *testing.T) {
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		work func(int) error
		end  func(run *supervisor.Run[int], endLoop, endDeployment func(error)) // after 3.5 s
		err  error
		at   time.Duration
	}{
		"complete":                  {well, nil, nil, 10 * time.Second},
		"failed":                    {func(v int) error { return map[bool]error{v == 4: cause}[true] }, nil, cause, 5 * time.Second},
		"stopped":                   {well, func(r *supervisor.Run[int], _, _ func(error)) { go r.Stop() }, supervisor.ErrStopped, 3500 * time.Millisecond},
		"drained":                   {well, func(r *supervisor.Run[int], _, _ func(error)) { r.Drain() }, nil, 0},
		"the loop's context":        {well, func(_ *supervisor.Run[int], end, _ func(error)) { end(cause) }, cause, 3500 * time.Millisecond},
		"the deployment's context":  {well, func(_ *supervisor.Run[int], _, end func(error)) { end(cause) }, cause, 3500 * time.Millisecond},
		"the deployment's deadline": {well, nil, context.DeadlineExceeded, 3500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended, returned time.Duration
				begun := time.Now()
				cfg, told := background(supervisor.Task{Name: "watch", Fatal: true, Run: func(ctx context.Context, s func() supervisor.Stats) error {
					<-ctx.Done()
					ended = time.Since(begun)
					time.Sleep(3 * time.Second)
					returned = time.Since(begun)
					return fmt.Errorf("told to: %w", ctx.Err())
				}})
				deployment, endDeployment := context.WithCancelCause(t.Context())
				if c.err == context.DeadlineExceeded {
					var cancel context.CancelFunc
					deployment, cancel = context.WithTimeout(deployment, c.at)
					defer cancel()
				}
				loop, endLoop := context.WithCancelCause(t.Context())
				run, err := supervisor.Deploy(deployment, supervisor.New(cfg), slow(10, c.work), nil)
				if err != nil {
					t.Fatal(err)
				}
				if c.end != nil {
					time.AfterFunc(3500*time.Millisecond, func() { c.end(run, endLoop, endDeployment) })
				}
				for _, err := range run.Items(loop) {
					if err != nil && !errors.Is(err, c.err) {
						t.Error(err)
					}
				}
				over := time.Since(begun)
				if err := run.Wait(context.Background()); !errors.Is(err, c.err) {
					t.Errorf("the run: %v, want %v", err, c.err)
				}
				if ended != over || c.at > 0 && over != c.at || time.Since(begun) != over+3*time.Second || returned != over+3*time.Second {
					t.Errorf("the context ended after %v, the loop after %v, want %v, Wait returned after %v", ended, over, c.at, time.Since(begun))
				}
				if len(*told) != 1 || !strings.HasPrefix((*told)[0], "ended:") {
					t.Errorf("told %q", *told)
				}
				endDeployment(nil)
				endLoop(nil)
			})
		})
	}
}

func failing(err error) func(context.Context, func() supervisor.Stats) error {
	return func(context.Context, func() supervisor.Stats) error { return err }
}

func panicking(context.Context, func() supervisor.Stats) error { panic("mine") }

func exiting(context.Context, func() supervisor.Stats) error {
	runtime.Goexit()
	return nil
}

// placeless is the text of an error without where a panic happened.
func placeless(text string) string {
	text, _, _ = strings.Cut(text, " (")
	return text
}

func TestATasksErrorIsAnEvent(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(context.Context, func() supervisor.Stats) error
		want []string
	}{
		"it returns early":                  {failing(nil), nil},
		"it returns early, with an error":   {failing(errors.New("no luck")), []string{"task: no luck"}},
		"with the error of another context": {failing(context.Canceled), []string{"task: context canceled"}},
		"it panics":                         {panicking, []string{"task: panic: mine"}},
		"it ends its goroutine":             {exiting, []string{"task: panic: runtime.Goexit was called"}},
		"it fails because the run ends": {func(ctx context.Context, _ func() supervisor.Stats) error {
			<-ctx.Done()
			return errors.New("half done")
		}, []string{"task: half done"}},
		"it panics because the run ends": {func(ctx context.Context, _ func() supervisor.Stats) error {
			<-ctx.Done()
			panic(ctx.Err())
		}, []string{"task: panic: context canceled"}},
		"its error panics": {failing(rude{}), []string{"task: a supervisor_test.rude whose methods panic: rude"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, told := background(supervisor.Task{Name: "task", Run: c.run})
				run := deploy(t, slow(3, well), cfg)
				n := 0
				for _, err := range run.Items(t.Context()) {
					if n++; err != nil {
						t.Error(err)
					}
				}
				if err := run.Wait(t.Context()); err != nil || n != 3 {
					t.Errorf("%d items, %v", n, err)
				}
				got := append([]string(nil), *told...)
				for i := range got {
					got[i] = placeless(got[i])
				}
				if want := append(c.want, "ended: <nil>"); !slices.Equal(got, want) {
					t.Errorf("told %q, want %q", got, want)
				}
			})
		})
	}
}

type rude struct{}

func (rude) Error() string { panic("rude") }

func TestATaskThatIsFatalFailsTheRunAtOnce(t *testing.T) {
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		run  func(context.Context, func() supervisor.Stats) error
		want string
		is   func(err error) bool
	}{
		"by an error": {failing(cause), `task "task": cause`, func(err error) bool { return errors.Is(err, cause) }},
		"by a panic": {panicking, `task "task": panic: mine`, func(err error) bool {
			p, ok := errors.AsType[*stages.PanicError](err)
			return ok && strings.Contains(p.Stack, "supervisor_test.panicking")
		}},
		"by Goexit": {exiting, `task "task": panic: runtime.Goexit was called`, func(err error) bool {
			p, ok := errors.AsType[*stages.PanicError](err)
			return ok && strings.Contains(p.Stack, "supervisor_test.exiting")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, told := background(supervisor.Task{Name: "task", Fatal: true, Run: func(ctx context.Context, s func() supervisor.Stats) error {
					time.Sleep(2500 * time.Millisecond)
					return c.run(ctx, s)
				}})
				begun := time.Now()
				run := deploy(t, slow(10, well), cfg)
				n, last := 0, error(nil)
				for _, err := range run.Items(t.Context()) {
					if last = err; err == nil {
						n++
					}
				}
				e, ok := errors.AsType[*supervisor.RunError](last)
				if !ok || len(e.Causes) != 1 || placeless(e.Causes[0].Error()) != c.want || !c.is(last) {
					t.Errorf("the last turn: %v", last)
				}
				if n != 2 || time.Since(begun) != 2500*time.Millisecond {
					t.Errorf("%d items in %v", n, time.Since(begun))
				}
				if err := run.Wait(t.Context()); err != last || run.Err() != last {
					t.Errorf("%v, and %v, want %v", err, run.Err(), last)
				}
				if _, err := run.Next(t.Context()); err != last {
					t.Errorf("Next: %v", err)
				}
				if len(*told) != 2 || !strings.HasPrefix((*told)[0], "task: ") || !strings.HasPrefix((*told)[1], `ended: pipeline "test": task "task"`) {
					t.Errorf("told %q", *told)
				}
			})
		})
	}
}

// The items that have failed before are causes too, and come first.
func TestTheCausesOfARunThatATaskFailsAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, worse := errors.New("bad"), errors.New("worse")
		cfg, _ := background(supervisor.Task{Name: "task", Fatal: true, Run: func(context.Context, func() supervisor.Stats) error {
			time.Sleep(10 * time.Second)
			return worse
		}})
		run := deploy(t, slow(3, func(int) error { return bad }), cfg)
		run.Wait(t.Context()) // nobody takes what there is, so the failure waits to be told
		e, ok := errors.AsType[*supervisor.RunError](run.Err())
		if !ok || len(e.Causes) != 2 || !errors.Is(e.Causes[0], bad) || !errors.Is(e.Causes[1], worse) {
			t.Errorf("got %v", run.Err())
		}
	})
}

func TestATaskThatFailsAfterTheRunChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, told := background(supervisor.Task{Name: "task", Fatal: true, Run: func(ctx context.Context, _ func() supervisor.Stats) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return errors.New("late")
		}})
		run := deploy(t, slow(1, well), cfg)
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		if err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := run.Next(t.Context()); err != io.EOF {
			t.Errorf("Next: %v", err)
		}
		if want := []string{"task: late", "ended: <nil>"}; fmt.Sprint(*told) != fmt.Sprint(want) {
			t.Errorf("told %q, want %q", *told, want)
		}
	})
}

func deaf(release chan bool) error {
	<-release
	return errors.New("at last")
}

func TestStopNamesATaskThatDoesNotReturn(t *testing.T) {
	for name, both := range map[string]bool{"alone": false, "beside a function": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan bool)
				cfg, told := background(supervisor.Task{Name: "deaf", Run: func(context.Context, func() supervisor.Stats) error { return deaf(release) }})
				cfg.Background = append(cfg.Background, supervisor.Task{Name: "good", Run: func(ctx context.Context, _ func() supervisor.Stats) error {
					<-ctx.Done()
					return nil
				}})
				cfg.Grace = 7 * time.Second
				run, err := supervisor.Deploy(t.Context(), supervisor.New(cfg), define(func(g *stages.Graph) stages.Stream[int] {
					return stages.Map(stages.Source(g, "ints", ints(10)), "f", func(ctx context.Context, v int) (int, error) {
						if both {
							<-release
						}
						return v, nil
					})
				}), nil)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				begun := time.Now()
				err = run.Stop()
				if !errors.Is(err, stages.ErrHung) || time.Since(begun) != 7*time.Second {
					t.Fatalf("%v after %v", err, time.Since(begun))
				}
				var hung []*stages.HungError
				for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
					h, _ := errors.AsType[*stages.HungError](err)
					hung = append(hung, h)
				}
				h := hung[len(hung)-1]
				if h.Task != "deaf" || h.Stage != "" || !strings.Contains(h.Stack, "supervisor_test.deaf+") || strings.Contains(h.Stack, "mailbox") {
					t.Errorf("got %+v", h)
				}
				if want := map[bool]int{false: 1, true: 2}[both]; len(hung) != want || both && hung[0].Stage != "f" {
					t.Errorf("%d hang: %v", len(hung), err)
				}
				close(release)
				if err := run.Wait(t.Context()); err != supervisor.ErrStopped {
					t.Error(err)
				}
				if err := run.Stop(); err != nil {
					t.Errorf("stopped again: %v", err)
				}
				if want := []string{`deaf: task "deaf" does not return`, "deaf: at last", "ended: supervisor: run stopped"}; fmt.Sprint(*told) != fmt.Sprint(want) {
					t.Errorf("told %q, want %q", *told, want)
				}
			})
		})
	}
}

// Each run has tasks of its own, which see its statistics and the values of its context.
func TestTasksBelongToOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var seen atomic.Int64
		sup := supervisor.New(supervisor.Config{Background: []supervisor.Task{{Name: "count", Run: func(ctx context.Context, s func() supervisor.Stats) error {
			if first := s(); first.Pipeline != "test" || len(first.Stages) != 3 { // right at the start
				t.Errorf("got %+v", first)
			}
			<-ctx.Done()
			if s := s(); int64(ctx.Value(key{}).(int)) != s.Delivered {
				t.Errorf("the run of %v items has delivered %d", ctx.Value(key{}), s.Delivered)
			}
			seen.Add(1)
			return nil
		}}}})
		for n := range 5 {
			for _, err := range supervisor.Items(context.WithValue(t.Context(), key{}, n), sup, pipelineOf(ints(n)), nil) {
				if err != nil {
					t.Error(err)
				}
			}
			if seen.Load() != int64(n+1) {
				t.Errorf("after run %d, %d tasks have ended", n, seen.Load())
			}
		}
	})
}

func TestTasksThatMakeNoSenseAreRefused(t *testing.T) {
	good := failing(nil)
	for want, tasks := range map[string][]supervisor.Task{
		"supervisor: Config.Background[1] has no name":                      {{Name: "a", Run: good}, {Run: good}},
		`supervisor: Config.Background[2]: the name "a" is already taken`:   {{Name: "a", Run: good}, {Name: "b", Run: good}, {Name: "a", Run: good}},
		`supervisor: Config.Background[0]: the function of task "a" is nil`: {{Name: "a"}},
		"supervisor: Config.Background[0] has no name\n" +
			`supervisor: Config.Background[0]: the function of task "" is nil`: {{}},
	} {
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{Background: tasks}), luckPipeline(), nil)
		if run != nil || err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
