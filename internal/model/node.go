package model

import "fmt"

// NODE. The whole graph in one node, and the program killed too: source, two unordered workers, a filter and a batch. Each
// frame says what is done with it. The sum over accepted frames is where a new node resumes, the sum over finished frames
// is the token of the program: one mechanism, and nothing is acknowledged to the node.

// nodeFiltered are the inputs that are filtered.
const nodeFiltered = 1 << 3

type nodeFrame struct {
	seq         uint8
	items, done uint8
	end         bool
}

type nodeState struct {
	// What outlives the program.
	token   uint8 // inputs finished
	saved   uint8 // the consumer's state, if it is saved together with the token
	pending uint8 // a token that is being written
	writing bool
	// Coordinator and consumer.
	alive    bool
	accepted uint8
	finished uint8
	next     uint8
	inbox    [2]nodeFrame
	body     nodeFrame // in the consumer's loop
	inBody   bool
	eos      bool // accepted
	ended    bool
	seen     uint8
	again    uint8 // may be seen again: finished after the last save
	draining bool
	stop     uint8 // position of the drain plus one, once it is known
	// Node.
	up, nodeAlive                          bool
	yielded, working, batch, marked, wrote uint8
	finishedAll                            bool
	wire                                   [2]nodeFrame
	old                                    [2]nodeFrame // without the fence
	told, answering                        bool
	nodeStop                               uint8

	nodeKills, programKills, drops uint8
	wrong                          nodeWrong
}

type nodeWrong uint8

const (
	nodeRight nodeWrong = iota
	nodeRepeated
	nodeOverfull
)

func (w nodeWrong) String() string {
	return [...]string{"", "an output repeated", "buffer above its bound"}[w]
}

type nodeConfig struct {
	inputs, batch, credit int
	timer                 bool
	automatic             bool // the token is a file of its own; else it is saved with the consumer's state
	drain                 bool
	nodeKills             int
	programKills, drops   int
	without               string
	Tally
}

func (c *nodeConfig) machine() Machine[nodeState] {
	start := nodeState{
		alive: true, next: 1, wrote: 1, up: true, nodeAlive: true,
		nodeKills: uint8(c.nodeKills), programKills: uint8(c.programKills), drops: uint8(c.drops),
	}
	return Machine[nodeState]{
		Start: start, Steps: c.steps, Unfinished: c.unfinished, Reached: c.Tally,
		Broken: func(s nodeState) string { return s.wrong.String() },
	}
}

func (c *nodeConfig) unfinished(s nodeState) string {
	all := upTo(c.inputs)
	if s.draining && s.stop > 0 {
		all = upTo(s.stop - 1)
	}
	switch {
	case !s.ended || s.seen != all&^nodeFiltered:
		return fmt.Sprintf("lost: %b of %b seen", s.seen, all&^nodeFiltered)
	case s.finished != all:
		return "the token is not complete at the end"
	}
	return ""
}

func (c *nodeConfig) steps(s nodeState, to func(string, nodeState)) {
	if c.drain && s.alive && !s.draining {
		t := s
		t.draining = true
		to("!drain", t)
	}
	if s.draining && s.up && s.nodeAlive && !s.told && !s.finishedAll {
		to("tell", c.tell(s)) // the first thing that a session is told
		return
	}
	if s.answering && s.up {
		t := s
		t.answering = false
		if t.stop == 0 {
			t.stop = s.nodeStop
		}
		to("stopped", t)
	}
	if s.nodeAlive && s.up {
		c.node(s, to)
	}
	c.faults(s, to)
	if !s.alive {
		to("resume", c.resumed(s))
		return
	}
	c.coordinator(s, to)
	c.save(s, to)
	if s.programKills > 0 {
		c.sawIf(s.inBody, "program killed inside the consumer's loop")
		c.sawIf(s.inbox[0] != nodeFrame{}, "program killed with accepted frames unconsumed")
		c.sawIf(s.writing, "program killed while it saves")
		to("!killProgram", nodeState{
			token: s.token, saved: s.saved, seen: s.seen, again: s.again, wrong: s.wrong,
			nodeKills: s.nodeKills, programKills: s.programKills - 1, drops: s.drops,
		})
	}
}

