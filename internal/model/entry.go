package model

import "fmt"

// ENTRIES. A keyed region in a pool. What comes of an input arrives as one entry: outputs and failure records together,
// so that an input of which one descendant has failed still delivers the others. Copies die, and the program. A policy
// decides at the coordinator what a failure means. Each descendant must be delivered or counted as failed, never both,
// never twice, whatever dies when.

// entryInputs is how many inputs there are.
const entryInputs = 3

// An entryPolicy is what becomes of a failure.
type entryPolicy uint8

const (
	entryStops entryPolicy = iota
	entrySkips
	entryLetters // a record in a file that survives the program, written behind what the token knows
)

// An entry is what came of one input: sets of paths.
type entry struct{ input, outputs, failures uint8 }

type entryCopy struct {
	up, alive   bool
	outstanding uint8
	tasks       uint8
	wire        [2]entry
}

type entryOutput struct{ input, path uint8 }

// entryPhase is how far an input is.
type entryPhase uint8

const (
	entryAbsent entryPhase = iota
	entryWaiting
	entryOut
	entryAccepted
	entryTerminal
)

type entryToken struct {
	terminal uint8
	failed   [entryInputs + 1]uint8 // paths of inputs that are not terminal
	counted  uint8
	letters  uint8
	got      [entryInputs + 1]uint8 // the consumer's state, saved together
}

type entryState struct {
	alive, stopped bool
	phase          [entryInputs + 1]entryPhase
	outputs        [entryInputs + 1]uint8 // accepted, not handed on
	unwritten      [entryInputs + 1]uint8 // failures that await their record
	unsynced       [entryInputs + 1]uint8 // and the sync of it
	failed         [entryInputs + 1]uint8 // counted
	counted        uint8
	terminal       uint8
	copies         [2]entryCopy
	inbox          [2]entryOutput
	got            [entryInputs + 1]uint8
	letters        [5]uint8 // input<<2 | path
	written        uint8
	synced         uint8
	token          entryToken
	attempt        [entryInputs + 1]uint8
	copyKills      uint8
	programKills   uint8
	wrong          entryWrong
}

type entryWrong uint8

const (
	entryRight entryWrong = iota
	entryRepeated
	entryOverfull
)

func (w entryWrong) String() string {
	return [...]string{"", "a descendant comes twice", "more inputs than slots"}[w]
}

type entryConfig struct {
	copies, window, slots   int
	policy                  entryPolicy
	flaky                   bool // the failure of input 1 happens at its first attempt only
	copyKills, programKills int
	without                 string
	Tally
}

// made is what comes of an input: 1 has three descendants of which the middle one fails, 2 has one, and that of 3 fails.
func (c *entryConfig) made(s *entryState, input uint8) entry {
	switch input {
	case 1:
		if c.flaky && s.attempt[1] != 1 {
			return entry{input, 7, 0}
		}
		return entry{input, 5, 2}
	case 2:
		return entry{input, 1, 0}
	}
	return entry{input, 0, 1}
}

func entryPaths(input uint8) uint8 { return [entryInputs + 1]uint8{0, 7, 1, 1}[input] }

func (c *entryConfig) machine() Machine[entryState] {
	start := entryState{alive: true, copyKills: uint8(c.copyKills), programKills: uint8(c.programKills)}
	for i := range c.copies {
		start.copies[i].up, start.copies[i].alive = true, true
	}
	return Machine[entryState]{
		Start: start, Steps: c.steps, Unfinished: c.unfinished, Reached: c.Tally,
		Broken: func(s entryState) string { return s.wrong.String() },
	}
}

