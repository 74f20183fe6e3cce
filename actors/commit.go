package actors

import "github.com/weirflow/weir/internal/plan"

// returned takes a piece back from its worker.
func (s *stage) returned(p *piece) {
	h := &s.workers[p.worker]
	h.depth--
	if s.aborted || s.over {
		if p.out != nil {
			p.out.Free()
		}
		return
	}
	p.state.Store(home)
	h.suspect = false
	if !p.unopened && s.far == nil {
		s.opened(h)
	}
	n := p.reached - p.from
	s.observe(p, n)
	if s.far != nil {
		s.returnedFar(p, p.to-p.from, n)
	}
	s.advance(p, p.reached, result{chunk: p.out, branches: p.branches, begun: p.begun}, p.dropped, p.held)
	p.out, p.branches, p.begun, p.resume = nil, nil, nil, p.open
	for i := range p.outs { // whatever its worker does next must not wait for their turn
		if d := p.outs[i].door; d != nil {
			p.outs[i].door = nil
			d.open()
		}
	}
	if n > 0 && p.replays == 0 || len(p.gone) > 0 {
		s.progress(p)
		s.flushFails = 0
	}
	if s.spec.OneByOne() && (p.Err != nil || p.from < p.to) {
		s.revoke(p.worker) // what waited behind it must not overtake it
	}
	switch {
	case p.Err != nil:
		s.judge(p)
	case p.from < p.to: // called back, or full of outputs: the rest is handed out anew
		p.single = p.late && s.spec.Mailbox > 1
		s.lost = append(s.lost, p)
	default:
		p.done = true
		if p.flush != plan.NoFlush {
			s.flushed(p)
		}
	}
	if s.aborted {
		return
	}
	s.release(p)
	if (s.spec.OneByOne() || s.spec.Streaming || s.far != nil) && len(s.lost) > 1 {
		s.relist()
	}
	s.watchHeld()
}

// advance moves p to item reached and places the result of what lies before.
func (s *stage) advance(p *piece, reached int, o result, dropped, held int) {
	n := reached - p.from
	if dropped > 0 {
		s.stats.filtered.Add(int64(dropped))
	}
	if n > 0 {
		if p.replays == 0 {
			s.stats.finished.Add(int64(n))
		}
		p.attempt, p.resume = 0, plan.Partial{}
	}
	// Inputs leave when nothing holds them any more: what was held before and what came, less what is held now. (After
	// restore nothing was held before: those places have never been given back.)
	o.inputs = n
	if s.spec.Holds {
		before := s.kept.items
		s.keep(p, reached, held)
		o.inputs = n + before - s.kept.items
	}
	p.from = reached
	if o.chunk != nil {
		o.chunk.Head().Epoch = p.epoch
	}
	for _, c := range o.branches {
		if c != nil {
			c.Head().Epoch = p.epoch
		}
	}
	s.place(p, o)
}

// place puts a result where it waits for its turn.
func (s *stage) place(p *piece, o result) {
	o.inputs = s.creditOnFinish(o.inputs)
	if s.spec.Ordered || p.era != s.outEra {
		p.outs = append(p.outs, o)
		return
	}
	s.emit(o, p.epoch)
}

// release moves what is ready to the outbox: in order, or, if the stage is not ordered, up to the end of the epoch.
func (s *stage) release(p *piece) {
	if s.spec.Ordered {
		s.releaseHead()
		return
	}
	if p.done && p.era == s.outEra {
		s.unlink(p)
	}
	s.releaseMarks()
}

// releaseMarks ends the epochs of which everything is out.
func (s *stage) releaseMarks() {
	for s.head != nil && s.head.mark {
		s.releaseMark(s.head)
		s.releaseEra()
	}
}

// releaseHead is the order of an ordered stage: one look per piece.
func (s *stage) releaseHead() {
	for h := s.head; h != nil; h = s.head {
		for i := range h.outs {
			s.emit(h.outs[i], h.epoch)
			h.outs[i] = result{}
		}
		h.outs = h.outs[:0]
		switch {
		case h.doom:
			s.endRounds(h)
			s.abort()
			return
		case !h.done:
			return
		}
		if h.round.Fork != 0 {
			s.endRound(h)
		}
		switch {
		case h.mark:
			s.releaseMark(h)
		default:
			s.unlink(h)
		}
	}
}

// releaseMark ends an epoch: everything before it is in the outbox.
func (s *stage) releaseMark(p *piece) {
	s.outEra++
	s.toAll(func() plan.Chunk {
		c := s.spec.Pool.Get(0)
		c.Head().Epoch, c.Head().Last = p.epoch, true
		return c
	}, 1)
	s.unlink(p)
}

// releaseEra lets go of the results of the epoch that has just begun.
func (s *stage) releaseEra() {
	for p := s.head; p != nil && !p.mark; {
		next := p.next
		for i := range p.outs {
			s.emit(p.outs[i], p.epoch)
			p.outs[i] = result{}
		}
		p.outs = p.outs[:0]
		if p.done {
			s.unlink(p)
		}
		p = next
	}
}

// observe learns from a piece how long an item takes. An isolated outlier is a preemption more often than a slow item:
// one sample moves the estimate at most threefold.
func (s *stage) observe(p *piece, n int) {
	s.stats.busy.Add(int64(p.busy))
	if n == 0 {
		return
	}
	x := float64(p.busy)/float64(n) + 0.5
	if s.service == 0 {
		s.service = x
	} else {
		s.service += (min(x, 8*s.service) - s.service) / 4
	}
}
