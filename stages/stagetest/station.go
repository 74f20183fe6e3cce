package stagetest

import (
	"fmt"
	"slices"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A station is a stage that has workers. There is never more than one item under way, so it needs one of them.
type station struct {
	w      *walk
	spec   *plan.Stage
	worker *worker // nil: it is still to be opened
	lives  int     // of the worker

	todo []*parcel // in input order
	held []*parcel // that the worker holds, in input order
	at   *parcel   // the one that it is at

	taken                 uint64 // items
	rounds                uint64 // results of a fork that have been numbered
	failed, finished      int64
	inARow, flushFailures int
	over                  bool // it has failed the run
}

// A parcel is what a worker is given: an item, as a rule alone in its chunk, or the word to flush.
type parcel struct {
	item    plan.Chunk // nil: there is none
	number  uint64     // of its first item, among all that the stage was given
	from    int        // the item of the chunk
	flush   plan.Flush
	epoch   int
	attempt int          // attempts at the item that have failed
	replays int          // times that it was given to a worker that held it
	resume  plan.Partial // what of it has been handed on
}

func (s *station) take(c plan.Chunk, _ int) {
	h := c.Head()
	if c.Len() > 0 {
		s.work(&parcel{item: c, number: s.taken, epoch: h.Epoch})
		s.taken++
	}
	if h.Round.Fork != 0 {
		s.toAll(func(out int) plan.Chunk {
			if !s.spec.Marks(out, h.Round.Fork) {
				return nil
			}
			return s.w.mark(s.spec, h.Epoch, false, h.Round)
		})
	}
	if !h.Last {
		return
	}
	if s.spec.Holds {
		s.work(&parcel{flush: flushOf(s.spec), epoch: h.Epoch})
	}
	s.toAll(func(int) plan.Chunk { return s.w.mark(s.spec, h.Epoch, true, plan.Round{}) })
}

// flushOf is how what s holds at the end of an epoch leaves it.
func flushOf(s *plan.Stage) plan.Flush {
	switch {
	case !s.Holds:
		return plan.NoFlush
	case s.DropLast:
		return plan.DropHeld
	}
	return plan.FlushHeld
}

// toAll hands what chunk returns for each output to it.
func (s *station) toAll(chunk func(out int) plan.Chunk) {
	for out := range s.spec.Outs {
		if s.over {
			return // nothing is known of what comes behind a failure
		}
		if c := chunk(out); c != nil {
			s.w.push(plan.Port{Stage: s.spec.Index, Out: out}, c)
		}
	}
}

func (s *station) work(p *parcel) {
	s.todo = append(s.todo, p)
	s.catchUp()
}

// catchUp does what is to be done, and what comes back because a worker has died.
func (s *station) catchUp() {
	for len(s.todo) > 0 && !s.over {
		p := s.todo[0]
		s.todo = s.todo[1:]
		s.try(p)
	}
}

func (s *station) try(p *parcel) {
	if s.worker == nil {
		s.lives++
		s.worker = newWorker(s)
	}
	s.at = p
	o := s.worker.do(p)
	s.w.account.Add(&s.worker.tally)
	p.resume = o.open
	if o.done {
		p.resume = plan.Partial{}
		p.attempt = 0
		if p.replays == 0 {
			s.finished++
		}
	}
	if o.done && p.replays == 0 || len(o.gone) > 0 {
		s.inARow, s.flushFailures = 0, 0
	}
	s.keep(p, o)
	s.emit(p, o)
	switch {
	case o.err != nil:
		s.judge(p, o)
	case p.item == nil:
		s.flushFailures = 0
	}
	if o.died && !s.over {
		s.replace()
	}
}

// keep notes what is held when p is done with.
func (s *station) keep(p *parcel, o outcome) {
	if s.spec.Holds && o.done {
		s.held = append(s.held, p)
	}
	if s.spec.Groups == 0 {
		s.held = s.held[max(len(s.held)-o.held, 0):]
		return
	}
	s.held = slices.DeleteFunc(s.held, func(p *parcel) bool { return slices.Contains(o.gone, p.number) })
}

// replace ends the worker. What it held is the first thing that its successor is given.
func (s *station) replace() {
	s.worker.close()
	s.worker = nil
	for _, p := range s.held {
		p.replays++
		p.from = 0
	}
	s.todo = append(s.held, s.todo...)
	s.held = nil
}

// judge decides what becomes of the item that has failed, or of the flush.
func (s *station) judge(p *parcel, o outcome) {
	if o.died && !o.spoiled {
		s.inARow++
	}
	switch {
	case o.err == plan.ErrDropped:
		if p.replays == 0 {
			s.finished++
			s.inARow = 0
		}
		s.settle(p, plan.Filtered)
	case o.died && s.inARow > plan.MaxInARow:
		s.fail(fmt.Errorf("stage %q: %d workers lost in a row: %w", s.spec.Name, s.inARow, o.err))
	case o.unopened && o.fatal:
		s.fail(fmt.Errorf("stage %q: %w", s.spec.Name, o.err))
	case o.unopened:
		s.again(p)
	case o.flushing:
		if s.flushFailures++; !o.died || s.flushFailures >= plan.MaxAttempts {
			s.fail(fmt.Errorf("stage %q: flush: %w", s.spec.Name, o.err))
		} else if !o.done {
			s.again(p)
		}
	default:
		s.judgeItem(p, o)
	}
}

func (s *station) judgeItem(p *parcel, o outcome) {
	p.attempt++
	if o.died && !o.spoiled && p.attempt < plan.MaxAttempts {
		s.again(p)
		return
	}
	item := &stages.ItemError{Stage: s.spec.Name, Item: s.itemOf(p.item), Attempts: p.attempt, Err: o.err}
	s.w.failed = append(s.w.failed, item)
	s.failed++
	s.finished++
	s.settle(p, plan.Failed)
	switch {
	case o.fatal, s.spec.Policy.Strict():
		s.fail(item)
	case !s.spec.Policy.Tolerates(s.failed, s.finished, plan.DefaultProbation, false):
		s.fail(s.overBudget(item))
	}
}

func (s *station) itemOf(c plan.Chunk) stages.ID { return stages.IDOf(s.w.graph, c.Head().IDs.At(0)) }

// overBudget is the error of a stage that has failed too often; last is the item that was one too many, or nil at the
// end.
func (s *station) overBudget(last *stages.ItemError) error {
	err := fmt.Errorf("stage %q: %d of %d items failed: %w", s.spec.Name, s.failed, s.finished, stages.ErrBudget)
	if last != nil {
		return fmt.Errorf("%w; the last: %w", err, last)
	}
	return err
}

func (s *station) again(p *parcel) { s.todo = append([]*parcel{p}, s.todo...) }

func (s *station) fail(err error) {
	s.over = true
	s.w.fail(s.spec, err)
}

// settle says what has become of the item of p.
func (s *station) settle(p *parcel, fate plan.Fate) {
	f := p.resume.Family
	if f == nil {
		s.w.settle(p.item, fate)
		return
	}
	var t plan.Tally
	f.Settle(&t, fate) // what was handed on of it goes its way
	s.w.account.Add(&t)
}

// emit hands on what has come of p.
func (s *station) emit(p *parcel, o outcome) {
	if o.outs == nil {
		if o.out != nil {
			o.out.Head().Epoch = p.epoch
			s.w.push(plan.Port{Stage: s.spec.Index}, o.out)
		}
		return
	}
	var round plan.Round
	gone := true
	for _, c := range o.outs {
		gone = gone && c == nil
	}
	if gone {
		return
	}
	if o.begun != nil {
		s.rounds++
		round = o.begun.Close(s.rounds)
	}
	s.toAll(func(out int) plan.Chunk {
		marks := round.Fork != 0 && s.spec.Marks(out, round.Fork)
		c := o.outs[out]
		switch {
		case c == nil && !marks:
			return nil
		case c == nil:
			return s.w.mark(s.spec, p.epoch, false, round)
		case marks:
			c.Head().Round = round
		}
		c.Head().Epoch = p.epoch
		return c
	})
}

func (s *station) complete() {
	if !s.spec.Policy.Tolerates(s.failed, s.finished, plan.DefaultProbation, true) {
		s.fail(s.overBudget(nil))
	}
}

func (s *station) close() {
	if s.worker != nil {
		s.worker.close()
	}
}