func (c *entryConfig) unfinished(s entryState) string {
	if s.stopped {
		if s.counted != 1 {
			return fmt.Sprintf("counted: %d failures stopped the run", s.counted)
		}
		return ""
	}
	failed := 0
	for input := uint8(1); input <= entryInputs; input++ {
		if s.phase[input] != entryTerminal {
			return fmt.Sprintf("input %d is never terminal", input)
		}
		for path := uint8(0); path < 3; path++ {
			if entryPaths(input)&bit(path) == 0 {
				continue
			}
			got, letters := int(s.got[input]>>path&1), 0
			for _, l := range s.letters[:s.synced] {
				letters += int(number(l == input<<2|path))
			}
			if c.policy == entryLetters && got+letters != 1 {
				return fmt.Sprintf("lost or repeated: descendant %d of input %d: %d delivered, %d recorded", path, input, got, letters)
			}
			failed += 1 - got
		}
	}
	if failed != int(s.counted) {
		return fmt.Sprintf("counted: %d failures, %d descendants have failed", s.counted, failed)
	}
	return ""
}

func (c *entryConfig) steps(s entryState, to func(string, entryState)) {
	if !s.alive {
		to("resume", c.resumed(s))
		return
	}
	if s.stopped {
		return
	}
	open := 0
	for _, phase := range s.phase {
		open += int(number(phase != entryAbsent && phase != entryTerminal))
	}
	if open > c.slots {
		s.wrong = entryOverfull
		to("overfull", s)
		return
	}
	for input := 1; input <= entryInputs; input++ {
		if s.phase[input] == entryAbsent {
			if open < c.slots {
				t := s
				t.phase[input] = entryWaiting
				to("pull", t)
			}
			break
		}
	}
	for i := range c.copies {
		c.copySteps(s, i, to)
	}
	c.finish(s, to)
	c.die(s, to)
}

func (c *entryConfig) copySteps(s entryState, i int, to func(string, entryState)) {
	w := s.copies[i]
	if w.up && size(w.outstanding) < c.window {
		for input := uint8(1); input <= entryInputs; input++ {
			if s.phase[input] != entryWaiting {
				continue
			}
			t := s
			t.phase[input] = entryOut
			t.attempt[input] = min(t.attempt[input]+1, 2)
			t.copies[i].outstanding |= bit(input)
			if w.alive {
				t.copies[i].tasks |= bit(input)
			}
			to("dispatch", t)
			break
		}
	}
	for input := uint8(1); input <= entryInputs && w.alive && count(w.wire[:]) < 2; input++ {
		if w.tasks&bit(input) == 0 {
			continue
		}
		e, t := c.made(&s, input), s
		t.copies[i].tasks &^= bit(input)
		if c.without == "counting at the coordinator" {
			t.failed[input] |= e.failures
			t.counted += uint8(size(e.failures))
		}
		wire := &t.copies[i].wire
		if n := count(wire[:]); c.without != "one entry" || e.outputs == 0 || e.failures == 0 {
			wire[n] = e
		} else if n == 0 { // in two messages
			wire[0], wire[1] = entry{input, e.outputs, 0}, entry{input, 0, e.failures}
		} else {
			continue
		}
		to("work", t)
	}
	if w.up && w.wire[0] != (entry{}) {
		t := s
		e := take(t.copies[i].wire[:], 0)
		c.sawIf(!w.alive && e.failures != 0, "failure of a copy that has died accepted")
		c.accept(&t, i, e)
		to("accept", t)
	}
	if s.copyKills > 0 && w.alive {
		t := s
		t.copyKills--
		c.sawIf(w.wire[0].failures != 0, "copy killed with a failure on its way")
		t.copies[i].alive, t.copies[i].tasks = false, 0
		to("!killCopy", t)
	}
	if w.up && !w.alive {
		t := s
		for input := uint8(1); input <= entryInputs; input++ {
			if w.outstanding&bit(input) != 0 && t.phase[input] == entryOut {
				t.phase[input] = entryWaiting
			}
		}
		t.copies[i] = entryCopy{}
		to("reap", t)
	}
	if !w.up {
		t := s
		t.copies[i].up, t.copies[i].alive = true, true
		to("spawn", t)
	}
}
