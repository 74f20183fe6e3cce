package model

// Region B, and what befalls it.

func (c *hubConfig) stepsOfB(s hubState, to func(string, hubState)) {
	b := &s.b
	if !b.alive {
		return
	}
	held, wired := count(b.batch[:]), count(b.wire[:])
	ending := b.ending && b.tasks == 0
	if b.tasks != 0 && b.behind == 0 && held < c.batch {
		c.take(s, to)
	}
	outputs := count(s.inbox[:])
	for _, f := range b.wire {
		outputs += int(number(f.output != [3]hubLeaf{}))
	}
	if wired == len(b.wire) {
		return
	}
	if held > 0 && (held == c.batch || c.timer || ending) && outputs < c.credit {
		t := s
		c.flush(&t)
		to("flush", t)
	}
	if b.done != 0 && c.without != "frames without outputs" && (c.without != "sets of what is done" || held == 0) {
		c.sawIf(held > 0, "filtered item freed behind a held one")
		t := s
		t.b.send(hubFrame{})
		to("mark", t)
	}
	if ending && held == 0 && b.behind == 0 && b.done == 0 && !b.finished {
		t := s
		t.b.send(hubFrame{end: true})
		t.b.finished = true
		to("end", t)
	}
}

// take makes leaves of the next item.
func (c *hubConfig) take(s hubState, to func(string, hubState)) {
	b := &s.b
	item := uint8(1)
	for b.tasks&bit(item) == 0 {
		item++
	}
	b.tasks &^= bit(item)
	made, path := madeByB(item, b.incarnation), uint8(0)
	if b.partial != 0 && b.partial.item() == item {
		path = b.partial.path()
		c.saw("accepted paths suppressed")
	}
	if path >= made {
		b.done |= bit(item)
		if made == 0 {
			b.filtered |= bit(item)
		}
	}
	for ; path < made; path++ {
		l := hubLeafOf(item, path, b.incarnation)
		if n := count(b.batch[:]); n < c.batch {
			b.batch[n] = l
		} else {
			b.behind = l
		}
	}
	to("take", s)
}

func (c *hubConfig) flush(s *hubState) {
	b := &s.b
	f := hubFrame{output: b.batch}
	for k, l := range b.batch[:count(b.batch[:])] {
		if k > 0 || !b.restored {
			f.done |= bit(l.item())
		}
	}
	b.batch, b.restored = [3]hubLeaf{}, false
	if b.behind != 0 {
		b.batch[0] = b.behind
		switch {
		case c.suppress:
			f.done &^= bit(b.behind.item())
			f.partial = b.behind
		case c.without != "residue": // the item is done: the coordinator has what is left of it
			f.residue, b.restored = b.behind, true
		default:
			b.restored = true
		}
		b.behind = 0
	}
	b.send(f)
}

func (b *hubB) send(f hubFrame) {
	f.seq = b.out
	b.out++
	f.done, f.filtered = f.done|b.done, b.filtered
	b.done, b.filtered = 0, 0
	b.wire[count(b.wire[:])] = f
}

// dies forgets everything but what is on its way.
func (c *hubConfig) dies(b *hubB) {
	*b = hubB{up: b.up, incarnation: b.incarnation, endSent: b.endSent, wire: b.wire, old: b.old}
	if !c.suppress || c.without == "a function of its input" {
		b.incarnation = (b.incarnation + 1) % 3
	}
}

func (c *hubConfig) closeB(s *hubState) {
	b := &s.b
	b.up, b.endSent = false, c.without == "the end sent again"
	c.sawIf(b.wire[0] != hubFrame{}, "fence discarded a frame on its way")
	if c.without == "the fence" {
		for _, f := range b.wire[:count(b.wire[:])] {
			if n := count(b.old[:]); n < len(b.old) {
				b.old[n] = f
			}
		}
	}
	clear(b.wire[:])
	for item := range s.phase {
		if s.phase[item] == poolOut {
			s.phase[item] = poolWaiting
		}
	}
}

func (c *hubConfig) faultsOfB(s hubState, to func(string, hubState)) {
	b := &s.b
	if s.kills > 0 && b.alive {
		c.sawIf(b.batch[0] != 0, "B killed with a batch half full")
		c.sawIf(b.behind != 0, "B killed in the middle of a group")
		c.sawIf(b.ending, "B killed after the end was sent to it")
		c.sawIf(!s.a.alive, "both regions dead")
		t := s
		t.kills--
		c.dies(&t.b)
		to("!kill B", t)
	}
	if s.drops > 0 && b.alive && b.up {
		t := s
		t.drops--
		c.dies(&t.b)
		c.closeB(&t)
		to("!drop B", t)
	}
	if b.up && !b.alive {
		t := s
		c.closeB(&t)
		to("reap B", t)
	}
	if !b.up && !s.ended {
		c.sawIf(s.residue != 0, "restart with residue")
		t := s
		t.b.up, t.b.alive, t.b.out = true, true, s.next
		t.b.batch[0], t.b.restored, t.b.partial = s.residue, s.residue != 0, s.partial
		to("spawn B", t)
	}
}
