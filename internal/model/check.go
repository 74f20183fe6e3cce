package model

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

// A Machine is a protocol with everything around it that may go wrong, as states and the steps between them. A state is
// a value without pointers, so that it is its own key.
type Machine[S comparable] struct {
	// Start is the first state.
	Start S
	// Steps calls to with each state that may follow s, and with what happens then. A name that begins with '!' is a
	// fault, or something that nobody has to do: no state may depend on one to get on.
	Steps func(s S, to func(step string, next S))
	// Broken says what is wrong with a state that must never be, "" if nothing is.
	Broken func(s S) string
	// Unfinished says what is missing in a state in which nothing has to happen any more, "" if nothing is.
	Unfinished func(s S) string
	// Reached counts the situations that the steps met, by name. It may be nil.
	Reached Tally
}

// A Tally counts how often a situation was met: a check that never met the situation it was made for shows nothing.
type Tally map[string]int

func (t Tally) saw(situation string) { t.sawIf(true, situation) }

func (t Tally) sawIf(met bool, situation string) {
	if met && t != nil {
		t[situation]++
	}
}

func (t Tally) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		all = append(all, fmt.Sprintf("%s: %d", name, t[name]))
	}
	return strings.Join(all, ", ")
}

// A Result is what a search has found.
type Result struct {
	States, Steps, Ends int
	// Violation is the property that does not hold, "" if all do.
	Violation string
	// Trace is a shortest way to the violation, by the names of the steps.
	Trace []string
	// Stopped says that there were more states than the limit, so that nothing was shown.
	Stopped bool
	Reached Tally
}

// Explore searches every state that m can reach, breadth first. It looks for a state that is broken, one that is
// unfinished although nothing happens any more (a deadlock), and one from which no end can be reached without a
// further fault (a livelock).
func Explore[S comparable](m Machine[S], limit int) Result {
	e := explorer[S]{machine: m, index: newIndex[S](), result: Result{Reached: m.Reached}}
	e.add(m.Start, -1, "")
	for at := int32(0); int(at) < len(e.index.states); at++ {
		s := e.index.states[at]
		if why := m.Broken(s); why != "" {
			return e.violated(why, at)
		}
		if e.follow(s, at) == 0 {
			if why := m.Unfinished(s); why != "" {
				return e.violated("deadlock: "+why, at)
			}
			e.ends = append(e.ends, at)
		}
		if len(e.index.states) > limit {
			e.result.Stopped = true
			return e.done()
		}
	}
	if at := e.stuck(); at >= 0 {
		return e.violated("livelock: no end can be reached", at)
	}
	return e.done()
}

type explorer[S comparable] struct {
	machine  Machine[S]
	index    *index[S]
	parent   []int32  // of each state, the one from which it was first reached
	via      []string // and the step
	from, to []int32  // steps that are no faults
	ends     []int32
	result   Result
}

func (e *explorer[S]) add(s S, parent int32, step string) int32 {
	at, isNew := e.index.put(s)
	if isNew {
		e.parent, e.via = append(e.parent, parent), append(e.via, step)
	}
	return at
}

// follow takes every step from s, and returns how many are no faults.
func (e *explorer[S]) follow(s S, at int32) (due int) {
	e.machine.Steps(s, func(step string, next S) {
		e.result.Steps++
		k := e.add(next, at, step)
		if step[0] != '!' {
			due++
			e.from, e.to = append(e.from, at), append(e.to, k)
		}
	})
	return due
}

// stuck returns a state from which no end can be reached, or -1.
func (e *explorer[S]) stuck() int32 {
	n := len(e.index.states)
	first := make([]int32, n+1) // of the steps into each state, in before
	for _, k := range e.to {
		first[k+1]++
	}
	for k := range n {
		first[k+1] += first[k]
	}
	before, next := make([]int32, len(e.to)), slices.Clone(first)
	for i, k := range e.to {
		before[next[k]] = e.from[i]
		next[k]++
	}
	ending, work := make([]bool, n), slices.Clone(e.ends)
	for _, k := range work {
		ending[k] = true
	}
	for len(work) > 0 {
		k := work[len(work)-1]
		work = work[:len(work)-1]
		for _, p := range before[first[k]:first[k+1]] {
			if !ending[p] {
				ending[p] = true
				work = append(work, p)
			}
		}
	}
	return int32(slices.Index(ending, false))
}

