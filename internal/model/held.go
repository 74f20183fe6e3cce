package model

import "fmt"

// HELD ITEMS. A region with the source, a one-to-many stage and up to two aggregates in a node. Node and program are
// killed. What has become of an input when a batch takes only a part of what was made of it? Two answers:
//
//	residue      the input is done, and what is left of it travels with the frame; the coordinator gives it to the next node
//	suppression  the input is not done; the next node yields it again, and the one-to-many stage leaves out what was accepted
//
// Residue survives stages that do something else each time; suppression needs nothing of what is held to be encoded.

// heldInputs is how many inputs there are at most.
const heldInputs = 4

// A leaf is one thing that was made of an input: input<<4 | path<<2 | attempt. 0 is none.
type leaf uint8

func leafOf(input, path, attempt uint8) leaf { return leaf(input<<4 | path<<2 | attempt) }

func (l leaf) input() uint8   { return uint8(l >> 4) }
func (l leaf) path() uint8    { return uint8(l >> 2 & 3) }
func (l leaf) attempt() uint8 { return uint8(l & 3) }

// piece is piece n, 1 or 2, of the batch of which l is the last, in the set of those of an input.
func (l leaf) piece(n uint8) uint8 { return 1 << (2*l.path() + n - 1) }

// A pack is what the first aggregate makes: a batch, or one of the two pieces that a one-to-many stage makes of a batch.
type pack struct {
	leaves [2]leaf
	piece  uint8 // 0 is the whole, or 1 and 2
}

func (p pack) inputs() uint8 {
	return (bit(p.leaves[0].input()) | bit(p.leaves[1].input())) &^ 1
}

// heldStages is what the stages behind the one-to-many stage hold. Places are filled from the front.
type heldStages struct {
	queue   [4]leaf // made, and waiting for room
	shuffle [2]leaf
	first   [2]leaf // in the first aggregate
	pieces  [2]pack // behind it
	second  [3]pack // in the second aggregate
}

// leafPlaces and packPlaces name the places, so that what is true of all is said once.
func (h *heldStages) leafPlaces() [3][]leaf { return [3][]leaf{h.queue[:], h.shuffle[:], h.first[:]} }
func (h *heldStages) packPlaces() [2][]pack { return [2][]pack{h.pieces[:], h.second[:]} }

// inputs is of which inputs there is something.
func (h *heldStages) inputs() (set uint8) {
	for _, place := range h.leafPlaces() {
		for _, l := range place {
			set |= bit(l.input())
		}
	}
	for _, place := range h.packPlaces() {
		for _, p := range place {
			set |= p.inputs()
		}
	}
	return set &^ 1
}

// of keeps what was made of the inputs, and moves it to the front of its place.
func (h heldStages) of(inputs uint8) (kept heldStages) {
	to := kept.leafPlaces()
	for i, place := range h.leafPlaces() {
		n := 0
		for _, l := range place {
			if l != 0 && inputs&bit(l.input()) != 0 {
				to[i][n] = l
				n++
			}
		}
	}
	packs := kept.packPlaces()
	for i, place := range h.packPlaces() {
		n := 0
		for _, p := range place {
			if p.inputs()&inputs != 0 {
				packs[i][n] = p
				n++
			}
		}
	}
	return kept
}

// closed is inputs, with those that share a pack with one of them, and so on: a pack cannot be parted.
func (h *heldStages) closed(inputs uint8) uint8 {
	for before := uint8(0); before != inputs; {
		before = inputs
		for _, place := range h.packPlaces() {
			for _, p := range place {
				if p.inputs()&inputs != 0 {
					inputs |= p.inputs()
				}
			}
		}
	}
	return inputs
}

func count[T comparable](place []T) (n int) {
	var none T
	for n < len(place) && place[n] != none {
		n++
	}
	return n
}

// take removes element i of a place.
func take[T any](place []T, i int) T {
	var none T
	v := place[i]
	copy(place[i:], place[i+1:])
	place[len(place)-1] = none
	return v
}

func (p pack) last() leaf { return p.leaves[max(0, count(p.leaves[:])-1)] }

type heldFrame struct {
	seq     uint8
	packs   [3]pack // one output
	done    uint8
	failed  bool  // the leaf that always fails has
	without uint8 // of the done ones, those of which the node has sent nothing
	end     bool
	residue heldStages
}

