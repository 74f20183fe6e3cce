package model

// The coordinator's side of a pool.

// steps takes a free slot as credit upstream, and then what copies and the way out do.
func (c *poolConfig) steps(s poolState, any func(string, poolState)) {
	to := func(step string, next poolState) { any(step, c.canonical(next)) }
	if s.open() > c.slots {
		s.wrong = poolOverfull
		to("overfull", s)
		return
	}
	for input := 1; input <= c.inputs; input++ {
		if s.slots[input].phase == poolAbsent {
			if s.open() < c.slots {
				t := s
				t.slots[input].phase = poolWaiting
				to("pull", t)
			}
			break
		}
	}
	for i := range c.copies {
		w := &s.copies[i]
		if size(w.tasks)+int(number(w.working != 0)) > c.window && c.without != "the look-up" {
			s.wrong = poolWindow
			to("overfull", s)
			return
		}
		c.dispatch(s, i, to)
		if w.alive {
			c.work(s, i, to)
		}
		c.read(s, i, to)
		c.faults(s, i, to)
	}
	c.release(s, to)
}

// dispatch sends any waiting input to a copy with room: a suspect alone, and nothing else while a suspect waits.
func (c *poolConfig) dispatch(s poolState, i int, to func(string, poolState)) {
	w := &s.copies[i]
	if !w.up || size(w.outstanding) >= c.window || w.isolated {
		return
	}
	suspectWaits, isolated, elsewhere := false, false, false
	for _, slot := range s.slots {
		suspectWaits = suspectWaits || slot.phase == poolWaiting && slot.suspect
	}
	for k, other := range s.copies {
		isolated = isolated || other.isolated
		elsewhere = elsewhere || k != i && other.up && other.outstanding != 0
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		slot := s.slots[input]
		if slot.phase != poolWaiting || slot.suspect && w.outstanding != 0 || !slot.suspect && suspectWaits && !isolated {
			continue
		}
		c.sawIf(slot.suspect, "suspect isolated")
		c.sawIf(slot.attempt > 0, "redispatch")
		c.sawIf(slot.attempt > 0 && elsewhere, "redispatch beside a working copy")
		c.sawIf(!w.alive, "dispatched to a dead copy")
		t := s
		t.copies[i].outstanding |= bit(input)
		t.copies[i].isolated = slot.suspect
		t.slots[input].phase = poolOut
		t.slots[input].attempt++
		if w.alive {
			t.copies[i].tasks |= bit(input)
		}
		if c.without == "waiting for the result" {
			t.slots[input].phase, t.slots[input].made = poolReleased, t.slots[input].attempt
		}
		to("dispatch", t)
		if c.fifo {
			return
		}
	}
}

// read takes what has arrived. It never waits for room.
func (c *poolConfig) read(s poolState, i int, to func(string, poolState)) {
	w := &s.copies[i]
	if !w.up {
		return
	}
	if w.wire[0] != (poolResult{}) && !c.unread(&s, w.wire[0]) {
		t := s
		r := take(t.copies[i].wire[:], 0)
		if c.without == "waiting for the result" {
			t.copies[i].outstanding &^= bit(r.input)
			for path := range r.group {
				c.consume(&t, poolOutput{r.input, r.attempt, path})
			}
		} else {
			c.accept(&t, i, r)
		}
		to("result", t)
	}
	if w.old[0] != (poolResult{}) {
		t := s
		c.accept(&t, i, take(t.copies[i].old[:], 0))
		to("old result", t)
	}
}

// unread is the fault of a coordinator that stops reading while it holds a result that it cannot hand on.
func (c *poolConfig) unread(s *poolState, r poolResult) bool {
	held := false
	for _, slot := range s.slots {
		held = held || slot.phase == poolDone
	}
	return c.without == "reading on" && r.input != c.head(s) && held
}

