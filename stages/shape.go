package stages

import (
	"fmt"
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// What can only be checked, and decided, when the whole graph is there: where branches part that a join restores the
// order of, and whether the sources agree on epochs.

// nowhere is what feeds the sources.
const nowhere = -1

// restoreOrders finds, for every join that restores an order, the fork where its inputs part, and has what lies between
// keep the order and mark its rounds.
func (g *Graph) restoreOrders() {
	before := g.dominators()
	paired := map[int]bool{} // forks of Rejoins that have been seen
	for _, s := range g.stages {
		if s.Mix == nil || s.Mix.How != plan.InputOrder && s.Mix.How != plan.Rejoin {
			continue
		}
		if s.Mix.How == plan.InputOrder && len(s.In) == 1 {
			continue // there is nothing to restore
		}
		fork := before[s.Index]
		if s.Mix.How == plan.Rejoin {
			for fork != nowhere && (g.stages[fork].Kind != routeBatchKind || paired[fork]) && len(s.In) == 1 {
				fork = before[fork]
			}
			if fork == nowhere || g.stages[fork].Kind != routeBatchKind {
				g.fault(placeOf(s), "its inputs are not the branches of one RouteBatch")
				continue
			}
			paired[fork] = true
		} else if fork == nowhere {
			g.fault(placeOf(s), "its inputs do not part in one place, so there is no order to restore")
			continue
		}
		if g.takeAsTheyCome(g.stages[fork], s) {
			continue
		}
		s.Mix.Fork = fork + 1
		g.restore(g.stages[fork], s)
	}
}

// dominators returns, for each stage, the last stage that all of its items have passed.
func (g *Graph) dominators() []int {
	before := make([]int, len(g.stages))
	for i := range g.stages {
		before[i] = nowhere
		for k, p := range g.inputs(i) {
			if k == 0 {
				before[i] = p.Stage
				continue
			}
			// Stages are in topological order: the later of two cannot lie before the other.
			for a := p.Stage; a != before[i]; {
				if a > before[i] {
					a = before[a]
				} else {
					before[i] = before[before[i]]
				}
			}
		}
	}
	return before
}

// restore has the stages between fork and join do what the join needs.
func (g *Graph) restore(fork, join *plan.Stage) {
	between := map[int]bool{join.Index: true}
	for i := join.Index; i > fork.Index; i-- {
		if !between[i] {
			continue
		}
		for _, p := range g.stages[i].In {
			g.mark(p, fork)
			if p.Stage != fork.Index && !between[p.Stage] {
				between[p.Stage] = true
				g.keepOrder(g.stages[p.Stage], join)
			}
		}
	}
	if g.order[fork.Index] != Unordered { // else the order is that in which it hands on
		fork.Ordered = true
	}
	if fork.Fork != nil { // else its stream is used twice, which is refused
		fork.Fork.Numbered = true
	}
	if join.Mix.How == plan.Rejoin {
		g.checkRejoin(fork, join)
	}
}

// mark has the rounds of fork marked at a port.
func (g *Graph) mark(p plan.Port, fork *plan.Stage) {
	s := g.stages[p.Stage]
	if s.Rounds == nil {
		s.Rounds = make([][]int, s.Outs)
	}
	if f := fork.Index + 1; !slices.Contains(s.Rounds[p.Out], f) {
		s.Rounds[p.Out] = append(s.Rounds[p.Out], f)
	}
}

// keepOrder has a stage in front of a join that restores an order keep it.
func (g *Graph) keepOrder(s, join *plan.Stage) {
	switch {
	case s.Mix != nil && s.Mix.How != plan.InputOrder && s.Mix.How != plan.Rejoin:
		g.fault(placeOf(s), fmt.Sprintf("it mixes up the order that %q, at line %d, restores: merge by InputOrder here, too", join.Name, join.Line))
	case g.order[s.Index] == Unordered && s.Mailbox > 1:
		g.fault(placeOf(s), fmt.Sprintf("it is Unordered, but %q, at line %d, restores the order", join.Name, join.Line))
	default:
		s.Ordered = true
	}
}

// checkRejoin checks that the inputs of a Rejoin are the branches of its RouteBatch, and that parts stay parts.
func (g *Graph) checkRejoin(fork, join *plan.Stage) {
	if len(join.In) != fork.Outs {
		g.fault(placeOf(join), fmt.Sprintf("it has %d inputs, but %q, at line %d, has %d branches", len(join.In), fork.Name, fork.Line, fork.Outs))
		return
	}
	for i, in := range join.In {
		seen := map[plan.Port]bool{}
		g.walkBack(in, fork, seen)
		for p := range seen {
			s := g.stages[p.Stage]
			switch {
			case s == fork && p.Out != i:
				g.fault(placeOf(join), fmt.Sprintf("input %d comes from branch %d of %q: the order must be the same", i, p.Out, fork.Name))
			case s != fork && !oneToAtMostOne(s):
				g.fault(placeOf(s), fmt.Sprintf("a %s does not turn one item into one, which %q, at line %d, needs", s.Kind, join.Name, join.Line))
			}
		}
	}
}

// walkBack collects the ports that lead to p, up to those of fork.
func (g *Graph) walkBack(p plan.Port, fork *plan.Stage, seen map[plan.Port]bool) {
	if seen[p] {
		return
	}
	seen[p] = true
	if p.Stage == fork.Index {
		return
	}
	for _, in := range g.stages[p.Stage].In {
		g.walkBack(in, fork, seen)
	}
}

// oneToAtMostOne reports whether at most one output comes of each input, in the whole of a branch.
func oneToAtMostOne(s *plan.Stage) bool {
	switch {
	case s.Mix != nil, s.Kind == routeBatchKind: // what has been split is joined again in front of the Rejoin
		return true
	case s.Outs > 1:
		return true // what goes two ways and comes back both is found out by the Rejoin
	}
	return s.MaxOutputs == 1 && !s.Holds && !s.Streaming
}

// agreeOnEpochs refuses a graph in which something endless lies beside something that ends: the one would wait for the
// other for ever.
func (g *Graph) agreeOnEpochs(outlet int) {
	forever := make([]*plan.Stage, len(g.stages)) // by stage, one whose epochs reach it and never end
	finite := make([]*plan.Stage, len(g.stages))  // and one whose epochs do
	var endless, ends *plan.Stage                 // of what leaves the graph
	for i, s := range g.stages {
		forever[i], finite[i] = g.epochsOf(s, forever, finite)
		if s.Outs == 0 || i == outlet {
			endless, ends = either(forever[i], endless), either(finite[i], ends)
		}
	}
	if endless != nil && ends != nil {
		g.fault(placeOf(ends), fmt.Sprintf("it ends, but %q, at line %d, is Forever: the sources of a graph must agree, "+
			"or a Weighted merge with EpochItems make epochs of its own", endless.Name, endless.Line))
	}
}

// epochsOf returns what agreeOnEpochs asks of s, given that of the stages before it.
func (g *Graph) epochsOf(s *plan.Stage, endless, ending []*plan.Stage) (forever, finite *plan.Stage) {
	switch {
	case s.Feed != nil && s.Epochs == plan.Forever:
		return s, nil
	case s.Feed != nil:
		return nil, s
	}
	for _, p := range s.In {
		forever, finite = either(forever, endless[p.Stage]), either(finite, ending[p.Stage])
	}
	if s.Mix == nil || s.Mix.EpochItems <= 0 {
		return forever, finite
	}
	if finite != nil {
		g.fault(placeOf(s), fmt.Sprintf("its EpochItems need endless inputs, but %q, at line %d, ends: make it Forever", finite.Name, finite.Line))
	}
	return s, nil // its own epochs, which do not end
}

// either returns a, or b if there is no a.
func either(a, b *plan.Stage) *plan.Stage {
	if a != nil {
		return a
	}
	return b
}