// tell has the node stop behind what it has yielded or was told is done: holes below are yielded again. A node that
// replaces one which has answered gets its answer.
func (c *nodeConfig) tell(s nodeState) nodeState {
	s.told = true
	c.sawIf(prefix(s.yielded) < highest(s.yielded), "drained with a hole")
	if s.stop > 0 && c.without != "the position of the drain" {
		c.saw("the position of the drain kept")
		s.nodeStop = s.stop
	} else {
		s.nodeStop, s.answering = highest(s.yielded)+1, true
	}
	return s
}

func (c *nodeConfig) node(s nodeState, to func(string, nodeState)) {
	all := upTo(c.inputs)
	if s.nodeStop > 0 {
		all = upTo(s.nodeStop - 1)
	}
	if s.yielded&all != all && size(s.working) < 2 {
		t := s
		input := prefix(s.yielded) + 1
		t.yielded |= bit(input)
		if bit(input) == nodeFiltered {
			t.marked |= bit(input)
		} else {
			t.working |= bit(input)
		}
		to("yield", t)
	}
	for input := uint8(1); input <= uint8(c.inputs); input++ {
		if s.working&bit(input) != 0 && size(s.batch) < c.batch {
			t := s
			t.working &^= bit(input)
			t.batch |= bit(input)
			to("collect", t)
		}
	}
	through := s.yielded&all == all && s.working == 0 && !s.answering
	if count(s.wire[:])+count(s.inbox[:]) >= c.credit {
		return
	}
	if s.batch != 0 && (size(s.batch) == c.batch || c.timer || through) {
		t := s
		t.send(nodeFrame{items: s.batch, done: s.batch | s.marked})
		t.batch = 0
		to("flush", t)
	}
	if through && s.batch == 0 && !s.finishedAll {
		t := s
		t.send(nodeFrame{done: s.marked, end: true})
		t.finishedAll = true
		to("end", t)
	}
}

func (s *nodeState) send(f nodeFrame) {
	f.seq = s.wrote
	s.wrote++
	s.marked = 0
	s.wire[count(s.wire[:])] = f
}

// forget is what a node does when its session ends.
func (s *nodeState) forget() {
	s.yielded, s.working, s.batch, s.marked, s.wrote = 0, 0, 0, 0, 0
	s.finishedAll, s.told, s.answering, s.nodeStop = false, false, false, 0
}

func (c *nodeConfig) faults(s nodeState, to func(string, nodeState)) {
	if s.nodeKills > 0 && s.nodeAlive {
		c.sawIf(s.batch != 0, "node killed with a batch half full")
		c.sawIf(s.inbox[0] != nodeFrame{} || s.inBody, "node killed while accepted frames wait for the consumer")
		c.sawIf(prefix(s.accepted) < highest(s.accepted), "node killed with a hole in what is accepted")
		c.sawIf(s.told, "node killed while it drains")
		t := s
		t.nodeKills--
		told, answering, stop := t.told, t.answering, t.nodeStop
		t.forget()
		t.told, t.answering, t.nodeStop = told, answering, stop // the answer may be on its way
		t.nodeAlive = false
		to("!killNode", t)
	}
	if s.drops > 0 && s.nodeAlive && s.up {
		t := s
		t.drops--
		c.close(&t)
		to("!drop", t)
	}
}

func (c *nodeConfig) close(s *nodeState) {
	c.sawIf(s.wire[0] != nodeFrame{}, "fence discarded a frame on its way")
	if c.without == "the fence" {
		for _, f := range s.wire[:count(s.wire[:])] {
			if n := count(s.old[:]); n < len(s.old) {
				s.old[n] = f
			}
		}
	}
	s.up, s.wire = false, [2]nodeFrame{}
	s.forget()
}
