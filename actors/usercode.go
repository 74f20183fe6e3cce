package actors

import (
	"context"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// User code that is no worker's, and user code that does not return.

// noWorker stands for the worker where a hook, or a dead-letter sink, is at work.
const noWorker = -1

// aside runs f as user code of s which is no worker's. It blocks until f has returned, or ended its goroutine.
func (r *Run) aside(ctx context.Context, s *plan.Stage, f func(context.Context) error) (canceled bool, err error) {
	ended := make(chan struct{})
	// Owner: the run. Ends when f does, also by Goexit, which would take the caller along. The caller waits for it.
	go func() {
		defer close(ended)
		defer r.jobs.leave(r.jobs.enter(s.Name, noWorker, 0))
		returned := false
		defer func() {
			if !returned {
				err = panicked(s, recover())
			}
		}()
		at := &plan.Work{Place: plan.Place{Graph: r.graph, Stage: s}}
		what := plan.Examine(f(plan.Bind(r.label(ctx, s.Name, noWorker, 0), at)), nil)
		canceled, err = what.Canceled, what.Err
		returned = true
	}()
	<-ended
	return canceled, err
}

// panicked is the error of user code of s that has not returned, because of what recover has found.
func panicked(s *plan.Stage, recovered any) *stages.PanicError {
	value, stack := plan.Panicked(recovered)
	return &stages.PanicError{Stage: s.Name, Value: value, Stack: stack}
}