func (c *poolConfig) accept(s *poolState, i int, r poolResult) {
	w, slot := &s.copies[i], &s.slots[r.input]
	switch {
	case w.outstanding&bit(r.input) == 0 && c.without != "the look-up":
		c.saw("stale result dropped")
		return
	case c.streaming || c.without == "one result":
		c.part(s, i, r)
		return
	case slot.phase == poolReleased: // without the look-up: another group goes straight to the consumer
		if r.group > 0 {
			s.wrong = poolMixed
		}
		return
	}
	c.sawIf(!w.alive, "result of a dead copy accepted")
	c.sawIf(c.ordered && r.input != c.head(s), "result held for order")
	slot.phase, slot.group, slot.made = poolDone, r.group, r.attempt
	w.outstanding &^= bit(r.input)
	w.isolated = false
}

// part takes one output of a group.
func (c *poolConfig) part(s *poolState, i int, r poolResult) {
	w, slot := &s.copies[i], &s.slots[r.input]
	if r.from != slot.group {
		return // it is here already
	}
	if r.group > 0 {
		slot.group++
	}
	if slot.made == 0 {
		slot.made = r.attempt
	}
	if slot.made != r.attempt && (c.without == "one result" || c.without == "a function of the input") {
		s.wrong = poolMixed
	}
	if r.last {
		slot.phase = poolDone
		w.outstanding &^= bit(r.input)
		w.isolated = false
	}
}

// end ends a session, when the process has been reaped or the link is closed: nothing of it can be read any more.
func (c *poolConfig) end(s *poolState, i int, died bool) {
	w := &s.copies[i]
	c.sawIf(w.wire[0] != poolResult{}, "fence discarded a result on its way")
	old := w.old
	if c.without == "the fence" || c.without == "the look-up" {
		for _, r := range w.wire[:count(w.wire[:])] {
			if n := count(old[:]); n < len(old) {
				old[n] = r
			}
		}
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if w.outstanding&bit(input) == 0 || c.without == "waiting for the result" {
			continue
		}
		slot := &s.slots[input]
		switch {
		case died && c.blackBox && input != w.blackBox:
			c.saw("bystander not charged")
		case died && c.without != "deaths of the input":
			slot.deaths++
			slot.suspect = slot.suspect || c.without != "isolation"
		}
		c.sawIf(c.streaming && slot.group > 0, "session ended in the middle of a group")
		slot.phase = poolWaiting
		if slot.deaths >= 3 {
			c.saw("poison verdict")
			slot.phase, slot.failed, slot.group = poolDone, true, slot.handed
			if c.poison != 0 && input != c.poison {
				s.wrong = poolInnocent
			}
		}
	}
	*w = poolCopy{alive: w.alive, tasks: w.tasks, working: w.working, part: w.part, old: old}
	if !w.alive {
		w.tasks, w.working, w.part = 0, 0, 0
	}
}

// release hands outputs on one at a time, as there is credit downstream.
func (c *poolConfig) release(s poolState, to func(string, poolState)) {
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		slot := s.slots[input]
		if slot.phase == poolReleased {
			continue
		}
		ready := slot.phase == poolDone || c.streaming && (slot.phase == poolWaiting || slot.phase == poolOut)
		if n := count(s.inbox[:]); ready && slot.handed < slot.group && n < c.credit {
			t := s
			t.inbox[n] = poolOutput{input, slot.made, slot.handed}
			t.slots[input].handed++
			to("hand", t)
		}
		if slot.phase == poolDone && slot.handed == slot.group {
			c.sawIf(!c.ordered && input != c.head(&s), "slot freed out of order")
			t := s
			t.slots[input].phase = poolReleased
			to("free", t)
		}
		if c.ordered && c.without != "waiting for the head" {
			break
		}
	}
	if s.inbox[0] != (poolOutput{}) {
		t := s
		c.consume(&t, take(t.inbox[:], 0))
		to("consume", t)
	}
}

func (c *poolConfig) consume(s *poolState, o poolOutput) {
	if s.got[o.input] == 0 {
		s.attempt[o.input] = o.attempt
	}
	switch {
	case s.attempt[o.input] != o.attempt || s.got[o.input] != o.path:
		s.wrong = poolMixed
	case c.ordered && o.input < s.lastInput:
		s.wrong = poolDisordered
	}
	s.got[o.input]++
	if c.ordered {
		s.lastInput = o.input
	}
}
