package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
)

// An intake stands for what feeds a region, where the region is: it hands on what comes from elsewhere, as credit allows.
// What may wait in it is bounded by who sends, who has a window of tasks.
type intake struct {
	spec   *plan.Stage
	box    *mailbox
	stats  *stageStats
	outbox outbox
	ended  bool
	over   bool
}

// inputEnd says that no input comes any more.
type inputEnd struct{ quiet }

func newIntake(r *Run, s *plan.Stage, out outbox) *intake {
	a := &intake{spec: s, stats: r.stats[s.Index], outbox: out}
	a.outbox.left = func(int) {}
	return a
}

func (a *intake) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case plan.Chunk:
		if a.over {
			m.Free()
			return
		}
		a.stats.in.Add(int64(m.Len()))
		a.outbox.push(out{chunk: m})
	case *inputEnd:
		a.ended = true
	case *edge:
		m.pending.Store(false)
	case *cancel:
		a.outbox.close()
		a.over = true
		return
	case *actor.Started:
		a.outbox.start(c)
		return
	case *actor.Stopping:
		a.over = true
		return
	case *actor.Stopped:
		a.box.close()
		return
	default:
		return
	}
	if a.over {
		return
	}
	if a.outbox.flush(); a.ended && a.outbox.empty() {
		a.over = true
		a.outbox.end(false)
	}
}

// Inputs returns an empty chunk for n inputs of a region's graph. Their identities are of the stage that it also returns.
func (r *Run) Inputs(n int) (plan.Chunk, int) { return r.intake.spec.Pool.Get(n), r.intake.spec.Index }

// Put hands inputs to a region's graph. It does not block.
func (r *Run) Put(c plan.Chunk) { r.send(r.pidOf(r.intake.spec.Index), c) }

// EndInput says that no more are put. It does not block. After a failure before the region that is said, too: what is held back is flushed
// by the mark of an epoch's end, which does not come then.
func (r *Run) EndInput() { r.send(r.pidOf(r.intake.spec.Index), &inputEnd{}) }