func (e *explorer[S]) violated(why string, at int32) Result {
	e.result.Violation = why
	for ; at > 0; at = e.parent[at] {
		e.result.Trace = append(e.result.Trace, e.via[at])
	}
	slices.Reverse(e.result.Trace)
	return e.done()
}

func (e *explorer[S]) done() Result {
	e.result.States, e.result.Ends = len(e.index.states), len(e.ends)
	return e.result
}

// An index numbers states. It is a hash set with open addressing, which holds numbers only: each state is there once.
type index[S comparable] struct {
	seed   maphash.Seed
	states []S
	places []int32 // number of a state plus one; 0 is empty
}

func newIndex[S comparable]() *index[S] {
	return &index[S]{seed: maphash.MakeSeed(), places: make([]int32, 1<<10)}
}

// put returns the number of s, and whether it is new.
func (x *index[S]) put(s S) (number int32, isNew bool) {
	if 2*len(x.states) >= len(x.places) {
		x.grow()
	}
	p := x.find(s)
	if n := x.places[p]; n != 0 {
		return n - 1, false
	}
	x.states = append(x.states, s)
	x.places[p] = int32(len(x.states))
	return int32(len(x.states)) - 1, true
}

// find returns the place of s, or the empty one where it belongs.
func (x *index[S]) find(s S) uint64 {
	last := uint64(len(x.places) - 1)
	for p := maphash.Comparable(x.seed, s) & last; ; p = (p + 1) & last {
		if n := x.places[p]; n == 0 || x.states[n-1] == s {
			return p
		}
	}
}

func (x *index[S]) grow() {
	x.places = make([]int32, 4*len(x.places))
	last := uint64(len(x.places) - 1)
	for i, s := range x.states {
		p := maphash.Comparable(x.seed, s) & last
		for x.places[p] != 0 {
			p = (p + 1) & last
		}
		x.places[p] = int32(i) + 1
	}
}

// A Check is one configuration of a machine, with what is to come of it.
type Check struct {
	Protocol string // which part of the link
	Name     string // the configuration
	// Without is the rule that is left out; "" is the protocol itself.
	Without string
	// Breaks begins or is within the name of the property that does not hold then.
	Breaks string
	// Meets are situations of which the search is worthless if it meets none.
	Meets []string
	// Cost says how long it takes.
	Cost Cost
	// Run searches it.
	Run func() Result
}

// A Cost says which runs can afford a check.
type Cost int

// The costs.
const (
	Small Cost = iota // milliseconds
	Large             // up to a second
	Full              // more
)

// String names the check.
func (c Check) String() string {
	name := c.Protocol + "/" + c.Name
	if c.Without != "" {
		name += "/without " + c.Without
	}
	return name
}

// Wrong says how r differs from what is to come of c, "" if it does not.
func (c Check) Wrong(r Result) string {
	trace := strings.Join(r.Trace, " ")
	switch {
	case r.Stopped:
		return fmt.Sprintf("stopped after %d states: nothing is shown", r.States)
	case c.Without == "" && r.Violation != "":
		return fmt.Sprintf("%s, after %d steps: %s", r.Violation, len(r.Trace), trace)
	case c.Without != "" && !strings.Contains(r.Violation, c.Breaks):
		return fmt.Sprintf("found %q, want %q: %s", r.Violation, c.Breaks, trace)
	case c.Without != "" && r.Violation == "":
		return "nothing is found, although a rule is left out"
	}
	for _, situation := range c.Meets {
		if r.Violation == "" && r.Reached[situation] == 0 {
			return fmt.Sprintf("never met %q", situation)
		}
	}
	return ""
}

// byCost orders checks so that long ones begin first.
func byCost(a, b Check) int { return cmp.Compare(b.Cost, a.Cost) }
