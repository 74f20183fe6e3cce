package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// Functions hang, and their stage goes on without them.

// patience is how long an attempt may take before the stage goes on without it.
func (s *stage) patience() time.Duration { return later(s.spec.Timeout, s.run.cfg.Grace) }

// look finds the workers that are at one item for longer than its Timeout and the grace, and goes on without them.
func (s *stage) look() {
	now := s.run.clock()
	next, out := later(now, s.patience()), false
	var hang []*piece
	for p := s.head; p != nil; p = p.next {
		if p.done || p.state.Load() == home {
			continue
		}
		out = true
		w := p.work.Load()
		if w == nil {
			continue
		}
		switch due := w.Due(); {
		case due == 0:
		case later(due, s.run.cfg.Grace) > now:
			next = min(next, later(due, s.run.cfg.Grace))
		case s.takeAway(w, due):
			hang = append(hang, p)
		}
	}
	if len(hang) > 0 {
		all := Goroutines() // once: the world stops for it
		for k, p := range hang {
			s.unjudged = int64(len(hang) - 1 - k)
			s.abandon(p, p.work.Load(), all)
		}
		if s.aborted {
			return
		}
	}
	if s.looking = out; out {
		s.after(next-now, s.look)
	}
}

// takeAway takes the attempt at hand away from a worker, and counts it as one that hangs before it can be over after all.
func (s *stage) takeAway(w *plan.Work, due time.Duration) bool {
	s.stats.hanging.Add(1)
	if w.Abandon(due) {
		return true
	}
	s.stats.hanging.Add(-1)
	return false
}

// abandon goes on without the worker that has p and does not return. Its work is the stage's now: what was done before the
// item that it hangs at is complete.
func (s *stage) abandon(p *piece, w *plan.Work, all Profile) {
	i := p.worker
	h := &s.workers[i]
	own := w.Taken()
	own.Kernel.Rescue(own)
	item := stages.IDOf(s.run.graph, own.In.Head().IDs.At(own.Next))
	hung := &stages.HungError{Stage: s.spec.Name, Worker: i, Item: item, Stack: all.of(s.run, job{stage: s.spec.Name, worker: i, life: w.Place.Incarnation})}
	p.fill(own)
	p.Verdict, p.died, p.hung = plan.Verdict{Err: hung}, true, true
	p.lot.read = true
	s.run.settle(own.Tally)
	s.run.jobs.name(s.spec.Name, i, w.Place.Incarnation, hung)
	s.run.event(Hung{Err: hung})

	s.detachChild(h.pid)
	if s.aborted { // because of another that hangs
		return
	}
	s.revoke(i)
	h.retiring = false
	if s.returned(p); s.aborted {
		return
	}
	s.reclaim(i, hung)
	s.spawn(i)
}

// tooManyHang reports whether as many functions of the stage hang as may before the run fails: as many as it has workers, and
// one that is replaced if there is only one.
func (s *stage) tooManyHang() bool {
	return s.stats.hanging.Load()-s.unjudged >= int64(max(s.spec.Mailbox, 2))
}

func (s *stage) allHang(err error) error {
	return fmt.Errorf("stage %q: %d functions do not return, and no more may hang: %w", s.spec.Name, s.stats.hanging.Load(), err)
}

// detachChild lets go of a child that does not answer: its actor is not waited for when the stage ends. It stays where messages
// find it until it leaves by itself.
func (s *stage) detachChild(child *actor.PID) {
	s.box.PostSystemMessage(&actor.Terminated{Who: child})
	s.run.goroutineEnded()
}
