package actors

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/weak"
)

// Laws that a test may have a run break: see package weak. Each has one place, which calls one of these.

// noCustody passes over the item that a worker has died at.
func (s *stage) noCustody(p *piece) bool {
	if s.run.weak != weak.NoCustody || !p.died {
		return false
	}
	s.pass(p)
	return true
}

// creditOnFinish gives places back before their result has left, and returns how many it has not.
func (s *stage) creditOnFinish(places int) int {
	if s.run.weak != weak.CreditOnFinish {
		return places
	}
	s.hasLeft(places)
	return 0
}

// emptyLedger empties the ledger, but for what workers have.
func (s *stage) emptyLedger() {
	if s.run.weak != weak.EmptyLedger {
		return
	}
	for _, p := range s.lost {
		p.from, p.done = p.to, true
	}
	s.lost, s.waiting = nil, 0
	s.lots.clear()
}

// filterDelivered counts what was filtered as delivered.
func (r *Run) filterDelivered(t *plan.Tally) {
	if r.weak == weak.FilterDelivered {
		t.FilterDelivered()
	}
}
