package actors

import (
	"context"
	"sync/atomic"

	"github.com/weirflow/weir/internal/plan"
)

// Streaming: parts of an item's outputs leave before the item is done.

// A door lets a worker of a Streaming stage hand on a part when the one before has left.
type door struct {
	wanted atomic.Bool
	wake   chan struct{}
}

func newDoor() *door {
	d := &door{wake: make(chan struct{}, 1)}
	d.wanted.Store(true)
	return d
}

// open is called by the stage.
func (d *door) open() {
	d.wanted.Store(true)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// wait is called by the worker. It blocks until the door is open, and closes it behind itself; it returns false when ctx
// has ended.
func (d *door) wait(ctx context.Context) bool {
	for !d.wanted.CompareAndSwap(true, false) {
		select {
		case <-d.wake:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Wanted implements plan.Parts.
func (a *worker) Wanted() bool { return a.door.wanted.Load() }

// A part is what a Streaming stage hands on of an item while it is worked on.
type part struct {
	quiet
	piece   *piece
	out     plan.Chunk
	reached int
	dropped int
	open    plan.Partial
}

func (*part) control() {}

// Hand implements plan.Parts. At most one part per worker is under way.
func (a *worker) Hand(ctx context.Context, w *plan.Work) bool {
	if !a.door.wanted.CompareAndSwap(true, false) {
		begun := a.s.run.clock()
		a.exit()
		open := a.door.wait(ctx)
		a.waited += a.s.run.clock() - begun
		if a.enter(); !open {
			return false
		}
	}
	a.s.run.settle(w.Tally)
	m := &part{piece: a.piece, out: w.Out, reached: w.Next, dropped: w.Dropped, open: w.Open}
	w.Dropped = 0
	w.Out = a.s.spec.Pool.Get(enoughForAPart)
	a.s.run.send(a.parent, m)
	return ctx.Err() == nil
}

// enoughForAPart is the room of the chunk that the next part is collected in.
const enoughForAPart = 32

// part takes what a worker has handed on early.
func (s *stage) part(m *part) {
	if s.aborted || s.over {
		m.out.Free()
		return
	}
	p := m.piece
	n := m.reached - p.from
	if n > 0 && p.replays == 0 {
		s.progress(p)
	}
	s.advance(p, m.reached, result{chunk: m.out, door: s.workers[p.worker].door}, m.dropped, 0)
	p.resume = m.open
	s.release(p)
}
