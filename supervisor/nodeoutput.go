package supervisor

import (
	"fmt"
	"os"
)

// output is told each line that the process of a session has printed.
func (s *session) output(line []byte) {
	r := s.nodes.run
	node := s.nodes.name(s.region, s.copy)
	r.event(NodeOutput{r.info(), node, string(line)})
	if r.unheard() {
		fmt.Fprintf(os.Stderr, "[%s] %s\n", node, line) // in one write: lines of several processes do not mix
	}
}

// outputLost is told how many lines there were besides.
func (s *session) outputLost(lines int) {
	r := s.nodes.run
	r.event(EventsLost{r.info(), int64(lines)})
	if r.unheard() {
		fmt.Fprintf(os.Stderr, "[%s] (%d more lines, dropped)\n", s.nodes.name(s.region, s.copy), lines)
	}
}

// unheard reports whether nobody listens to the run's events.
func (r *run) unheard() bool { return r.herald.to == nil && !r.journal.heard() }

// leastOf returns which of n events to drop, of those that wait or are remembered, oldest first: a line of output, if there
// is one, because a process may print any number of them; else the oldest.
func leastOf(n int, at func(int) Event) int {
	for i := range n {
		if _, output := at(i).(NodeOutput); output {
			return i
		}
	}
	return 0
}
