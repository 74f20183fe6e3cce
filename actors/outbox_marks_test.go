package actors

import (
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

// A branch that is blocked, while the others go on, gets a mark per round of each fork above it. Only the last one of
// each fork says anything.
func TestMarksOfSeveralForksDoNotPileUpBehindABlockedBranch(t *testing.T) {
	pool := plan.NewPool[int]()
	o := outbox{edge: &edge{}, pool: pool, stats: &stageStats{}, last: &Outlet{shut: true}, left: func(int) {}}
	for i := range uint64(10_000) {
		for fork := 1; fork <= 3; fork++ {
			c := pool.Get(0)
			c.Head().Round = plan.Round{Fork: fork, Upto: i}
			o.push(out{chunk: c})
		}
	}
	if n := o.q.len(); n > 10 {
		t.Errorf("%d results wait, and all of them are marks", n)
	}
}
