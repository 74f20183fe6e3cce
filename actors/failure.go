package actors

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// Items fail: they are tried again, or fail for good. What becomes of the workers is in restart.go.

// judge decides what becomes of the item at which a piece has failed, or of its flush.
func (s *stage) judge(p *piece) {
	err := p.Err
	if p.faults != nil {
		s.judgeFaults(p)
		return
	}
	if s.ctx.Err() != nil && p.Canceled {
		s.lost = append(s.lost, p) // the function was told to end: this says nothing about the item
		return
	}
	switch {
	case err == plan.ErrDropped:
		s.dropItem(p)
		return
	case p.unopened && p.Fatal:
		s.doom(p, fmt.Errorf("stage %q: %w", s.spec.Name, err))
		return
	}
	if p.died && !p.spoiled {
		if again := s.countDeath(p, err); !again {
			s.giveUp(p)
			return
		}
	}
	switch {
	case p.unopened, p.unsure > 0:
		p.alone = max(p.alone, p.unsure) // it is not known which item it was: the next worker takes them one by one
		s.lost = append(s.lost, p)
	case p.flushing:
		s.judgeFlush(p, err)
	default:
		s.judgeItem(p, err)
	}
}

func (s *stage) judgeFlush(p *piece, err error) {
	if s.flushFails++; p.died && s.flushFails < plan.MaxAttempts {
		s.retryAfter(p, s.pause(s.flushFails, true))
		return
	}
	s.doom(p, fmt.Errorf("stage %q: flush: %w", s.spec.Name, err))
}

func (s *stage) judgeItem(p *piece, err error) {
	if p.attempt++; p.attempt == 1 {
		p.since = s.finished
	}
	if s.noCustody(p) {
		return
	}
	if p.Retryable && p.attempt < s.spec.Retry.Most() {
		pause := s.pause(p.attempt, p.died && !p.spoiled)
		s.stats.retries.Add(1)
		s.run.event(Retried{Stage: s.spec.Name, Item: s.itemID(p), Attempt: p.attempt, Err: err, Retry: pause})
		s.retryAfter(p, pause)
		return
	}
	item := &stages.ItemError{Stage: s.spec.Name, Item: s.itemID(p), Attempts: p.attempt, Err: err}
	if s.spec.Policy.Letters != nil && !p.Fatal {
		s.handOver(p, item)
		return
	}
	s.failedForGood(p, item, false)
}

// pause is how long an item waits that has failed so many times.
func (s *stage) pause(failed int, panicked bool) time.Duration {
	return s.spec.Retry.Pause(failed, panicked, rand.Float64())
}

// retryAfter hands a piece out again, after a pause. In a stage with several workers, what lies behind its item does not wait.
func (s *stage) retryAfter(p *piece, pause time.Duration) {
	if pause <= 0 {
		s.lost = slices.Insert(s.lost, 0, p) // others may wait for it
		return
	}
	s.detach(p)
	s.win.widen() // what waits behind it in order is not slow
	p.waits = true
	s.asleep++
	s.after(pause, func() { s.wake(p) })
}

// wake ends the pause of a piece.
func (s *stage) wake(p *piece) {
	p.waits = false
	s.asleep--
	s.lost = slices.Insert(s.lost, 0, p)
	if s.spec.OneByOne() || s.spec.Streaming {
		s.relist()
	}
}

// detach leaves a piece with the item at which it stands, and makes what lies behind it one of the lost; but not where items
// are worked on in order, or where workers wait for their parts' turn.
func (s *stage) detach(p *piece) {
	if p.items() > 1 && !s.spec.OneByOne() {
		s.lost = append(s.lost, s.split(p, 1))
	}
}

// failedForGood goes on behind the item at which a piece stands, which has failed for good, or fails the run there.
func (s *stage) failedForGood(p *piece, item *stages.ItemError, letter bool) {
	p.stops = s.stops(p) // behind settle, what it was made of may be gone
	s.run.lastFailed.Store(item)
	if told := s.run.cfg.OnFailed; told != nil {
		s.run.countFailed(s.spec, item, letter, p.replays > 0)
		c := p.lot.chunk.Head().IDs.From(p.from)
		at := c.Peek()
		told(Fault{s.spec, at.ID(), at, item, p.Fatal, p.hung, letter, s.stats.finished.Load()})
		s.settle(p, plan.Failed)
		switch {
		case s.run.cfg.FailsHere && (p.Fatal || s.spec.Policy.Strict()):
			s.run.fail(s.spec, item)
			s.doomAt(p)
			return
		case !p.Fatal && !s.spec.Policy.Strict() && p.hung && s.tooManyHang(): // what hangs is here, so this is judged here
			s.run.fail(s.spec, s.allHang(item))
			s.doomAt(p)
			return
		}
		s.pass(p)
		return
	}
	s.settle(p, plan.Failed)
	err := s.run.failedForGood(s.spec, item, letter, p.replays > 0)
	switch {
	case p.Fatal:
		err = item
	case err == nil && p.hung && s.tooManyHang():
		err = s.allHang(item)
	}
	if err != nil {
		s.run.fail(s.spec, err)
		s.doomAt(p)
		return
	}
	s.pass(p)
}

// dropItem is judgeItem for an item that has not failed, but of which nothing comes.
func (s *stage) dropItem(p *piece) {
	s.stats.filtered.Add(1)
	if p.replays == 0 {
		s.stats.finished.Add(1)
		s.progress(p)
	}
	s.settle(p, plan.Filtered)
	s.pass(p)
}

// pass goes on behind the item at which p stands: its place leaves the stage.
func (s *stage) pass(p *piece) {
	p.from++
	p.attempt, p.resume = 0, plan.Partial{}
	s.place(p, result{inputs: 1})
	if p.from < p.to || p.flush != plan.NoFlush {
		s.lost = append(s.lost, p)
	} else {
		p.done = true
	}
}

func (s *stage) itemID(p *piece) stages.ID {
	return stages.IDOf(s.run.graph, p.lot.chunk.Head().IDs.At(p.from))
}

// settle says in the account what has become of the item at which p stands.
func (s *stage) settle(p *piece, fate plan.Fate) {
	var t plan.Tally
	s.run.watch(&t)
	if f := p.resume.Family; f != nil {
		f.Settle(&t, fate) // what was handed on of it goes its way
	} else {
		t.Settle(&p.lot.chunk.Head().IDs, p.from, p.from+1, fate)
	}
	s.run.settle(&t)
}

// doom fails the run at p, of which the item is not settled: an ordered stage first hands on what comes before.
func (s *stage) doom(p *piece, err error) {
	s.run.fail(s.spec, err)
	s.endAt(p)
}

// endAt has a run that has failed already end at p, of which the item is not settled, if it does not end before.
func (s *stage) endAt(p *piece) {
	if p.items() > 0 {
		p.stops = s.stops(p)
	}
	s.doomAt(p)
}

// doomAt is endAt where it is known how far the outputs are complete.
func (s *stage) doomAt(p *piece) {
	p.doom = true
	if s.doomed == nil || p.before(s.doomed) {
		s.doomed = p
	}
	if !s.spec.Ordered {
		s.abort()
	}
}
