package stagetest

import (
	"slices"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/restart"
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

	taken            uint64 // items
	rounds           uint64 // results of a fork that have been numbered
	failed, finished int64
	over             bool // it has failed the run

	deaths        *restart.Record
	flushFailures int               // in a row
	last          *stages.ItemError // that failed for good
	notBefore     time.Duration     // nothing is tried
	renewed       bool              // the worker is to be replaced together with another stage's
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

func newStation(w *walk, spec *plan.Stage) *station {
	return &station{w: w, spec: spec, deaths: restart.New(spec.Restart.Limits())}
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
	if s.renewed {
		if s.renewed = false; s.worker != nil {
			s.again(p)
			s.replace()
			return
		}
	}
	s.w.clock = max(s.w.clock, s.notBefore)
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
	if !o.unopened {
		s.deaths.Opened()
	}
	if o.done && p.replays == 0 || len(o.gone) > 0 {
		s.deaths.Progress()
		s.flushFailures = 0
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
		for _, other := range s.spec.Restart.Together {
			s.w.posts[other].(*station).renewed = true // by its next parcel: it may be at one
		}
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

func (s *station) itemOf(c plan.Chunk) stages.ID { return stages.IDOf(s.w.graph, c.Head().IDs.At(0)) }

func (s *station) complete() {
	if !s.spec.Policy.Tolerates(s.failed, s.finished, plan.DefaultProbation, true) {
		s.fail(s.overBudget())
	}
}

func (s *station) close() {
	if s.worker != nil {
		s.worker.close()
	}
}
