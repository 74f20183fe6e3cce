package actors

import (
	"fmt"
	"math/rand/v2"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/restart"
	"github.com/weirflow/weir/stages"
)

// Workers die and are replaced: at once, or after a pause.

// HandleFailure is protoactor's door for supervision; it runs in the stage's goroutine. The piece of the dead
// incarnation comes as message: it is in the ledger, and complete up to the item that cost the worker.
//
// Failures come in the system lane, and would overtake what the worker has sent before it died. So the piece goes to
// the end of the lane in which workers answer, and its worker is replaced when it comes out there.
func (s *stage) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, _ *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	s.sup = sup
	p, _ := message.(*piece)
	if p == nil {
		// Not user code: the worker's own handling of a message has failed.
		s.run.fail(s.spec, fmt.Errorf("stage %q: bug in a worker: %v", s.spec.Name, reason))
		s.abort() // the child stays as it is until the run stops: a second Stop would be a dead letter
		return
	}
	s.cx.Send(s.self, p)
}

// countDeath notes that a worker has died at p, and reports whether it may be replaced. Workers that were at work when the last
// death was noted die of the same thing, as when a server that all of them use is gone: that is one death, not many in a
// row.
//
// How long a worker rests is its own affair: others may be at work all the time. But none is opened while one rests that
// could not be.
func (s *stage) countDeath(p *piece, err error) bool {
	h := &s.workers[p.worker]
	switch {
	case s.gaveUp:
		return false
	case s.undecided(p), p.attempt > 0 && s.finished > p.since:
		return true // others are finished while this one is tried again and again: it is the item, not the stage
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
	return several && p.attempt == 0 && p.Retryable && s.spec.Retry.Most() > 1 && !p.unopened && !p.flushing && p.unsure == 0
}

// progress notes that an item of p is finished.
func (s *stage) progress(p *piece) {
	s.finished++
	s.record.Progress()
	s.workers[p.worker].inARow = 0
}

// replaceWorker gives the worker that died at a piece, which has been judged, a new incarnation.
func (s *stage) replaceWorker(w int, cause error) {
	if s.aborted || s.over {
		return // it stays as it is until the run stops: a second Stop would be a dead letter
	}
	s.reclaim(w, cause)
	// At once, also before a pause: the state of the dead incarnation is closed by that. A new one is opened with its first
	// piece.
	s.sup.RestartChildren(s.workers[w].pid)
}

// reclaim takes back what worker w has left, and says when it is replaced.
func (s *stage) reclaim(w int, cause error) {
	h := &s.workers[w]
	s.stats.restarts.Add(1)
	s.revoke(w) // what waited behind it is handed out anew
	if s.spec.Holds {
		s.restore()
	}
	s.emptyLedger()
	h.opened = false
	h.lives++
	s.run.event(Restarted{Stage: s.spec.Name, Worker: w, Lives: h.lives, Err: cause, Retry: h.rest})
	if h.resting = h.rest > 0; h.resting {
		s.after(h.rest, func() { s.workers[w].resting = false })
	}
	h.rest = 0
	s.run.renewTogether(s.spec)
}

// opened is told by every piece that comes back from a worker that has been opened.
func (s *stage) opened(h *workerState) {
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

// giveUp fails the run at p, because too many workers have died. Those that are left may finish what comes before.
func (s *stage) giveUp(p *piece) {
	if s.gaveUp {
		s.endAt(p)
		return
	}
	s.gaveUp = true
	s.doom(p, stages.RestartErrorOf(s.spec.Name, s.record))
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
			if !p.doom { // else it ends there anyway, and its item may be settled
				s.endAt(p)
			}
			break
		}
	}
	s.releaseHead()
}

// endFarIfNobodyIsLeft is endIfNobodyIsLeft, also where nothing was handed out yet.
func (s *stage) endFarIfNobodyIsLeft() {
	s.endIfNobodyIsLeft()
	if !s.gaveUp || s.head != nil || s.aborted {
		return
	}
	for i := range s.workers {
		if s.workers[i].opened {
			return
		}
	}
	s.abort()
}
