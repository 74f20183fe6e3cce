package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// Hooks: user code before the first item of a graph and after its last worker, in no actor.

// hooks are those around the stages of a run. A run without any has none: it is nil, and costs nothing.
//
// The sources are told to begin when every stage has been entered. At the end the last goroutine of an actor starts
// that of the exits, and only behind those does the outlet say that nothing comes any more.
type hooks struct {
	run     *Run
	entered []entry // in order; written by enter, which has ended when exit begins
	exiting bool    // guarded by Run.live: only who brings it to 0 looks at it
}

// An entry is one hook that has been entered for one stage.
type entry struct {
	stage *plan.Stage
	hook  plan.Hook
}

func newHooks(r *Run) *hooks {
	if len(r.graph.Hooks) == 0 {
		return nil
	}
	return &hooks{run: r}
}

// begin tells the workers of the sources to run. All stages are there: a source that fails at once must find them.
func (r *Run) begin() {
	for _, pid := range r.iterators {
		r.send(pid, &begin{})
	}
}

// start is called when all actors are there.
func (h *hooks) start() {
	if h == nil {
		return
	}
	h.run.live.Add(1)
	// Owner: the run. Ends when every stage has been entered, or one could not be. Run.Stop waits for it, through live.
	go h.enter()
}

func (h *hooks) enter() {
	r := h.run
	defer r.goroutineEnded()
	for _, s := range r.graph.Stages {
		if s.Absent || s.Far != nil || s.Intake {
			continue // it is entered where it is
		}
		for _, k := range r.graph.Hooks {
			if r.ctx.Err() != nil {
				return
			}
			canceled, err := h.call(r.ctx, s, k.Enter)
			if err != nil {
				if !canceled || r.ctx.Err() == nil { // else it was told to end, which says nothing
					h.failed(s, fmt.Errorf("stage %q: StageEnter: %w", s.Name, err))
					r.conclude()
				}
				return
			}
			h.entered = append(h.entered, entry{s, k})
		}
	}
	r.begin()
}

// end is called by the last goroutine of the actors, and reports whether there is more to do.
func (h *hooks) end() bool {
	if h == nil || h.exiting {
		return false
	}
	h.exiting = true
	h.run.live.Add(1)
	// Owner: the run. Ends when the hooks have been left. Run.Stop waits for it, through live.
	go h.exit()
	return true
}

func (h *hooks) exit() {
	r := h.run
	defer r.goroutineEnded()
	defer r.outlet.end()
	ctx := context.WithoutCancel(r.ctx)
	var at *plan.Stage
	var err error // of that stage
	for _, e := range slices.Backward(h.entered) {
		if e.stage != at {
			at, err = e.stage, r.failure(e.stage)
		}
		if e.hook.Exit == nil {
			continue
		}
		_, left := h.call(ctx, at, func(ctx context.Context) error { return e.hook.Exit(ctx, err) })
		if left != nil && left != err { // err is a pointer of ours, which can be compared
			left = fmt.Errorf("stage %q: StageExit: %w", at.Name, left)
			h.failed(at, left)
		}
		err = left
	}
}

func (h *hooks) failed(s *plan.Stage, err error) {
	h.run.fail(s, err)
	h.run.event(HookFailed{Stage: s.Name, Err: err})
}

// call runs f, unless it is nil, as user code of s.
func (h *hooks) call(ctx context.Context, s *plan.Stage, f func(context.Context) error) (canceled bool, err error) {
	if f == nil {
		return false, nil
	}
	return h.run.aside(ctx, s, f)
}

// failure returns why s has failed the run, or nil.
func (r *Run) failure(s *plan.Stage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, c := range r.causes {
		if c.stage == s {
			errs = append(errs, c.err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
