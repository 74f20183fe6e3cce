package model

import "fmt"

// HUB. Region A (keyed, one-to-many, does something else each time) feeds region B (one-to-many, then a batch that takes
// groups in part) through the coordinator. What A has handed in is safe with the coordinator; what B is not done with
// stays in the ledger of B's input. Done is a set: an input that B filters is done although an older one is still held.

// hubInputs is how many inputs the source has, hubItems how many come to B at most.
const (
	hubInputs = 3
	hubItems  = 6
)

// A hubLeaf is one thing that B made of an item: item<<3 | path<<2 | attempt. 0 is none.
type hubLeaf uint8

func (l hubLeaf) item() uint8    { return uint8(l >> 3) }
func (l hubLeaf) path() uint8    { return uint8(l >> 2 & 1) }
func (l hubLeaf) attempt() uint8 { return uint8(l & 3) }

func hubLeafOf(item, path, attempt uint8) hubLeaf { return hubLeaf(item<<3 | path<<2 | attempt) }

type hubFrame struct {
	seq            uint8
	done, filtered uint8 // items
	output         [3]hubLeaf
	residue        hubLeaf
	partial        hubLeaf // suppression: the first one that was left behind
	end            bool
}

type hubA struct {
	phase       [hubInputs + 1]poolPhase
	group       [hubInputs + 1]uint8
	handed      [hubInputs + 1]uint8
	up, alive   bool
	incarnation uint8
	outstanding uint8
	tasks       uint8
	wire        [2]struct{ input, group uint8 }
}

type hubB struct {
	up, alive      bool
	incarnation    uint8
	endSent        bool
	tasks          uint8 // items in the socket or the mailbox, taken in ascending order
	ending         bool
	batch          [3]hubLeaf
	restored       bool    // the first of the batch is residue, of an item that is done
	behind         hubLeaf // what of the current item had no room
	done, filtered uint8   // for the next frame
	out            uint8
	finished       bool
	partial        hubLeaf // suppression: paths before it were accepted
	wire           [3]hubFrame
	old            [2]hubFrame // without the fence
}

type hubState struct {
	a         hubA
	b         hubB
	items     uint8 // handed from A to B's ledger so far
	phase     [hubItems + 1]poolPhase
	of        [hubItems + 1]uint8 // the source's input of each item
	filtered  uint8               // items that B has filtered
	next      uint8
	residue   hubLeaf
	partial   hubLeaf
	inbox     [2][3]hubLeaf
	ended     bool
	alive     [hubInputs + 1]uint8 // the count by which an input is known to be terminal
	terminal  uint8
	last      hubLeaf
	kills     uint8
	drops     uint8
	wrongness hubWrong
}

type hubWrong uint8

const (
	hubRight hubWrong = iota
	hubLost
	hubOverfull
	hubSlots
	hubEarly
)

func (w hubWrong) String() string {
	return [...]string{"", "an output lost, repeated or mixed", "buffer above its bound", "ledger of B above its slots",
		"acknowledged while a descendant is alive"}[w]
}

type hubConfig struct {
	inputs, batch        int
	slots, credit, slotA int
	timer                bool
	suppress             bool // instead of residue; B is a function of its input
	kills, drops         int
	span                 int // how far the source may run ahead of what is terminal; 0 is any
	without              string
	Tally
}

func (c *hubConfig) madeByA(input, incarnation uint8) uint8 {
	return [hubInputs + 1][3]uint8{{}, {2, 1, 2}, {0, 2, 1}, {1, 2, 0}}[input][incarnation]
}

func madeByB(item, attempt uint8) uint8 { return (item + attempt) % 3 }

func (c *hubConfig) machine() Machine[hubState] {
	start := hubState{next: 1, kills: uint8(c.kills), drops: uint8(c.drops)}
	start.a.up, start.a.alive, start.b.up, start.b.alive, start.b.out = true, true, true, true, 1
	return Machine[hubState]{
		Start: start, Reached: c.Tally,
		Broken: func(s hubState) string { return s.wrongness.String() },
		Steps: func(s hubState, to func(string, hubState)) {
			if s.open() > c.slots {
				s.wrongness = hubSlots
				to("overfull", s)
				return
			}
			c.feed(s, to)
			c.stepsOfA(s, to)
			c.stepsOfLedger(s, to)
			c.stepsOfB(s, to)
			c.faultsOfB(s, to)
		},
		Unfinished: func(s hubState) string {
			switch {
			case !s.ended:
				return fmt.Sprintf("no end: inputs %v, items %v", s.a.phase, s.phase)
			case s.terminal != upTo(c.inputs):
				return fmt.Sprintf("never acknowledged: counts %v", s.alive)
			case !s.follows(hubLeafOf(s.items+1, 0, 0)):
				return fmt.Sprintf("lost: outputs behind %x", s.last)
			}
			return ""
		},
	}
}

// follows reports whether l is the next leaf of the items in order, each of one attempt, without those filtered.
func (s *hubState) follows(l hubLeaf) bool {
	last := s.last
	if l.item() == last.item() {
		return l.attempt() == last.attempt() && l.path() == last.path()+1
	}
	if last != 0 && last.path()+1 != madeByB(last.item(), last.attempt()) || l.path() != 0 || l.item() < last.item() {
		return false
	}
	for between := last.item() + 1; between < l.item(); between++ {
		if s.filtered&bit(between) == 0 {
			return false
		}
	}
	return true
}

// members is the set of the source's inputs that an output was made of.
func (s *hubState) members(output [3]hubLeaf) (inputs uint8) {
	for _, l := range output[:count(output[:])] {
		inputs |= bit(s.of[l.item()])
	}
	return inputs
}

// open is how many slots of B's ledger are taken.
func (s *hubState) open() (n int) {
	for _, phase := range s.phase {
		n += int(number(phase == poolWaiting || phase == poolOut))
	}
	return n
}

// account applies the changes of one step to the counts, and looks whether what comes to zero is really gone.
func (s *hubState) account(change [hubInputs + 1]int) {
	for input := uint8(1); input <= hubInputs; input++ {
		if change[input] == 0 && s.alive[input] != 0 {
			continue
		}
		n := int(s.alive[input]) + change[input]
		if n < 0 {
			s.wrongness, n = hubEarly, 0
		}
		if s.alive[input] = uint8(n); n > 0 || s.a.phase[input] == poolAbsent {
			continue
		}
		s.terminal |= bit(input)
		if s.lives(input) {
			s.wrongness = hubEarly
		}
	}
}

func (s *hubState) lives(input uint8) bool {
	phase := s.a.phase[input]
	lives := phase == poolWaiting || phase == poolOut || phase == poolDone && s.a.handed[input] < s.a.group[input] ||
		s.residue != 0 && s.of[s.residue.item()] == input
	for item := uint8(1); item <= s.items; item++ {
		lives = lives || s.of[item] == input && (s.phase[item] == poolWaiting || s.phase[item] == poolOut)
	}
	for _, output := range s.inbox {
		lives = lives || s.members(output)&bit(input) != 0
	}
	return lives
}
