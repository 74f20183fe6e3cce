package stages

import (
	"context"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// A timed is a Worker with a Timeout around it, and around its hooks. What the function emits is kept back until it has
// returned in time: one that does not return may still emit when the stage has gone on without it.
type timed[In, Out any] struct {
	Worker[In, Out]
	stage  *plan.Stage
	passes bool // what is emitted need not be kept back
	out    []Out
	keep   func(Out) bool
	size   func(*Out) int64
	bytes  int64 // of out, where sizes are known
	over   bool  // it is too much
}

// withTimeout returns w with the Timeout of its stage around it: w itself if there is none. passes says that what is
// emitted goes nowhere that anybody else looks at.
func withTimeout[In, Out any](s *plan.Stage, w Worker[In, Out], passes bool) Worker[In, Out] {
	if s.Timeout == 0 {
		return w
	}
	t := &timed[In, Out]{Worker: w, stage: s, passes: passes}
	if s.MaxOutputs > 0 {
		t.size = plan.SizeOf[Out]()
	}
	t.keep = func(v Out) bool {
		if t.over {
			return false
		}
		t.out = append(t.out, v)
		if t.size != nil {
			t.bytes += t.size(&t.out[len(t.out)-1])
		}
		most := t.stage.MaxOutputs
		t.over = most > 0 && len(t.out) > most || len(t.out) > 1 && t.bytes > maxGroupBytes
		return !t.over
	}
	return t
}

func (t *timed[In, Out]) Process(ctx context.Context, v In, emit func(Out) bool) error {
	w := plan.WorkOf(ctx)
	deadline := time.Now().Add(t.stage.Timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	t.reset()
	w.Begin(deadline)
	inner := emit
	if !t.passes {
		inner = t.keep
	}
	err := t.Worker.Process(ctx, v, inner)
	if !w.End() {
		panic(plan.Abandoned{})
	}
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = tooLate(err, t.stage.Timeout)
	}
	if err != nil {
		return err
	}
	for _, v := range t.out {
		if !emit(v) {
			break
		}
	}
	return nil
}

func (t *timed[In, Out]) reset() {
	clear(t.out) // drop references
	t.out, t.bytes, t.over = t.out[:0], 0, false
}

// tooMany is what there is against the outputs of the item at hand while they are kept back.
func (t *timed[In, Out]) tooMany() error {
	if t.over {
		return tooMany(t.stage.MaxOutputs)
	}
	return nil
}

func (t *timed[In, Out]) Close() error { return closeWorker(t.Worker) }
