package model

// What the coordinator does with entries, and what of it outlives the program.

func (c *entryConfig) accept(s *entryState, i int, e entry) {
	w := &s.copies[i]
	if w.outstanding&bit(e.input) == 0 {
		return
	}
	if c.without == "one entry" && e.outputs != 0 && e.failures == 0 && e.input == 1 && w.wire[0].input == 1 {
		c.outputs(s, e) // the rest is to come
		return
	}
	w.outstanding &^= bit(e.input)
	s.phase[e.input] = entryAccepted
	c.outputs(s, e)
	fresh := e.failures &^ s.failed[e.input]
	if c.without == "failures of the token" {
		fresh = e.failures
	}
	c.sawIf(fresh != 0 && e.outputs != 0, "outputs and a failure in one entry")
	c.sawIf(e.failures != fresh, "failure that the token knows")
	switch {
	case fresh == 0, c.without == "counting at the coordinator" && c.policy == entrySkips:
	case c.policy == entryLetters:
		s.unwritten[e.input] = fresh
		if c.without == "the sync" {
			s.failed[e.input] |= fresh
			s.counted += uint8(size(fresh))
		}
	default:
		s.failed[e.input] |= fresh
		s.counted += uint8(size(fresh))
		s.stopped = c.policy == entryStops
	}
	c.settle(s, e.input)
}

// outputs takes those that were neither delivered before nor counted as failed: both are in the token.
func (c *entryConfig) outputs(s *entryState, e entry) {
	settled := s.got[e.input] | s.failed[e.input]
	switch c.without {
	case "paths of the token":
		settled = 0
	case "failures of the token":
		settled = s.got[e.input]
	case "one entry":
		settled = s.failed[e.input]
	}
	c.sawIf(e.outputs&settled != 0, "output that the token knows")
	s.outputs[e.input] |= e.outputs &^ settled
}

// settle ends an input of which nothing is alive.
func (c *entryConfig) settle(s *entryState, input uint8) {
	if s.phase[input] != entryAccepted || s.outputs[input] != 0 {
		return
	}
	for _, o := range s.inbox {
		if o.input == input {
			return
		}
	}
	if c.without != "the sync" && (s.unwritten[input] != 0 || s.unsynced[input] != 0) {
		return
	}
	s.phase[input] = entryTerminal
	s.terminal |= bit(input)
}

// finish hands outputs to the consumer, and failures to the file.
func (c *entryConfig) finish(s entryState, to func(string, entryState)) {
	for input := uint8(1); input <= entryInputs; input++ {
		if s.outputs[input] != 0 && count(s.inbox[:]) < 2 {
			t := s
			path := highest(s.outputs[input] & -s.outputs[input])
			t.outputs[input] &^= bit(path)
			t.inbox[count(t.inbox[:])] = entryOutput{input, path}
			to("hand", t)
		}
		if s.unwritten[input] != 0 && int(s.written) < len(s.letters) {
			t := s
			path := highest(s.unwritten[input] & -s.unwritten[input])
			t.unwritten[input] &^= bit(path)
			t.unsynced[input] |= bit(path)
			t.letters[t.written] = input<<2 | path
			t.written++
			to("write", t)
		}
	}
	if s.synced < s.written {
		t := s
		t.synced = t.written
		for input := uint8(1); input <= entryInputs; input++ {
			if c.without != "the sync" {
				t.failed[input] |= t.unsynced[input]
				t.counted += uint8(size(t.unsynced[input]))
			}
			t.unsynced[input] = 0
			c.settle(&t, input)
		}
		to("sync", t)
	}
	if s.inbox[0] != (entryOutput{}) {
		t := s
		o := take(t.inbox[:], 0)
		if t.got[o.input]&bit(o.path) != 0 {
			t.wrong = entryRepeated
		}
		t.got[o.input] |= bit(o.path)
		c.settle(&t, o.input)
		to("consume", t)
	}
}

// die saves the token, or kills the program.
func (c *entryConfig) die(s entryState, to func(string, entryState)) {
	if s.programKills == 0 {
		return
	}
	now := entryToken{s.terminal, s.failed, s.counted, s.synced, s.got}
	for input := 1; input <= entryInputs; input++ {
		if s.phase[input] == entryTerminal {
			now.failed[input] = 0
		}
		c.sawIf(s.phase[input] != entryTerminal && s.failed[input] != 0, "token with an input of which a part has failed")
	}
	if c.without == "what is finished" {
		for input := uint8(1); input <= entryInputs; input++ {
			now.terminal |= number(s.phase[input] == entryAccepted) << input
		}
	}
	if now != s.token {
		t := s
		t.token = now
		to("!save", t)
	}
	for _, kept := range []uint8{s.written, s.synced} { // bytes that were not synced may survive
		t := entryState{token: s.token, attempt: s.attempt, copyKills: s.copyKills, programKills: s.programKills - 1, wrong: s.wrong}
		copy(t.letters[:], s.letters[:kept])
		t.written, t.synced = kept, kept
		to("!killProgram", t)
	}
}

func (c *entryConfig) resumed(s entryState) entryState {
	s.alive = true
	s.terminal, s.failed, s.counted, s.got = s.token.terminal, s.token.failed, s.token.counted, s.token.got
	if c.without == "the counts of the token" {
		s.counted = 0
	}
	if c.without != "the length of the letters" {
		clear(s.letters[s.token.letters:])
		s.written, s.synced = s.token.letters, s.token.letters
	}
	for input := uint8(1); input <= entryInputs; input++ {
		if s.terminal&bit(input) != 0 {
			s.phase[input] = entryTerminal
		}
		c.sawIf(s.phase[input] != entryTerminal && s.got[input] != 0, "resume with an input delivered in part")
	}
	for i := range c.copies {
		s.copies[i].up, s.copies[i].alive = true, true
	}
	return s
}
