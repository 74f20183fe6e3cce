package model

// One of the regions of a fan, and the coordinator's edges around it.

func (c *fanConfig) work(s fanState, r int, to func(string, fanState)) {
	region := &s.regions[r]
	for input := uint8(1); input <= uint8(c.inputs) && region.up && size(region.outstanding) < c.window; input++ {
		if region.phase[input] != poolWaiting {
			continue
		}
		t := s
		x := &t.regions[r]
		x.phase[input] = poolOut
		x.outstanding |= bit(input)
		if region.alive {
			x.tasks |= bit(input)
		}
		if c.without == "waiting for the result" && r == 1 {
			x.phase[input] = poolReleased
			t.account(input, -1)
		}
		to("dispatch", t)
		break
	}
	n := count(region.wire[:])
	for input := uint8(1); input <= uint8(c.inputs) && region.alive; input++ {
		if region.tasks&bit(input) == 0 {
			continue
		}
		what, t := c.made(r, input, region.incarnation), s
		x := &t.regions[r]
		x.tasks &^= bit(input)
		switch {
		case c.without == "one result for all ports" && r == 0 && what == 3:
			if n > 0 {
				continue
			}
			x.wire = [2]fanResult{{input, region.incarnation, 1, false}, {input, region.incarnation, 2, true}}
		case n == len(x.wire):
			continue
		default:
			x.wire[n] = fanResult{input, region.incarnation, what, true}
		}
		to("work", t)
	}
	if region.up && region.wire[0] != (fanResult{}) {
		t := s
		c.accept(&t, r, take(t.regions[r].wire[:], 0))
		to("result", t)
	}
}

func (c *fanConfig) accept(s *fanState, r int, f fanResult) {
	region := &s.regions[r]
	if region.outstanding&bit(f.input) == 0 {
		return
	}
	c.sawIf(!region.alive, "result of a dead region accepted before the fence")
	if region.group[f.input] == 0 {
		region.attempt[f.input] = f.attempt
	} else if region.attempt[f.input] != f.attempt {
		s.wrong = fanLost
	}
	change := int(f.what)
	if r == 0 {
		change = size(f.what)
		c.sawIf(f.what == 3, "teed")
		c.sawIf(f.what == 0, "filtered")
	}
	if f.last {
		change--
	}
	if r == 0 && c.without == "a count for each branch" {
		change = min(change, 0)
	}
	if r == 0 {
		region.group[f.input] |= f.what
	} else {
		region.group[f.input] = f.what
	}
	if f.last {
		region.outstanding &^= bit(f.input)
		region.phase[f.input] = poolDone
	}
	s.account(f.input, change)
}

// release hands on what the oldest input has become: to each branch as it has room, or to the consumer.
func (c *fanConfig) release(s fanState, r int, to func(string, fanState)) {
	region := &s.regions[r]
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		phase := region.phase[input]
		if phase == poolReleased || r > 0 && phase == poolAbsent {
			continue
		}
		if phase != poolDone && (c.without != "one result for all ports" || r > 0 || phase != poolOut) {
			return
		}
		left := false
		if r == 0 {
			left = c.part(s, input, to)
		} else if left = region.handed[input] < region.group[input]; left && count(s.inbox[:]) < c.credit {
			t := s
			t.inbox[count(s.inbox[:])] = fanOutput{input, uint8(r - 1), region.attempt[input], region.handed[input]}
			t.regions[r].handed[input]++
			to("hand", t)
		}
		if !left && phase == poolDone {
			t := s
			t.regions[r].phase[input] = poolReleased
			to("free", t)
		}
		return
	}
}

// part gives each branch its output, and reports whether one still lacks it.
func (c *fanConfig) part(s fanState, input uint8, to func(string, fanState)) (left bool) {
	missing := s.regions[0].group[input] &^ s.regions[0].handed[input]
	for branch := range uint8(2) {
		if missing&bit(branch) != 0 && s.regions[1+branch].open() < c.slots {
			t := s
			t.regions[0].handed[input] |= bit(branch)
			t.regions[1+branch].phase[input] = poolWaiting
			c.sawIf(s.regions[0].group[input] == 3 && missing == 3, "tee: one branch has it, the other not yet")
			to("hand", t)
		}
	}
	return missing != 0
}

func (c *fanConfig) faults(s fanState, r int, to func(string, fanState)) {
	region := &s.regions[r]
	if s.kills > 0 && region.alive {
		c.sawIf(region.tasks != 0, "killed while working")
		c.sawIf(r > 0 && !s.regions[3-r].alive, "both branches dead")
		t := s
		t.kills--
		t.regions[r].dies()
		to("!kill", t)
	}
	if s.drops > 0 && region.up && region.alive {
		t := s
		t.drops--
		t.regions[r].dies()
		c.close(&t.regions[r])
		to("!drop", t)
	}
	if region.up && !region.alive {
		t := s
		c.close(&t.regions[r])
		to("reap", t)
	}
	if !region.up {
		t := s
		t.regions[r].up, t.regions[r].alive = true, true
		to("spawn", t)
	}
}

func (r *fanRegion) dies() {
	r.alive, r.tasks, r.incarnation = false, 0, (r.incarnation+1)%3
}

func (c *fanConfig) close(r *fanRegion) {
	c.sawIf(r.wire[0] != fanResult{}, "fence discarded a result on its way")
	r.up, r.wire, r.outstanding = false, [2]fanResult{}, 0
	for input := range r.phase {
		if r.phase[input] == poolOut {
			r.phase[input] = poolWaiting
			c.saw("redispatch")
		}
	}
}
