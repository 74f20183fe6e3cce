package stages

import (
	"fmt"

	"github.com/weirflow/weir/internal/plan"
)

// A merge that waits for one input while the others fill up must not have inputs that depend on each other: what it
// waits for might lie behind what is full, and everything would stand still. InputOrder has the marks of rounds against
// that, and Arrival does not wait.

// refuseDeadlocks refuses merges by RoundRobin, Weighted or a function of which two inputs depend on each other.
func (g *Graph) refuseDeadlocks() {
	for _, s := range g.stages {
		if s.Mix == nil || s.Mix.How != plan.RoundRobin && s.Mix.How != plan.Weighted && s.Mix.How != plan.ByValue {
			continue
		}
		if at := g.dependence(s); at != nil {
			g.fault(placeOf(s), fmt.Sprintf("two of its inputs come from %q, at line %d: it could wait for the one while the other is full; "+
				"merge by Arrival or InputOrder", at.Name, at.Line))
		}
	}
}

// dependence returns a stage that two inputs of merge depend on, or nil. They do if they have a stage in common upstream;
// and if they are joined by what else those stages feed, unless that is an Arrival.
func (g *Graph) dependence(merge *plan.Stage) *plan.Stage {
	from := make([]int, len(g.stages)) // the input that a stage is upstream of, plus one
	for k, p := range merge.In {
		if at := g.common(p.Stage, k+1, from); at != nil {
			return at
		}
	}
	set := newSets(len(g.stages))
	for _, s := range g.stages {
		if s == merge || s.Mix != nil && s.Mix.How == plan.Arrival {
			continue
		}
		for _, p := range s.In {
			set.join(s.Index, p.Stage)
		}
	}
	for k, p := range merge.In {
		for _, o := range merge.In[:k] {
			if set.of(p.Stage) == set.of(o.Stage) {
				return g.stages[p.Stage]
			}
		}
	}
	return nil
}

// common walks up from a stage and returns the first one that is upstream of another input as well.
func (g *Graph) common(stage, input int, from []int) *plan.Stage {
	switch from[stage] {
	case input:
		return nil
	case 0:
	default:
		return g.stages[stage]
	}
	from[stage] = input
	for _, p := range g.stages[stage].In {
		if at := g.common(p.Stage, input, from); at != nil {
			return at
		}
	}
	return nil
}

// sets are disjoint sets of stages.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (s sets) of(i int) int {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

func (s sets) join(a, b int) { s[s.of(a)] = s.of(b) }
