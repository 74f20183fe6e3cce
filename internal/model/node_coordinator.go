package model

// The program around a node: what it accepts, its consumer, and its token.

func (c *nodeConfig) coordinator(s nodeState, to func(string, nodeState)) {
	if s.up && s.wire[0] != (nodeFrame{}) {
		c.sawIf(!s.nodeAlive, "frame of a dead node accepted before the fence")
		t := s
		c.accept(&t, take(t.wire[:], 0))
		to("accept", t)
	}
	if s.up && s.old[0] != (nodeFrame{}) {
		t := s
		c.accept(&t, take(t.old[:], 0))
		to("old frame", t)
	}
	if s.up && !s.nodeAlive {
		t := s
		c.close(&t)
		to("reap", t)
	}
	if !s.up && !s.eos {
		t := s
		t.up, t.nodeAlive, t.wrote = true, true, s.next
		if t.yielded = s.accepted; c.without == "what is accepted" {
			t.yielded = s.finished
		}
		to("spawn", t)
	}
	if s.inbox[0] != (nodeFrame{}) && !s.inBody {
		t := s
		t.body, t.inBody = take(t.inbox[:], 0), true
		to("body", t)
	}
	if s.inBody {
		t := s
		c.returned(&t)
		to("return", t)
	}
}

func (c *nodeConfig) accept(s *nodeState, f nodeFrame) {
	if f.seq != s.next {
		c.saw("frame of an old session dropped")
		return
	}
	s.next++
	s.accepted |= f.done
	s.eos = s.eos || f.end
	f.seq = 0
	if n := count(s.inbox[:]); n == len(s.inbox) {
		s.wrong = nodeOverfull
	} else {
		s.inbox[n] = f
	}
}

// returned is the end of the consumer's loop over one output.
func (c *nodeConfig) returned(s *nodeState) {
	if repeated := s.body.items & s.seen; repeated != 0 {
		c.saw("output repeated since the last save")
		if !c.automatic || repeated&^s.again != 0 {
			s.wrong = nodeRepeated
		}
		s.again &^= repeated
	}
	s.seen |= s.body.items
	s.finished |= s.body.done
	s.ended = s.ended || s.body.end
	s.body, s.inBody = nodeFrame{}, false
}

// tokenNow is what a token says that is taken now.
func (c *nodeConfig) tokenNow(s *nodeState) uint8 {
	switch c.without {
	case "what is finished":
		return s.accepted
	case "holes":
		return upTo(highest(s.finished))
	case "the end of the loop":
		return s.finished | s.body.done
	}
	return s.finished
}

// save is optional, so that nothing waits for it.
func (c *nodeConfig) save(s nodeState, to func(string, nodeState)) {
	now := c.tokenNow(&s)
	if !c.automatic {
		if now != s.token || s.seen != s.saved {
			t := s
			t.token, t.saved = now, s.seen
			to("!save", t)
		}
		return
	}
	if !s.writing && now != s.token {
		t := s
		t.pending, t.writing = now, true
		to("!snapshot", t)
	}
	if s.writing {
		t := s
		t.token, t.pending, t.writing = s.pending, 0, false
		if c.without != "the end of the loop" {
			t.again &= s.seen &^ t.token
		}
		to("!rename", t)
	}
}

func (c *nodeConfig) resumed(s nodeState) nodeState {
	s.alive, s.next = true, 1
	s.accepted, s.finished = s.token, s.token
	if c.automatic {
		s.again = s.seen &^ s.token
	} else {
		s.seen = s.saved
	}
	c.sawIf(s.again != 0, "resume that will repeat")
	c.sawIf(prefix(s.token) < highest(s.token), "resume from a token with a hole")
	return s
}
