package actors

import (
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

// Behind a constant backlog an outbox stays as large as the backlog, however much goes through it.
func TestAnOutboxDoesNotGrowWithTheData(t *testing.T) {
	pool := plan.NewPool[int]()
	e := &edge{}
	o := outbox{edge: e, pool: pool, stats: &stageStats{}, last: &Outlet{shut: true}, left: func(int) {}}
	chunk := func() plan.Chunk {
		c := pool.Of(100) // too large to be joined
		for i := range 100 {
			c.Items = append(c.Items, i)
			c.Head().IDs.Source(0, 0, int64(i), 1)
		}
		return c
	}
	o.push(out{chunk: chunk(), inputs: 100})
	for i := range 10_000 {
		o.push(out{chunk: chunk(), inputs: 100})
		e.limit.Store(uint64(100 * (i + 1)))
		o.flush()
		if o.q.len() != 1 {
			t.Fatalf("%d results wait, want 1", o.q.len())
		}
	}
	if cap(o.q.q) > 8 {
		t.Errorf("room for %d results behind a backlog of 1", cap(o.q.q))
	}
}