type heldState struct {
	// What outlives the program: the consumer's state, and the token that it was saved with.
	savedDone                 uint8
	savedGot                  [heldInputs + 1]uint8
	savedPieces               [heldInputs + 1]uint8
	savedFailed               uint8
	savedGiven, savedFiltered uint8
	savedLast                 leaf
	// Coordinator.
	alive    bool
	accepted uint8                 // inputs done
	partial  [heldInputs + 1]uint8 // of inputs that are not: paths accepted
	pieces   [heldInputs + 1]uint8 // by the last input of a batch: pieces accepted
	residue  heldStages
	failed   uint8 // failure records accepted
	given    uint8 // inputs of which something was accepted
	filtered uint8 // inputs that count as filtered
	next     uint8
	inbox    [2]heldFrame
	ended    bool
	// Consumer.
	got       [heldInputs + 1]uint8 // paths; or pieces, one bit each
	gotPieces [heldInputs + 1]uint8
	attempt   [heldInputs + 1]uint8
	last      leaf
	short     bool // a batch was not full
	eos       bool // accepted
	// Node.
	up, nodeAlive bool
	incarnation   uint8
	yielded, told uint8
	gave          uint8 // inputs of which something was sent
	held          heldStages
	failing       bool // the failure waits for a frame
	sent          uint8
	ending        bool
	wire          [2]heldFrame

	deaths    uint8 // of the poison, as far as the coordinator knows
	suspected uint8 // input that the dead node was working on, as its black box tells
	starts    uint8 // of the poison, in this life of the program

	nodeKills, programKills uint8
	wrong                   heldWrong
}

// heldWrong is what must not happen.
type heldWrong uint8

const (
	heldRight heldWrong = iota
	heldRepeated
	heldOverfull
	heldEarly
	heldShort
	heldOrder
	heldPoisonous
)

func (w heldWrong) String() string {
	return [...]string{"", "an output repeated, or mixed of two attempts", "buffer above its bound", "done while something is held",
		"a batch is short before the end", "order", "poison started more than three times"}[w]
}

type heldConfig struct {
	inputs        int
	shuffle       bool
	first, second int  // sizes of the aggregates; second 0: there is none
	split         bool // between them: each batch becomes two pieces
	tee           bool // instead of the one-to-many stage: path 0 goes to one batch, path 1 to another
	timer         bool // batches may leave before they are full
	ordered       bool
	credit        int   // frames
	suppress      bool  // instead of residue
	varies        bool  // the one-to-many stage does something else after each death
	fails         bool  // one leaf always fails
	poison        uint8 // an input that kills its node; 0: none
	nodeKills     int
	programKills  int
	without       string
	Tally
}

// made is how many things are made of an input.
func (c *heldConfig) made(input, attempt uint8) uint8 {
	switch {
	case c.varies:
		return [heldInputs + 1][3]uint8{{}, {2, 1, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}}[input][attempt]
	case c.tee:
		return 2
	}
	return [heldInputs + 1]uint8{0, 1, 4, 0, 2}[input]
}

// filters reports whether a leaf is filtered behind the one-to-many stage, and spoils whether it fails there.
func (c *heldConfig) filters(l leaf) bool {
	return !c.varies && !c.tee && !c.fails && (l.input() == 2 || l.input() == 4) && l.path() == 1
}
func (c *heldConfig) spoils(l leaf) bool { return c.fails && l.input() == 2 && l.path() == 1 }

// want is the set of paths that the consumer gets of an input.
func (c *heldConfig) want(input, attempt uint8) (paths uint8) {
	if input == c.poison {
		return 0
	}
	for path := range c.made(input, attempt) {
		if l := leafOf(input, path, attempt); !c.filters(l) && !c.spoils(l) {
			paths |= bit(path)
		}
	}
	return paths
}

func (c *heldConfig) machine() Machine[heldState] {
	start := heldState{alive: true, next: 1, sent: 1, up: true, nodeAlive: true, nodeKills: uint8(c.nodeKills), programKills: uint8(c.programKills)}
	return Machine[heldState]{
		Start: start, Steps: c.steps, Unfinished: c.unfinished, Reached: c.Tally,
		Broken: func(s heldState) string { return s.wrong.String() },
	}
}

func (c *heldConfig) unfinished(s heldState) string {
	if !s.ended || s.terminal() != upTo(c.inputs) {
		return fmt.Sprintf("no end, or inputs never acknowledged: %b are", s.terminal())
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if c.split {
			both := uint8(0)
			for path := range uint8(4) {
				both |= c.want(input, 0) >> path & 1 * 3 << (2 * path)
			}
			if s.gotPieces[input] != both {
				return fmt.Sprintf("lost: pieces %b of input %d", s.gotPieces[input], input)
			}
			continue
		}
		if s.got[input] != c.want(input, s.attempt[input]) && (s.got[input] != 0 || !c.varies) {
			return fmt.Sprintf("lost: paths %b of input %d", s.got[input], input)
		}
	}
	filtered := s.filtered
	if !c.suppress {
		filtered = s.terminal() &^ s.given
	}
	for input := uint8(1); input <= uint8(c.inputs) && !c.varies; input++ {
		if want := c.want(input, 0) == 0 && input != c.poison; want != (filtered&bit(input) != 0) {
			return fmt.Sprintf("counted wrongly: inputs %b as filtered", filtered)
		}
	}
	if s.failed != number(c.fails || c.poison != 0) {
		return fmt.Sprintf("%d failures counted", s.failed)
	}
	return ""
}

// terminal is the set of inputs of which nothing is alive any more.
func (s *heldState) terminal() uint8 {
	alive := s.residue.inputs()
	for _, f := range s.inbox {
		for _, p := range f.packs {
			alive |= p.inputs()
		}
	}
	return s.accepted &^ alive
}
