package supervisor

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A Task runs beside each run of a supervisor, in the deploying process: to report progress, to renew a credential, to
// watch over something that the pipeline needs.
type Task struct {
	// Name is the task's in events and errors. It must not be "", nor that of another task.
	Name string
	// Run is called once per run, in a goroutine of its own. It may return at any time. ctx has the values of the
	// deployment's context and ends with the run, however that ends; Run must return then, within Config.Grace, and it
	// may return ctx's error. Any other error, a panic and runtime.Goexit are an event, TaskFailed. s returns the run's
	// statistics. Run must not call Run.Stop or Run.Wait, which wait for it.
	Run func(ctx context.Context, s func() Stats) error
	// Fatal has the run fail, at once, when the task does. Items that wait are dropped, as by Stop.
	Fatal bool
}

// validateTasks says what is wrong with tasks, all of it.
func validateTasks(tasks []Task) (faults []error) {
	names := map[string]bool{}
	for i, t := range tasks {
		switch {
		case t.Name == "":
			faults = append(faults, fmt.Errorf("supervisor: Config.Background[%d] has no name", i))
		case names[t.Name]:
			faults = append(faults, fmt.Errorf("supervisor: Config.Background[%d]: the name %q is already taken", i, t.Name))
		}
		if t.Run == nil {
			faults = append(faults, fmt.Errorf("supervisor: Config.Background[%d]: the function of task %q is nil", i, t.Name))
		}
		names[t.Name] = true
	}
	return faults
}

// A taskError is the failure of a task that is Fatal, as a cause of the run's.
type taskError struct {
	task string
	err  error
}

func (e *taskError) Error() string { return fmt.Sprintf("task %q: %v", e.task, e.err) }

func (e *taskError) Unwrap() error { return e.err }

// labelTask is the label of a task's goroutine, and of those that it starts, in profiles.
const labelTask = "task"

// startTasks is called with mu held: what tasks want to know of the run waits for it.
func (r *run) startTasks(ctx context.Context) {
	ctx, r.endTasks = context.WithCancel(context.WithoutCancel(ctx))
	for _, t := range r.cfg.Background {
		r.alive[t.Name] = true
		// Owner: the run. Ends when the task returns, which its context tells it to. Stop and Wait wait for it.
		go r.runTask(ctx, t)
	}
}

func (r *run) runTask(ctx context.Context, t Task) {
	ctx = pprof.WithLabels(ctx, pprof.Labels(actors.LabelRun, string(r.id), actors.LabelPipeline, r.pipeline, labelTask, t.Name))
	pprof.SetGoroutineLabels(ctx)
	var err error
	clean := false
	defer func() {
		if !clean {
			value, stack := plan.Panicked(recover())
			err = &stages.PanicError{Value: value, Stack: stack}
		}
		r.taskEnded(ctx, t, err)
	}()
	err = t.Run(ctx, r.stats)
	clean = true
}

// taskEnded says so while the task still counts as alive: RunEnded comes behind it.
func (r *run) taskEnded(ctx context.Context, t Task, err error) {
	what := plan.Examine(err, nil)
	if err = what.Err; err != nil && !(what.Canceled && ctx.Err() != nil) {
		r.event(TaskFailed{r.info(), t.Name, err})
		if t.Fatal {
			r.stop(&taskError{t.Name, err})
		}
	}
	r.leave(t.Name)
}

// tasksAlive reports whether some task has not ended.
func (r *run) tasksAlive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.cfg.Background, func(t Task) bool { return r.alive[t.Name] })
}

// hungTasks names the tasks that are still there. It looks at all of them at once, and not with mu held, for which the
// consumer would wait.
func (r *run) hungTasks() (hung []error) {
	if !r.tasksAlive() {
		return nil
	}
	all := actors.Goroutines()
	r.mu.Lock() // what is told is told with it held, because RunEnded is the last event
	defer r.mu.Unlock()
	for _, t := range r.cfg.Background {
		if !r.alive[t.Name] {
			continue
		}
		stacks := all.Stacks(actors.LabelRun, string(r.id), labelTask, t.Name)
		h := &stages.HungError{Task: t.Name, Stack: strings.Join(stacks, "\n")}
		hung = append(hung, h)
		r.event(TaskFailed{r.info(), t.Name, h})
	}
	return hung
}
