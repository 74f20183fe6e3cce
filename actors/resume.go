package actors

import "github.com/weirflow/weir/internal/plan"

// A source goes on where it was in another process, which has died. What was done there is not yielded again.

// resume has the source begin where r says.
func (s *source) resume(r *Resume) {
	if r == nil {
		return
	}
	s.epoch = r.Epochs
	s.done = r.Done
	if d := s.doneNow(); d != nil {
		s.index = d.First()
	}
	s.feed.Start(s.epoch, s.index)
	if at, ok := r.Stop[s.spec.Index]; ok {
		s.stop = &at
		s.atStop()
	}
}

// doneNow is what is done of the present epoch, or nil.
func (s *source) doneNow() *plan.Spans { return s.done[EpochOf{s.spec.Index, s.epoch}] }

func (s *source) isDone(index int64) bool {
	d := s.doneNow()
	return d != nil && d.Has(index)
}

// before is how many of the next n items come before the place where the source is to end.
func (s *source) before(n int) int {
	if s.stop == nil || s.epoch < s.stop.Epoch {
		return n
	}
	if s.epoch > s.stop.Epoch {
		return 0
	}
	return int(max(min(int64(n), s.stop.Index-s.index), 0))
}

// atStop ends the source at the place where it is to.
func (s *source) atStop() {
	if s.stop == nil || s.epoch < s.stop.Epoch || s.epoch == s.stop.Epoch && s.index < s.stop.Index {
		return
	}
	s.ending, s.last = true, s.epoch == s.stop.Epoch
	s.tap.gate.Shut()
	s.tap.cancel()
}

// notDone returns c without the items that are done; they begin at the source's position.
func (s *source) notDone(c plan.Chunk) plan.Chunk {
	d := s.doneNow()
	if d == nil {
		return c
	}
	n := c.Len()
	rest := s.spec.Pool.Get(n)
	rest.Head().Epoch = c.Head().Epoch
	for i := 0; i < n; {
		from := i
		for i < n && !d.Has(s.index+int64(i)) {
			i++
		}
		rest.Append(c, from, i)
		for i < n && d.Has(s.index+int64(i)) {
			i++
		}
	}
	c.Free()
	return rest
}

// told tells how far the source is.
func (s *source) told() {
	if tell := s.run.cfg.OnYielded; tell != nil {
		tell(s.spec.Index, Position{s.epoch, s.index})
	}
}
