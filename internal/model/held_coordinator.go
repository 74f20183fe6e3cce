package model

func (c *heldConfig) steps(s heldState, to func(string, heldState)) {
	if s.nodeAlive && s.up {
		c.node(s, to)
	}
	if s.nodeKills > 0 && s.nodeAlive {
		t := s
		t.nodeKills--
		c.sawIf(s.held.queue[0] != 0, "node killed in the middle of what was made of an input")
		c.sawIf(s.held.first[0] != 0, "node killed with something in the first aggregate")
		c.sawIf(s.held.second[0] != pack{}, "node killed with something in the second aggregate")
		t.clearNode()
		t.nodeAlive = false
		c.vary(&t)
		to("!killNode", t)
	}
	if !s.alive {
		to("resume", c.resumed(s))
		return
	}
	if s.up && s.wire[0] != (heldFrame{}) {
		t := s
		c.accept(&t, take(t.wire[:], 0))
		to("accept", t)
	}
	if s.up && !s.nodeAlive {
		t := s
		t.up, t.wire = false, [2]heldFrame{}
		c.charge(&t)
		to("reap", t)
	}
	if !s.up && !s.eos {
		t := s
		t.up, t.nodeAlive = true, true
		t.yielded, t.told, t.sent, t.held = s.accepted, s.accepted, s.next, s.residue
		c.sawIf(s.residue != heldStages{}, "restart with residue")
		c.sawIf(prefix(s.accepted) < highest(s.accepted), "restart with a hole in what is done")
		to("spawn", t)
	}
	if s.inbox[0] != (heldFrame{}) {
		t := s
		c.consume(&t, take(t.inbox[:], 0))
		to("consume", t)
	}
	if s.programKills > 0 { // saving matters only to a program that may still die
		c.save(s, to)
	}
}

// charge counts a death to what the node was working on. The third one is the verdict, which only the coordinator can
// pass: the next node is told that the input is done.
func (c *heldConfig) charge(s *heldState) {
	if s.suspected == 0 {
		return
	}
	if s.deaths++; s.deaths == 3 && c.without != "the coordinator's verdict" {
		s.accepted |= bit(s.suspected)
		s.given |= bit(s.suspected)
		s.failed++
	}
	s.suspected = 0
}

func (c *heldConfig) accept(s *heldState, f heldFrame) {
	if f.seq != s.next || count(s.inbox[:]) == len(s.inbox) {
		s.wrong = heldOverfull
		return
	}
	s.next++
	s.accepted |= f.done
	s.eos = s.eos || f.end
	if f.failed {
		s.failed++
		s.given |= bit(2)
		if c.without != "paths of failures" {
			s.partial[2] |= bit(1)
		}
	}
	hasOutput := f.packs[0] != pack{}
	for _, p := range f.packs {
		for _, l := range p.leaves[:count(p.leaves[:])] {
			// Behind a second one-to-many stage a leaf is accepted with the last of what was made of its batch.
			if p.piece != 1 || c.without == "waiting for the other piece" {
				s.partial[l.input()] |= bit(l.path())
			}
		}
		if p.piece > 0 {
			s.pieces[p.last().input()] |= p.last().piece(p.piece)
		}
	}
	for _, p := range f.packs {
		s.given |= p.inputs()
	}
	if s.filtered |= f.without &^ s.given; c.without == "what was accepted before" {
		s.filtered |= f.without
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.accepted&bit(input) != 0 {
			s.partial[input] = 0 // done: nothing more has to be known
		}
	}
	if !c.suppress && (hasOutput || c.without != "residue of frames without outputs") {
		s.residue = f.residue
		c.sawIf(f.residue != heldStages{}, "a batch took a part: residue kept")
	}
	if alive := s.held.inputs() &^ s.residue.inputs(); s.nodeAlive && c.suppress && s.accepted&alive != 0 {
		s.wrong = heldEarly
	}
	f.seq, f.done, f.without, f.failed, f.residue = 0, 0, 0, false, heldStages{}
	if hasOutput || f.end {
		s.inbox[count(s.inbox[:])] = f
	}
}

func (c *heldConfig) consume(s *heldState, f heldFrame) {
	s.ended = s.ended || f.end
	n := 0
	for _, p := range f.packs {
		for _, l := range p.leaves[:count(p.leaves[:])] {
			n++
			c.deliver(s, l, p.piece)
		}
	}
	if full := c.first * max(1, c.second); n > 0 && !c.timer && !c.split && !c.tee {
		if s.short {
			s.wrong = heldShort
		}
		s.short = n < full
	}
}

func (c *heldConfig) deliver(s *heldState, l leaf, piece uint8) {
	input := l.input()
	if piece > 0 {
		if s.gotPieces[input]&l.piece(piece) != 0 {
			s.wrong = heldRepeated
		}
		s.gotPieces[input] |= l.piece(piece)
		return
	}
	switch {
	case s.got[input]&bit(l.path()) != 0, s.got[input] != 0 && s.attempt[input] != l.attempt():
		s.wrong = heldRepeated
	case c.ordered && l <= s.last:
		s.wrong = heldOrder
	}
	s.got[input] |= bit(l.path())
	s.attempt[input], s.last = l.attempt(), l
}

// save writes the token, or kills the program.
func (c *heldConfig) save(s heldState, to func(string, heldState)) {
	done := s.terminal()
	if c.without == "what is finished" {
		done = s.accepted
	}
	if done != s.savedDone || s.got != s.savedGot || s.failed != s.savedFailed || s.gotPieces != s.savedPieces {
		t := s
		t.savedDone, t.savedGot, t.savedFailed, t.savedPieces, t.savedLast = done, s.got, s.failed, s.gotPieces, s.last
		t.savedGiven, t.savedFiltered = s.given, s.filtered&done
		to("!save", t)
	}
	t := heldState{
		savedDone: s.savedDone, savedGot: s.savedGot, savedFailed: s.savedFailed, savedPieces: s.savedPieces, savedLast: s.savedLast,
		savedGiven: s.savedGiven, savedFiltered: s.savedFiltered,
		nodeKills: s.nodeKills, programKills: s.programKills - 1, incarnation: s.incarnation, wrong: s.wrong,
	}
	c.vary(&t)
	to("!killProgram", t)
}

// resumed is a new program at the place of the token. What is in part finished is suppressed just as what is in part
// accepted is.
func (c *heldConfig) resumed(s heldState) heldState {
	s.alive, s.next = true, 1
	s.accepted, s.got, s.partial, s.failed, s.last = s.savedDone, s.savedGot, s.savedGot, s.savedFailed, s.savedLast
	s.gotPieces, s.pieces = s.savedPieces, s.savedPieces
	s.given, s.filtered = s.savedGiven, s.savedFiltered
	if c.fails && s.failed > 0 {
		s.partial[2] |= bit(1)
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.accepted&bit(input) != 0 {
			s.partial[input] = 0
		} else if s.partial[input] != 0 {
			c.saw("resume with an input finished in part")
		}
	}
	return s
}
