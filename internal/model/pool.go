package model

import "fmt"

// POOL. A keyed region in copies between stages of the coordinator, which lives: source, ledger and consumer are with it.
// Copies are killed, links drop, one input may kill whoever works on it. The law: an input is outstanding at one session
// at most, and a result is accepted iff its input is outstanding at the session that carried it. Everything that an input
// became arrives as one result, for which its slot is the place; a result needs no credit of its own.

// poolInputs is how many inputs there are at most.
const poolInputs = 4

type poolPhase uint8

const (
	poolAbsent poolPhase = iota
	poolWaiting
	poolOut
	poolDone // the result is held
	poolReleased
)

type poolSlot struct {
	phase   poolPhase
	attempt uint8 // dispatches so far: what a stage that varies makes of the input
	deaths  uint8 // charged to the input
	starts  uint8 // of the poison
	suspect bool
	failed  bool
	group   uint8 // outputs accepted
	made    uint8 // the attempt that they are of
	handed  uint8 // outputs that have left
}

type poolResult struct {
	input, attempt uint8
	from           uint8 // parts: outputs before this one
	group          uint8 // outputs; 0 of a part that is only the end
	last           bool
}

type poolCopy struct {
	up          bool  // there is a session
	alive       bool  // and a process
	outstanding uint8 // inputs
	isolated    bool
	tasks       uint8 // inputs in the socket or the mailbox, in any order
	working     uint8 // input
	part        uint8 // the next one of it
	blackBox    uint8 // what a dead process was working on
	wire        [6]poolResult
	old         [3]poolResult // without the fence: of a session before
}

type poolOutput struct{ input, attempt, path uint8 }

type poolState struct {
	slots     [poolInputs + 1]poolSlot
	copies    [2]poolCopy
	inbox     [2]poolOutput
	got       [poolInputs + 1]uint8
	attempt   [poolInputs + 1]uint8
	lastInput uint8
	kills     uint8
	drops     uint8
	wrong     poolWrong
}

type poolWrong uint8

const (
	poolRight poolWrong = iota
	poolMixed
	poolDisordered
	poolOverfull
	poolWindow
	poolInnocent
	poolPoisonous
)

func (w poolWrong) String() string {
	return [...]string{"", "a group repeated, or mixed of two attempts", "order", "more inputs than slots", "a copy holds more than its window",
		"an innocent input failed as poison", "poison started more than three times"}[w]
}

type poolConfig struct {
	inputs, copies        int
	window, slots, credit int
	ordered, streaming    bool
	kills, drops          int
	poison                uint8
	fifo                  bool // tasks and dispatches go in order
	blackBox              bool
	unreplaced            bool // a copy that has died is not replaced
	without               string
	Tally
}

// made is how many outputs there are of an input.
func (c *poolConfig) made(input, attempt uint8) uint8 {
	if c.streaming && c.without != "a function of the input" {
		return [poolInputs + 1]uint8{0, 2, 2, 0, 1}[input]
	}
	return [poolInputs + 1][3]uint8{{}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {2, 0, 1}}[input][(attempt+2)%3]
}

func (c *poolConfig) machine() Machine[poolState] {
	start := poolState{kills: uint8(c.kills), drops: uint8(c.drops)}
	for i := range c.copies {
		start.copies[i].up, start.copies[i].alive = true, true
	}
	return Machine[poolState]{
		Start: start, Steps: c.steps, Unfinished: c.unfinished, Reached: c.Tally,
		Broken: func(s poolState) string { return s.wrong.String() },
	}
}

func (c *poolConfig) unfinished(s poolState) string {
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		slot := s.slots[input]
		switch {
		case slot.phase != poolReleased:
			return fmt.Sprintf("input %d is not released", input)
		case slot.failed && s.got[input] != 0 && !c.streaming: // what was streamed before stays delivered
			return "outputs of a failed input delivered"
		case c.without == "waiting for the result":
			if s.got[input] == 0 && c.made(input, 1) > 0 && c.made(input, 2) > 0 {
				return fmt.Sprintf("lost: input %d", input)
			}
		case !slot.failed && s.got[input] != c.made(input, slot.made):
			return fmt.Sprintf("lost: outputs of input %d", input)
		case c.poison == input && !slot.failed:
			return "poison has not failed"
		}
	}
	return ""
}

func (c *poolConfig) all() uint8 { return upTo(c.inputs) }

// open is how many slots are taken.
func (s *poolState) open() (n int) {
	for _, slot := range s.slots {
		n += int(number(slot.phase == poolWaiting || slot.phase == poolOut || slot.phase == poolDone))
	}
	return n
}

// head is the oldest input that is not released.
func (c *poolConfig) head(s *poolState) uint8 {
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.slots[input].phase != poolReleased {
			return input
		}
	}
	return 0
}

// canonical is one of the two states that differ in the names of the copies only.
func (c *poolConfig) canonical(s poolState) poolState {
	if c.copies == 2 && s.copies[1].before(&s.copies[0]) {
		s.copies[0], s.copies[1] = s.copies[1], s.copies[0]
	}
	return s
}

func (a *poolCopy) before(b *poolCopy) bool {
	x, y := a.key(), b.key()
	if x != y {
		return x < y
	}
	for i := range a.wire {
		if a.wire[i] != b.wire[i] {
			return a.wire[i].key() < b.wire[i].key()
		}
	}
	for i := range a.old {
		if a.old[i] != b.old[i] {
			return a.old[i].key() < b.old[i].key()
		}
	}
	return false
}

func (a *poolCopy) key() uint64 {
	return uint64(number(a.up)|number(a.isolated)<<1|number(a.alive)<<2) | uint64(a.outstanding)<<8 | uint64(a.tasks)<<16 |
		uint64(a.working)<<24 | uint64(a.part)<<32 | uint64(a.blackBox)<<40
}

func (r poolResult) key() uint64 {
	return uint64(r.input) | uint64(r.attempt)<<8 | uint64(r.from)<<16 | uint64(r.group)<<24 | uint64(number(r.last))<<32
}
