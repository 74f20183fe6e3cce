package actors

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/restart"
	"github.com/weirflow/weir/internal/weak"
	"github.com/weirflow/weir/stages"
)

// Workers die and are replaced: at once, or after a pause, or together with those of another stage.

// mourn notes that a worker has died at p, and reports whether it may be replaced. Workers that were at work when the last
// death was noted die of the same thing, as when a server that all of them use is gone: that is one death, not many in a
// row.
//
// How long a worker rests is its own affair: others may be at work all the time. But none is opened while one rests that
// could not be.
func (s *stage) mourn(p *piece, err error) bool {
	h := &s.workers[p.worker]
	switch {
	case s.gaveUp:
		return false
	case s.undecided(p):
		return true
	}
	now, dice := s.run.clock(), rand.Float64()
	if p.deaths == s.deaths {
		pause, again := s.record.Died(now, err, p.unopened, dice)
		if !again {
			return false
		}
		if s.deaths++; p.unopened {
			s.shut, s.notBefore = true, now+pause
		}
	}
	h.inARow++
	h.rest = restart.Pause(h.inARow-1, s.limits.First, s.limits.Most, dice)
	if p.unopened {
		h.rest = max(s.notBefore-now, 0)
	}
	return true
}

// undecided reports whether it does not count that a worker has died at p: it was the first attempt at an item, and
// the second will tell. Where several workers are at it, deaths at one fresh item after the other are not deaths in a row: each of
// the items that cost them is on its way to somebody else.
func (s *stage) undecided(p *piece) bool {
	several := !s.spec.OneByOne() && s.limits.Max > 0
	return several && p.attempt == 0 && p.retryable && s.spec.Retry.Most() > 1 && !p.unopened && !p.flushing && !p.unsure
}

// progress notes that an item of p is finished.
func (s *stage) progress(p *piece) {
	s.record.Progress()
	s.workers[p.worker].inARow = 0
}

// replaceWorker gives the worker that died at a piece, which has been judged, a new incarnation.
func (s *stage) replaceWorker(w int, cause error) {
	if s.aborted || s.over {
		return // it stays as it is until the run stops: a second Stop would be a dead letter
	}
	s.bereave(w, cause)
	// At once, also before a pause: the state of the dead incarnation is closed by that. A new one is opened with its first
	// piece.
	s.sup.RestartChildren(s.workers[w].pid)
}

// bereave takes back what worker w has left, and says when it is replaced.
func (s *stage) bereave(w int, cause error) {
	h := &s.workers[w]
	s.stats.restarts.Add(1)
	s.revoke(w) // what waited behind it is handed out anew
	if s.spec.Holds {
		s.restore()
	}
	if s.run.weak == weak.EmptyLedger {
		s.forgetAll()
	}
	h.opened = false
	h.lives++
	s.run.event(Restarted{Stage: s.spec.Name, Worker: w, Lives: h.lives, Err: cause, Retry: h.rest})
	if h.resting = h.rest > 0; h.resting {
		s.after(h.rest, alarm{worker: w})
	}
	h.rest = 0
	for _, i := range s.spec.Restart.Together {
		s.run.send(s.run.pidOf(i), &renew{with: s.spec.Name})
	}
}

// forgetAll empties the ledger, but for what workers have: see package weak.
func (s *stage) forgetAll() {
	for _, p := range s.lost {
		p.from, p.done = p.to, true
	}
	s.lost, s.waiting = nil, 0
	s.lots.clear()
}

// opened is told by every piece that comes back from a worker that has been opened.
func (s *stage) opened(h *hand) {
	if !h.opened {
		h.opened = true
		s.shut = false
		s.record.Opened()
	}
}

// mayOpen reports whether a worker that is not open may be given something: not in a pause, and after a failed open one at
// a time, until one succeeds.
func (s *stage) mayOpen() bool {
	if s.gaveUp {
		return false
	}
	if s.notBefore > 0 {
		if s.run.clock() < s.notBefore {
			return false
		}
		s.notBefore = 0
	}
	if !s.shut {
		return true
	}
	for i := range s.workers {
		if h := &s.workers[i]; !h.opened && h.depth > 0 {
			return false
		}
	}
	return true
}

// endIfNobodyIsLeft ends a stage that has given up, at the first item that is not done, when no worker is left to do it.
func (s *stage) endIfNobodyIsLeft() {
	if !s.gaveUp {
		return
	}
	for i := range s.workers {
		if h := &s.workers[i]; h.opened || h.depth > 0 {
			return
		}
	}
	for p := s.head; p != nil; p = p.next {
		if !p.done {
			s.doomAt(p)
			break
		}
	}
	s.releaseHead()
}

// renew replaces all workers because of the fate of another stage: each when it is through with what it is at.
func (s *stage) renew(m *renew) {
	if s.aborted || s.over {
		return
	}
	for i := range s.workers {
		h := &s.workers[i]
		if h.retiring || h.depth == 0 && !h.opened {
			continue
		}
		h.retiring = true
		for p := s.head; p != nil; p = p.next {
			if w := p.work.Load(); w != nil && p.worker == i {
				w.Yield.Store(true)
			}
		}
		s.revoke(i)
		s.cx.Send(h.pid, &retire{worker: i, with: m.with})
	}
}

// retired is told by a worker that it has done so. It is the same actor that goes on.
func (s *stage) retired(m *retire) {
	h := &s.workers[m.worker]
	if s.aborted || s.over || !h.retiring || h.pid != m.from {
		return
	}
	h.retiring, h.opened = false, false
	h.lives++
	if s.spec.Holds {
		s.restore()
	}
	s.stats.restarts.Add(1)
	s.run.event(Restarted{Stage: s.spec.Name, Worker: m.worker, Lives: h.lives, Err: fmt.Errorf("together with stage %q", m.with)})
}

// pidOf is the address of a stage, which need not be there yet.
func (r *Run) pidOf(stage int) *actor.PID {
	return actor.NewPID(r.sys.Address(), fmt.Sprintf("%s/s%d", r.name, stage))
}

// patience is how long an attempt may take before the stage goes on without it.
func (s *stage) patience() time.Duration { return later(s.spec.Timeout, s.run.cfg.Grace) }

// look finds the workers that are at one item for longer than its Timeout and the grace, and goes on without them.
func (s *stage) look(now time.Duration) {
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
		s.after(next-now, alarm{worker: noWorker})
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
	p.busy = 0
	p.err, p.died, p.fatal, p.canceled, p.retryable, p.spoiled, p.unsure = hung, true, false, false, false, false, false
	p.lot.read = true
	s.run.settle(own.Tally)
	s.run.jobs.name(s.spec.Name, i, w.Place.Incarnation, hung)
	s.run.event(Hung{Err: hung})
	p.hung = true

	s.forget(h.pid)
	if s.aborted { // because of another that hangs
		return
	}
	s.revoke(i)
	h.retiring = false
	if s.returned(p); s.aborted {
		return
	}
	s.bereave(i, hung)
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

// forget lets go of a child that does not answer: its actor is not waited for when the stage ends. It stays where messages
// find it until it leaves by itself.
func (s *stage) forget(child *actor.PID) {
	s.box.PostSystemMessage(&actor.Terminated{Who: child})
	s.run.goroutineEnded()
}
