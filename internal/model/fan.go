package model

import "fmt"

// FAN. A region whose outputs go by port (it tees, routes and filters) feeds two regions, which are merged before the
// consumer; any of the three is killed. When may the source forget an input? The coordinator counts what is alive of
// it; the count changes where a result is accepted and where the consumer is done with an output, and nowhere else.

// fanInputs is how many inputs there are at most.
const fanInputs = 3

type fanResult struct {
	input, attempt uint8
	what           uint8 // of the first region a set of ports, of the others how many outputs
	last           bool
}

type fanRegion struct {
	phase       [fanInputs + 1]poolPhase
	attempt     [fanInputs + 1]uint8
	group       [fanInputs + 1]uint8 // as what of a result
	handed      [fanInputs + 1]uint8
	up, alive   bool
	incarnation uint8
	outstanding uint8
	tasks       uint8
	wire        [2]fanResult
}

type fanOutput struct{ input, branch, attempt, path uint8 }

type fanState struct {
	regions   [3]fanRegion // the one that parts, and the branches
	alive     [fanInputs + 1]uint8
	terminal  uint8
	inbox     [2]fanOutput
	got       [2][fanInputs + 1]uint8
	attempt   [2][fanInputs + 1]uint8
	lastInput [2]uint8
	kills     uint8
	drops     uint8
	wrong     fanWrong
}

type fanWrong uint8

const (
	fanRight fanWrong = iota
	fanLost
	fanDisordered
	fanEarly
	fanOverfull
)

func (w fanWrong) String() string {
	return [...]string{"", "an output lost, repeated or mixed", "order within a branch", "acknowledged while a descendant is alive",
		"more inputs than slots"}[w]
}

type fanConfig struct {
	inputs, slots, window, credit int
	kills, drops                  int
	without                       string
	Tally
}

// made is what a region makes of an input. The first one tees 1, routes 2 by attempt, and filters 3 at first.
func (c *fanConfig) made(region int, input, incarnation uint8) uint8 {
	switch region {
	case 0:
		return [fanInputs + 1][3]uint8{{}, {3, 3, 1}, {1, 2, 3}, {0, 2, 1}}[input][incarnation]
	case 1:
		return 1
	}
	return [fanInputs + 1][3]uint8{{}, {2, 0, 1}, {1, 2, 0}, {0, 1, 2}}[input][incarnation]
}

func (c *fanConfig) machine() Machine[fanState] {
	start := fanState{kills: uint8(c.kills), drops: uint8(c.drops)}
	for r := range start.regions {
		start.regions[r].up, start.regions[r].alive = true, true
	}
	return Machine[fanState]{
		Start: start, Steps: c.steps, Unfinished: c.unfinished, Reached: c.Tally,
		Broken: func(s fanState) string { return s.wrong.String() },
	}
}

func (c *fanConfig) unfinished(s fanState) string {
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.terminal&bit(input) == 0 {
			return fmt.Sprintf("input %d is never acknowledged, its count is %d", input, s.alive[input])
		}
		ports := s.regions[0].group[input]
		for branch := range uint8(2) {
			region := &s.regions[1+branch]
			want := uint8(0)
			if ports&bit(branch) != 0 {
				want = region.group[input]
			}
			if s.got[branch][input] != want || (ports&bit(branch) == 0) != (region.phase[input] == poolAbsent) {
				return fmt.Sprintf("lost: input %d has %d outputs of branch %d, want %d", input, s.got[branch][input], branch, want)
			}
		}
	}
	return ""
}

func (r *fanRegion) open() (n int) {
	for _, phase := range r.phase {
		n += int(number(phase == poolWaiting || phase == poolOut || phase == poolDone))
	}
	return n
}

// account changes the count of an input, and looks whether what comes to zero is really gone.
func (s *fanState) account(input uint8, change int) {
	n := int(s.alive[input]) + change
	if n < 0 {
		s.wrong, n = fanEarly, 0
	}
	if s.alive[input] = uint8(n); n > 0 {
		return
	}
	s.terminal |= bit(input)
	for r := range s.regions {
		region := &s.regions[r]
		left := region.handed[input] < region.group[input]
		if r == 0 {
			left = region.handed[input] != region.group[input]
		}
		if phase := region.phase[input]; phase == poolWaiting || phase == poolOut || phase == poolDone && left {
			s.wrong = fanEarly
		}
	}
	for _, o := range s.inbox {
		if o.input == input {
			s.wrong = fanEarly
		}
	}
}

func (c *fanConfig) steps(s fanState, to func(string, fanState)) {
	for r := range s.regions {
		if s.regions[r].open() > c.slots {
			s.wrong = fanOverfull
			to("overfull", s)
			return
		}
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.regions[0].phase[input] == poolAbsent {
			if s.regions[0].open() < c.slots {
				t := s
				t.regions[0].phase[input], t.alive[input] = poolWaiting, 1
				to("pull", t)
			}
			break
		}
	}
	for r := range s.regions {
		c.work(s, r, to)
		c.release(s, r, to)
		c.faults(s, r, to)
	}
	if s.inbox[0] != (fanOutput{}) {
		t := s
		o := take(t.inbox[:], 0)
		got := &t.got[o.branch][o.input]
		switch {
		case *got != o.path, o.path > 0 && t.attempt[o.branch][o.input] != o.attempt:
			t.wrong = fanLost
		case o.input < t.lastInput[o.branch]:
			t.wrong = fanDisordered
		}
		*got++
		t.attempt[o.branch][o.input], t.lastInput[o.branch] = o.attempt, o.input
		c.sawIf(t.alive[o.input] > 1, "one branch finished, the other alive")
		t.account(o.input, -1)
		to("consume", t)
	}
}
