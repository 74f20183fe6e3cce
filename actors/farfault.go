package actors

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// Items of a region fail where it is, and their stage's policy is applied here.

// A fault is one item of a region that has failed for good there.
type fault struct {
	id    plan.ID // of one that a node has told in a frame
	spec  *plan.Stage
	item  *stages.ItemError
	fatal bool

	counted  bool  // as finished, by the node
	finished int64 // by the stage until then, which is not in the run's counts yet

	lettered bool   // it becomes a dead letter, if it is not fatal
	encoded  bool   // which contains letter
	input    bool   // which contains the input; if neither: nothing
	letter   []byte // what the stage has been given
}

// judgeFaults decides what becomes of the item at which a piece stands, of which something has failed elsewhere.
func (s *stage) judgeFaults(p *piece) {
	f := &p.faults[0]
	if f.lettered && !f.fatal {
		p.waits = true
		if p.items() > 1 { // what lies behind it does not wait
			s.lost = append(s.lost, s.split(p, 1))
		}
		m := &letterRequest{from: s.self, item: f.item, payload: f.letter, encoded: f.encoded, far: true, piece: p}
		if f.input {
			m.chunk, m.at = p.lot.chunk, p.from
		}
		s.cx.Send(s.run.letterActors[f.spec.Index], m)
		return
	}
	s.failedFar(p, false)
}

// failedFar goes on behind the first fault of the item at which a piece stands, or fails the run there.
func (s *stage) failedFar(p *piece, letter bool) {
	f := p.faults[0]
	s.run.lastFailed.Store(f.item)
	err := s.run.failedForGood(f.spec, f.item, letter, f.counted)
	if f.fatal {
		err = f.item
	}
	if err == nil && len(p.faults) > 1 {
		p.faults = p.faults[1:]
		s.judgeFaults(p)
		return
	}
	p.faults = nil
	p.stops = s.stops(p) // behind settle, what it was made of may be gone
	s.settle(p, plan.Failed)
	if err != nil {
		s.run.fail(f.spec, err)
		s.doomAt(p)
		return
	}
	s.pass(p)
}
