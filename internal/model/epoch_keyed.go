package model

// Epochs through a keyed region: two copies, unordered or ordered. The ends stay with the coordinator, which works on
// the next epoch before the end of the last one is out, and hands on nothing of it.

type epochKeyedState struct {
	phase    [epochInputs + 1]entryPhase
	pulled   uint8 // of the source's order
	released uint8 // ends
	copies   [2]struct {
		up, alive   bool
		outstanding uint8
		tasks       uint8
		wire        [2]uint8 // inputs
	}
	inbox    [2]uint8 // inputs; epochMark is an end
	consumer epochConsumer
	kills    uint8
	wrong    epochWrong
}

const epochMark = 0xff

type epochKeyedConfig struct {
	slots, window, kills int
	ordered              bool
	without              string
	Tally
}

func (c *epochKeyedConfig) machine() Machine[epochKeyedState] {
	start := epochKeyedState{kills: uint8(c.kills)}
	for i := range start.copies {
		start.copies[i].up, start.copies[i].alive = true, true
	}
	return Machine[epochKeyedState]{
		Start: start, Steps: c.steps, Reached: c.Tally,
		Broken: func(s epochKeyedState) string { return s.wrong.String() },
		Unfinished: func(s epochKeyedState) string {
			for input := 1; input <= epochInputs; input++ {
				if s.phase[input] != entryTerminal {
					return "inputs never acknowledged"
				}
			}
			return s.consumer.missing()
		},
	}
}

func (c *epochKeyedConfig) steps(s epochKeyedState, to func(string, epochKeyedState)) {
	order := epochOrder()
	if int(s.pulled) < len(order) {
		open := 0
		for _, phase := range s.phase {
			open += int(number(phase != entryAbsent && phase != entryTerminal))
		}
		if input := order[s.pulled]; input == 0 || open < c.slots {
			t := s
			t.pulled++
			if input != 0 {
				t.phase[input] = entryWaiting
			}
			to("pull", t)
		}
	}
	for i := range s.copies {
		c.copySteps(s, i, to)
	}
	c.release(s, to)
	if s.inbox[0] != 0 {
		t := s
		if o := take(t.inbox[:], 0); o == epochMark {
			t.wrong = t.consumer.end()
		} else {
			t.wrong = t.consumer.output(bit(o))
		}
		to("consume", t)
	}
}

func (c *epochKeyedConfig) copySteps(s epochKeyedState, i int, to func(string, epochKeyedState)) {
	w := s.copies[i]
	for input := uint8(1); input <= epochInputs; input++ {
		if w.up && size(w.outstanding) < c.window && s.phase[input] == entryWaiting {
			t := s
			t.phase[input] = entryOut
			t.copies[i].outstanding |= bit(input)
			if w.alive {
				t.copies[i].tasks |= bit(input)
			}
			to("dispatch", t)
			break
		}
	}
	for input := uint8(1); input <= epochInputs && w.alive && count(w.wire[:]) < 2; input++ {
		if w.tasks&bit(input) != 0 {
			t := s
			t.copies[i].tasks &^= bit(input)
			t.copies[i].wire[count(w.wire[:])] = input
			to("work", t)
		}
	}
	if w.up && w.wire[0] != 0 {
		t := s
		input := take(t.copies[i].wire[:], 0)
		t.copies[i].outstanding &^= bit(input)
		t.phase[input] = entryAccepted
		c.sawIf(epochOf(input) > s.released, "result of the next epoch before the end")
		to("accept", t)
	}
	if s.kills > 0 && w.alive {
		t := s
		t.kills--
		t.copies[i].alive, t.copies[i].tasks = false, 0
		to("!killCopy", t)
	}
	if w.up && !w.alive {
		t := s
		for input := uint8(1); input <= epochInputs; input++ {
			if w.outstanding&bit(input) != 0 {
				t.phase[input] = entryWaiting
				c.sawIf(epochOf(input) == s.released && s.pulled > 3, "copy died with the last of an epoch, the next one begun")
			}
		}
		t.copies[i].outstanding, t.copies[i].wire, t.copies[i].up = 0, [2]uint8{}, false
		to("reap", t)
	}
	if !w.up {
		t := s
		t.copies[i].up, t.copies[i].alive = true, true
		to("spawn", t)
	}
}

// release hands on what may leave: of the epoch whose end is the next one, and that end behind all of it.
func (c *epochKeyedConfig) release(s epochKeyedState, to func(string, epochKeyedState)) {
	room := count(s.inbox[:]) < len(s.inbox)
	ends, left := uint8(0), false
	order := epochOrder()
	for _, input := range order[:s.pulled] {
		if input == 0 {
			ends++
			if ends == s.released+1 && (!left || c.without == "waiting for the last of an epoch") && room {
				t := s
				t.released++
				t.inbox[count(t.inbox[:])] = epochMark
				to("end of epoch", t)
			}
			if c.without != "parking" {
				if ends > s.released {
					return
				}
			}
			continue
		}
		if s.phase[input] == entryTerminal {
			continue
		}
		if s.phase[input] == entryAccepted && (input == epochFiltered || room) {
			t := s
			t.phase[input] = entryTerminal
			if input != epochFiltered {
				t.inbox[count(t.inbox[:])] = input
			}
			to("release", t)
		}
		left = true
		if c.ordered {
			return
		}
	}
}
