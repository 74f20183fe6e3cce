package model

// Epochs in stream mode: the source, an unordered stage of two workers with a filter, and a batch are in a node; or the
// coordinator feeds the node. Frames carry how many epochs end behind their outputs.

type epochFrame struct {
	seq, items, done, ends uint8
	last                   bool
}

type epochStreamState struct {
	// What outlives the program.
	saved     epochConsumer
	savedDone uint8
	// Coordinator.
	alive    bool
	accepted uint8 // inputs done
	ends     uint8 // accepted
	next     uint8
	inbox    [2]epochFrame
	eos      bool
	ended    bool
	sent     uint8 // fed: how much of the source's order has been sent to the node
	consumer epochConsumer
	// Node.
	up, nodeAlive bool
	opened        uint8 // inputs that OPEN has told it are done
	at            uint8 // place in the source's order
	working       uint8
	parked        uint8 // results of an epoch that may not leave yet
	through       uint8 // epochs that have ended behind the unordered stage
	read          uint8 // ends that the source has passed
	batch         uint8
	done          uint8 // for the next frame
	owed          uint8 // ends for the next frame
	out           uint8
	finished      bool
	wire          [2]epochFrame

	nodeKills, programKills uint8
	wrong                   epochWrong
}

type epochStreamConfig struct {
	size, credit int
	timer        bool
	fed          int  // slots of the coordinator's edge; 0: the source is in the node
	paced        bool // the source begins an epoch when the consumer is done with the one before
	nodeKills    int
	programKills int
	without      string
	Tally
}

func (c *epochStreamConfig) machine() Machine[epochStreamState] {
	start := epochStreamState{alive: true, next: 1, out: 1, up: true, nodeAlive: true, nodeKills: uint8(c.nodeKills), programKills: uint8(c.programKills)}
	return Machine[epochStreamState]{
		Start: start, Steps: c.steps, Reached: c.Tally,
		Broken: func(s epochStreamState) string { return s.wrong.String() },
		Unfinished: func(s epochStreamState) string {
			switch {
			case !s.ended:
				return "no end"
			case s.accepted != upTo(epochInputs):
				return "inputs never acknowledged"
			}
			return s.consumer.missing()
		},
	}
}

func (c *epochStreamConfig) steps(s epochStreamState, to func(string, epochStreamState)) {
	if s.nodeAlive && s.up {
		c.node(s, to)
	}
	if s.nodeKills > 0 && s.nodeAlive {
		t := s
		t.nodeKills--
		c.sawIf(s.parked != 0, "node killed with results of the next epoch parked")
		c.sawIf(s.read > s.through, "node killed with an end inside the unordered stage")
		c.sawIf(s.wire[0].ends != 0, "node killed with an end on its way")
		c.sawIf(s.ends > 0 && s.accepted&^(bit(1)|bit(2)) == 0, "node killed between two epochs")
		t.clearNode()
		t.nodeAlive = false
		to("!killNode", t)
	}
	if !s.alive {
		s.alive, s.next = true, 1
		s.consumer, s.accepted, s.ends = s.saved, s.savedDone, s.saved.ends
		to("resume", s)
		return
	}
	c.coordinator(s, to)
	if s.programKills > 0 {
		if done := s.terminal(); done != s.savedDone || s.consumer != s.saved {
			t := s
			t.savedDone, t.saved = done, s.consumer
			to("!save", t)
		}
		to("!killProgram", epochStreamState{saved: s.saved, savedDone: s.savedDone, nodeKills: s.nodeKills, programKills: s.programKills - 1, wrong: s.wrong})
	}
}

// terminal is the set of inputs that are done and not in the consumer's inbox.
func (s *epochStreamState) terminal() uint8 {
	done := s.accepted
	for _, f := range s.inbox {
		done &^= f.items
	}
	return done
}

func (s *epochStreamState) clearNode() {
	s.opened = 0
	s.at, s.working, s.parked, s.through, s.read, s.batch, s.done, s.owed, s.out, s.finished = 0, 0, 0, 0, 0, 0, 0, 0, 0, false
}

