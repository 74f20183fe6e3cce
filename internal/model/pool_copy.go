package model

// What a copy does, and what befalls it.

func (c *poolConfig) work(s poolState, i int, to func(string, poolState)) {
	w := &s.copies[i]
	if w.working == 0 {
		for input := uint8(1); input <= uint8(c.inputs); input++ {
			if w.tasks&bit(input) == 0 {
				continue
			}
			t := s
			d := &t.copies[i]
			d.tasks &^= bit(input)
			d.working, d.part = input, 0
			if c.poison == input {
				if t.slots[input].starts++; t.slots[input].starts > 3 {
					t.wrong = poolPoisonous
				}
			}
			if c.streaming {
				d.part = s.slots[input].group // the task says how many to skip
			}
			to("start", t)
			if c.fifo {
				break
			}
		}
		return
	}
	input := w.working
	attempt := s.slots[input].attempt
	switch room := count(w.wire[:]) < len(w.wire); {
	case input == c.poison:
		t := s
		c.dies(&t.copies[i])
		to("poisoned", t)
	case c.streaming || c.without == "one result":
		c.stream(s, i, to)
	case room:
		t := s
		d := &t.copies[i]
		d.working = 0
		d.wire[count(w.wire[:])] = poolResult{input: input, attempt: attempt, group: c.made(input, attempt)}
		to("finish", t)
	}
}

// stream sends an output when those before it have left the coordinator.
func (c *poolConfig) stream(s poolState, i int, to func(string, poolState)) {
	w := s.copies[i]
	input := w.working
	attempt := s.slots[input].attempt
	n, sent := c.made(input, attempt), count(w.wire[:])
	t := s
	d := &t.copies[i]
	switch {
	case n > 0 && w.part >= n: // all were accepted before, and only the end is missing
		d.wire[sent] = poolResult{input: input, attempt: attempt, from: w.part, last: true}
		d.working, d.part = 0, 0
		to("last", t)
	case sent < len(w.wire) && (c.without == "one result" || n == 0 || w.part <= s.slots[input].handed):
		last := n == 0 || w.part == n-1
		d.wire[sent] = poolResult{input: input, attempt: attempt, from: w.part, group: n, last: last}
		if d.part++; last {
			d.working, d.part = 0, 0
		}
		to("part", t)
	}
}

// dies ends a process. What it has written can still be read, and its black box tells what it was working on.
func (c *poolConfig) dies(w *poolCopy) {
	if c.blackBox {
		w.blackBox = w.working
	}
	w.alive, w.tasks, w.working, w.part = false, 0, 0, 0
}

func (c *poolConfig) faults(s poolState, i int, to func(string, poolState)) {
	w := &s.copies[i]
	if s.kills > 0 && w.alive {
		c.sawIf(w.working != 0, "killed while working")
		c.sawIf(w.wire[0] != poolResult{}, "killed with results on their way")
		c.sawIf(w.part > 0, "killed in the middle of a group")
		t := s
		t.kills--
		c.dies(&t.copies[i])
		to("!kill", t)
	}
	if s.drops > 0 && w.up && w.alive {
		c.sawIf(w.working != 0, "link dropped while working")
		t := s
		t.drops--
		d := &t.copies[i]
		d.tasks, d.working, d.part = 0, 0, 0
		c.end(&t, i, false)
		to("!drop", t)
	}
	if w.up && !w.alive {
		t := s
		c.end(&t, i, true)
		to("reap", t)
	}
	if !w.up && !c.unreplaced {
		t := s
		t.copies[i].up, t.copies[i].alive = true, true
		to("spawn", t)
	}
}
