package model

// What the node does with what it holds.

func (c *heldConfig) node(s heldState, to func(string, heldState)) {
	c.yield(s, to)
	h := &s.held
	atEnd := s.yielded == upTo(c.inputs)
	waiting := count(h.queue[:])
	mixed := count(h.shuffle[:])
	batch := count(h.first[:])

	// One leaf further.
	if c.tee {
		c.branches(s, to)
		return
	}
	room := func() bool { return batch < c.first && (!c.split || h.pieces[0] == pack{}) }
	filtered := c.filters(h.queue[0])
	if filtered {
		t := s
		take(t.held.queue[:], 0)
		to("filter", t)
	}
	if waiting > 0 && !filtered && c.shuffle && mixed < len(h.shuffle) {
		t := s
		t.held.shuffle[mixed] = take(t.held.queue[:], 0)
		to("shuffle", t)
	}
	if waiting > 0 && !filtered && !c.shuffle && room() {
		t := s
		t.held.first[batch] = take(t.held.queue[:], 0)
		to("collect", t)
	}
	if room() && (mixed == len(h.shuffle) || mixed > 0 && atEnd && waiting == 0) {
		for i := range mixed {
			t := s
			t.held.first[batch] = take(t.held.shuffle[:], i)
			to("draw", t)
		}
	}
	c.flush(s, atEnd && waiting == 0 && mixed == 0, to)
}

// yield takes the next input of the source through the one-to-many stage, and what fails or is filtered behind it.
func (c *heldConfig) yield(s heldState, to func(string, heldState)) {
	if s.yielded == upTo(c.inputs) || s.held.queue[0] != 0 {
		return
	}
	input := prefix(s.yielded) + 1
	if input == c.poison {
		c.sawIf(s.held.first[0] != 0, "poison kills a node with something in the first aggregate")
		s.clearNode()
		s.nodeAlive, s.suspected = false, input
		if s.starts++; s.starts > 3 {
			s.wrong = heldPoisonous
		}
		c.vary(&s)
		to("poisoned", s)
		return
	}
	s.yielded |= bit(input)
	n := 0
	for path := range c.made(input, s.incarnation) {
		l := leafOf(input, path, s.incarnation)
		if c.suppressed(&s, l) {
			c.saw("accepted paths suppressed")
			continue
		}
		switch {
		case c.spoils(l):
			s.failing = true
		default:
			s.held.queue[n] = l
			n++
		}
	}
	to("yield", s)
}

// suppressed reports whether the coordinator has the leaf already.
func (c *heldConfig) suppressed(s *heldState, l leaf) bool {
	accepted := s.partial[l.input()]
	switch c.without {
	case "suppression":
		return false
	case "the branch":
		return accepted != 0
	case "paths, but a count":
		return int(l.path()) < size(accepted)
	case "paths, but the highest":
		return accepted>>l.path() != 0
	}
	return accepted&bit(l.path()) != 0
}

// flush lets an aggregate go of what it holds.
func (c *heldConfig) flush(s heldState, noMore bool, to func(string, heldState)) {
	h := &s.held
	room := count(s.wire[:])+count(s.inbox[:]) < c.credit
	batch, second, waiting := count(h.first[:]), count(h.second[:]), count(h.pieces[:])
	if batch > 0 && waiting == 0 && (batch == c.first || c.timer || noMore) {
		t := s
		p := pack{leaves: h.first}
		t.held.first = [2]leaf{}
		switch {
		case c.split:
			c.cut(&t, p)
			to("split", t)
		case c.second == 0 && room:
			c.send(&t, [3]pack{p})
			to("flush", t)
		case c.second > second:
			t.held.second[second] = p
			to("batch", t)
		}
	}
	if waiting > 0 && second < c.second {
		t := s
		t.held.second[second] = take(t.held.pieces[:], 0)
		to("piece", t)
	}
	if second > 0 && room && (second == c.second || c.timer || noMore && batch == 0 && waiting == 0) {
		t := s
		packs := t.held.second
		t.held.second = [3]pack{}
		c.send(&t, packs)
		to("flush", t)
	}
	if noMore && batch == 0 && second == 0 && waiting == 0 && room && !s.ending {
		t := s
		t.ending = true
		c.send(&t, [3]pack{})
		to("end", t)
	}
}

// cut makes two pieces of a batch, and leaves out those that were accepted of a batch with the same identity, which is
// that of its last item.
func (c *heldConfig) cut(s *heldState, batch pack) {
	last := batch.last()
	n := 0
	for piece := uint8(1); piece <= 2; piece++ {
		if s.pieces[last.input()]&last.piece(piece) != 0 {
			c.saw("accepted pieces suppressed")
			continue
		}
		batch.piece = piece
		s.held.pieces[n] = batch
		n++
	}
}

// send puts a frame on the wire, with what is done when it has been accepted.
func (c *heldConfig) send(s *heldState, packs [3]pack) {
	f := heldFrame{seq: s.sent, packs: packs, failed: s.failing, end: s.ending}
	s.sent++
	if s.failing {
		s.gave |= bit(2)
	}
	for _, p := range packs {
		s.gave |= p.inputs()
	}
	s.failing = false
	held := s.held.inputs()
	if c.suppress {
		f.done = s.yielded &^ s.told &^ held
		if c.without == "waiting for what is held" {
			for _, p := range packs {
				f.done |= p.inputs() &^ s.told
			}
		}
	} else {
		finished := s.told
		for _, p := range packs {
			finished |= p.inputs()
		}
		finished = s.held.closed(finished)
		f.done = (finished | s.yielded&^held) &^ s.told
		if c.without != "residue" {
			f.residue = s.held.of(finished)
		}
	}
	f.without = f.done &^ s.gave
	s.told |= f.done
	s.wire[count(s.wire[:])] = f
}

// vary makes the one-to-many stage do something else from now on.
func (c *heldConfig) vary(s *heldState) {
	if c.varies {
		s.incarnation = (s.incarnation + 1) % 3
	}
}

func (s *heldState) clearNode() {
	s.yielded, s.told, s.gave, s.held, s.failing, s.sent, s.ending = 0, 0, 0, heldStages{}, false, 0, false
}

// branches are two batches, each of which gets everything.
func (c *heldConfig) branches(s heldState, to func(string, heldState)) {
	h := &s.held
	room := count(s.wire[:])+count(s.inbox[:]) < c.credit
	noMore := s.yielded == upTo(c.inputs) && h.queue[0] == 0
	for branch := range 2 {
		place := func(h *heldStages) *[2]leaf { return [2]*[2]leaf{&h.first, &h.shuffle}[branch] }
		n := count(place(h)[:])
		for i, l := range h.queue {
			if l != 0 && int(l.path()) == branch && n < c.first {
				t := s
				place(&t.held)[n] = take(t.held.queue[:], i)
				to("collect", t)
			}
		}
		if n > 0 && room && (n == c.first || c.timer || noMore) {
			t := s
			p := pack{leaves: *place(h)}
			*place(&t.held) = [2]leaf{}
			c.send(&t, [3]pack{p})
			to("flush", t)
		}
	}
	if noMore && *h == (heldStages{}) && room && !s.ending {
		t := s
		t.ending = true
		c.send(&t, [3]pack{})
		to("end", t)
	}
}