func (c *epochStreamConfig) node(s epochStreamState, to func(string, epochStreamState)) {
	c.read(s, to)
	for input := uint8(1); input <= epochInputs; input++ {
		if s.working&bit(input) != 0 {
			t := s
			t.working &^= bit(input)
			if input == epochFiltered {
				t.done |= bit(input)
			} else {
				t.parked |= bit(input)
				c.sawIf(epochOf(input) != s.through, "result of the next epoch before the end")
			}
			to("work", t)
		}
		if s.parked&bit(input) != 0 && size(s.batch) < c.size && (epochOf(input) == s.through || c.without == "parking") {
			t := s
			t.parked &^= bit(input)
			t.batch |= bit(input)
			to("collect", t)
		}
	}
	busy := uint8(0) // what of the epoch is still in the unordered stage
	for input := uint8(1); input <= epochInputs; input++ {
		if (s.working|s.parked)&bit(input) != 0 && epochOf(input) <= s.through {
			busy |= bit(input)
		}
	}
	endDue := s.read > s.through && busy == 0
	room := count(s.wire[:])+count(s.inbox[:]) < c.credit
	all := int(s.at) == epochInputs+epochEnds && s.working|s.parked == 0 && s.read == s.through
	if s.batch != 0 && room && s.owed == 0 && (size(s.batch) == c.size || c.timer || endDue || all) {
		t := s
		f := epochFrame{items: s.batch}
		t.done |= s.batch
		t.batch = 0
		if endDue && c.without != "the flush at an end" {
			t.through++
			f.ends = 1
		}
		t.send(f)
		to("flush", t)
	}
	if endDue && (s.batch == 0 || c.without == "the flush at an end") {
		t := s
		t.through++
		t.owed++
		to("end of epoch", t)
	}
	if s.owed > 0 && room && c.without != "frames for ends alone" {
		t := s
		t.owed = 0
		t.send(epochFrame{ends: s.owed})
		to("mark", t)
	}
	if all && s.batch == 0 && s.owed == 0 && room && !s.finished {
		t := s
		t.finished = true
		t.send(epochFrame{last: true})
		to("end", t)
	}
}

// read takes the next thing from the source, or from what the coordinator has sent of it.
func (c *epochStreamConfig) read(s epochStreamState, to func(string, epochStreamState)) {
	order := epochOrder()
	if int(s.at) == len(order) || c.fed > 0 && s.at >= s.sent {
		return
	}
	input := order[s.at]
	t := s
	t.at++
	switch {
	case input == 0 && c.without == "end messages" && s.at+1 == s.sent && int(s.at) != len(order)-1:
		return // it shows only with what comes behind it
	case input == 0:
		if t.read++; c.knows(&s) {
			t.through++ // accepted already
		}
	case s.opened&bit(input) != 0:
	case size(s.working) == 2:
		return
	default:
		t.working |= bit(input)
	}
	to("yield", t)
}

// knows reports whether the end that the source comes to was accepted before.
func (c *epochStreamConfig) knows(s *epochStreamState) bool {
	known := s.read < s.ends
	order := epochOrder()
	switch c.without {
	case "ends in OPEN":
		return false
	case "ends in OPEN, but what is done":
		known = true
		for _, input := range order[:s.at] {
			known = known && (input == 0 || s.opened&bit(input) != 0)
		}
	}
	return known
}

func (s *epochStreamState) send(f epochFrame) {
	f.seq, f.done = s.out, s.done
	s.out++
	s.done = 0
	s.wire[count(s.wire[:])] = f
}

func (c *epochStreamConfig) coordinator(s epochStreamState, to func(string, epochStreamState)) {
	if s.up && s.wire[0] != (epochFrame{}) {
		t := s
		f := take(t.wire[:], 0)
		if f.seq != t.next || count(t.inbox[:]) == len(t.inbox) {
			t.wrong = epochOverfull
		} else {
			t.next++
			t.accepted |= f.done
			t.ends += f.ends
			t.eos = t.eos || f.last
			f.seq, f.done = 0, 0
			if f != (epochFrame{}) {
				t.inbox[count(t.inbox[:])] = f
			}
		}
		to("accept", t)
	}
	if s.up && !s.nodeAlive {
		t := s
		t.up, t.wire, t.sent = false, [2]epochFrame{}, 0
		to("reap", t)
	}
	if !s.up && !s.eos {
		t := s
		t.up, t.nodeAlive, t.out, t.opened = true, true, s.next, s.accepted
		to("spawn", t)
	}
	if order := epochOrder(); c.fed > 0 && s.up && int(s.sent) < len(order) {
		open := 0
		for _, input := range order[:s.sent] {
			open += int(number(input != 0 && s.accepted&bit(input) == 0))
		}
		input := order[s.sent]
		free := input == 0 || s.accepted&bit(input) != 0 || open < c.fed
		if free && (input == 0 || !c.paced || s.consumer.ends >= epochOf(input)) {
			t := s
			t.sent++
			to("task", t)
		}
	}
	if s.inbox[0] != (epochFrame{}) {
		t := s
		f := take(t.inbox[:], 0)
		if f.items != 0 {
			t.wrong = t.consumer.output(f.items)
		}
		for range f.ends {
			if t.wrong == epochRight {
				t.wrong = t.consumer.end()
			}
		}
		t.ended = t.ended || f.last
		to("consume", t)
	}
}
