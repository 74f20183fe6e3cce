package model

// The source, region A, and what the coordinator does between A, B and the consumer.

// feed takes the next input of the source into A's ledger.
func (c *hubConfig) feed(s hubState, to func(string, hubState)) {
	open := 0
	for _, phase := range s.a.phase {
		open += int(number(phase != poolAbsent && phase != poolReleased))
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.a.phase[input] != poolAbsent {
			continue
		}
		if open < c.slotA && (c.span == 0 || int(input-prefix(s.terminal)) <= c.span) {
			t := s
			t.a.phase[input], t.alive[input] = poolWaiting, 1
			to("pull", t)
		}
		return
	}
}

func (c *hubConfig) stepsOfA(s hubState, to func(string, hubState)) {
	a := &s.a
	for input := uint8(1); input <= uint8(c.inputs) && a.up; input++ {
		if a.phase[input] == poolWaiting {
			t := s
			t.a.phase[input] = poolOut
			t.a.outstanding |= bit(input)
			if a.alive {
				t.a.tasks |= bit(input)
			}
			to("dispatch A", t)
			break
		}
	}
	for input := uint8(1); input <= uint8(c.inputs) && a.alive; input++ {
		if n := count(a.wire[:]); a.tasks&bit(input) != 0 && n < len(a.wire) {
			t := s
			t.a.tasks &^= bit(input)
			t.a.wire[n].input, t.a.wire[n].group = input, c.madeByA(input, a.incarnation)
			to("work A", t)
		}
	}
	if a.up && a.wire[0].input != 0 {
		t := s
		if r := take(t.a.wire[:], 0); t.a.outstanding&bit(r.input) != 0 {
			t.a.outstanding &^= bit(r.input)
			t.a.phase[r.input], t.a.group[r.input] = poolDone, r.group
			var change [hubInputs + 1]int
			change[r.input] = int(r.group) - 1
			t.account(change)
		}
		to("result A", t)
	}
	c.hand(s, to)
	if s.kills > 0 && a.alive {
		c.sawIf(a.tasks != 0, "A killed while working")
		t := s
		t.kills--
		t.a.alive, t.a.tasks, t.a.incarnation = false, 0, (a.incarnation+1)%3
		to("!kill A", t)
	}
	if a.up && !a.alive {
		t := s
		t.a.up, t.a.outstanding = false, 0
		clear(t.a.wire[:])
		for input := range t.a.phase {
			if t.a.phase[input] == poolOut {
				t.a.phase[input] = poolWaiting
			}
		}
		to("reap A", t)
	}
	if !a.up {
		t := s
		t.a.up, t.a.alive = true, true
		to("spawn A", t)
	}
}

// hand moves outputs of A's head into free slots of B.
func (c *hubConfig) hand(s hubState, to func(string, hubState)) {
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.a.phase[input] == poolReleased {
			continue
		}
		if s.a.phase[input] != poolDone {
			return
		}
		t := s
		if s.a.handed[input] == s.a.group[input] {
			t.a.phase[input], t.a.group[input], t.a.handed[input] = poolReleased, 0, 0
			to("free", t)
		} else if s.open() < c.slots {
			t.a.handed[input]++
			t.items++
			t.phase[t.items], t.of[t.items] = poolWaiting, input
			to("hand", t)
		}
		return
	}
}

// stepsOfLedger are the coordinator's on B's side.
func (c *hubConfig) stepsOfLedger(s hubState, to func(string, hubState)) {
	if s.b.up {
		c.dispatchB(s, to)
		if s.b.wire[0] != (hubFrame{}) {
			t := s
			c.accept(&t, take(t.b.wire[:], 0), !s.b.alive)
			to("result B", t)
		}
		if s.b.old[0] != (hubFrame{}) {
			t := s
			c.accept(&t, take(t.b.old[:], 0), true)
			to("old result", t)
		}
	}
	if s.inbox[0] != ([3]hubLeaf{}) {
		t := s
		output := take(t.inbox[:], 0)
		for _, l := range output[:count(output[:])] {
			if !t.follows(l) {
				t.wrongness = hubLost
			}
			t.last = l
		}
		var change [hubInputs + 1]int
		for input := range change {
			change[input] = -int(s.members(output) >> input & 1)
		}
		t.account(change)
		c.sawIf(prefix(t.terminal) < highest(t.terminal), "terminal above the first that is not")
		to("consume", t)
	}
}

// dispatchB sends the oldest waiting item, and the end behind the last one, to every session anew.
func (c *hubConfig) dispatchB(s hubState, to func(string, hubState)) {
	for item := uint8(1); item <= s.items; item++ {
		if s.phase[item] == poolWaiting {
			t := s
			t.phase[item] = poolOut
			if c.without == "waiting for the result" {
				t.phase[item] = poolDone
			}
			if s.b.alive {
				t.b.tasks |= bit(item)
			}
			to("dispatch B", t)
			return
		}
	}
	released := 0
	for _, phase := range s.a.phase {
		released += int(number(phase == poolReleased))
	}
	if released == c.inputs && !s.b.endSent {
		t := s
		t.b.endSent, t.b.ending = true, s.b.alive
		to("end to B", t)
	}
}

func (c *hubConfig) accept(s *hubState, f hubFrame, dead bool) {
	if f.seq != s.next {
		c.saw("frame of an old session dropped")
		return
	}
	c.sawIf(dead, "frame of a dead region accepted before the fence")
	s.next++
	s.ended = s.ended || f.end
	s.filtered |= f.filtered
	var change [hubInputs + 1]int
	for item := uint8(1); item <= hubItems; item++ {
		if f.done&bit(item) != 0 {
			s.phase[item] = poolDone
			change[s.of[item]]--
		}
	}
	if f.output != ([3]hubLeaf{}) {
		for input := range change {
			change[input] += int(s.members(f.output) >> input & 1)
		}
		if c.without != "counting residue" {
			for _, r := range []struct {
				of hubLeaf
				by int
			}{{s.residue, -1}, {f.residue, 1}} {
				if r.of != 0 {
					change[s.of[r.of.item()]] += r.by
				}
			}
		}
		c.sawIf(f.residue != 0, "a batch took a part: residue kept")
		s.residue, s.partial = f.residue, f.partial
		if n := count(s.inbox[:]); n == len(s.inbox) {
			s.wrongness = hubOverfull
		} else {
			s.inbox[n] = f.output
		}
	}
	s.account(change)
}
