package actors

import "github.com/weirflow/weir/internal/plan"

// A way is how a merge mixes. It belongs to its mixer, and takes from its inputs.
type way interface {
	// step takes what it can, up to credit items, and reports whether it took anything and, if not, which input it waits
	// for (-1: any).
	step(credit int) (moved bool, blocked int)
	// newEpoch is told that an epoch begins, also the first.
	newEpoch()
}

func newWay(m *mixer) way {
	switch m.mix.How {
	case plan.RoundRobin:
		return &roundRobin{picks: picks{m: m}}
	case plan.Weighted:
		return newWeighted(m)
	case plan.ByValue:
		return &byValue{picks: picks{m: m}, worker: newSoloWorker(m.run, m.spec)}
	case plan.Rejoin:
		return &rejoin{m: m}
	case plan.InputOrder:
		if m.mix.Fork != 0 { // a single input has its order
			return newInOrder(m)
		}
	}
	return &arrival{m: m}
}

// mostTaken is the largest chunk that is made of items of several inputs.
const mostTaken = 512
