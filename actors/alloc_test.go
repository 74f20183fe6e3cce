package actors

import (
	"testing"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

func TestCreditAllocatesNothing(t *testing.T) {
	now, left := time.Duration(0), uint64(0)
	w := windowOf(4, 0, plan.Flow, func() time.Duration { now += 300 * time.Microsecond; return now })
	e := &edge{}
	for name, f := range map[string]func(){
		"window.next": func() {
			for range 100 {
				left++
				w.next(left)
			}
		},
		"window.weigh": func() { w.weigh(100, 1) },
		"edge.credit":  func() { e.credit(e.limit.Load() - 1); e.credit(e.limit.Load()) },
		"edge.grant":   func() { e.starved.Store(false); e.grant(e.limit.Load() + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			e.limit.Store(10)
			if n := testing.AllocsPerRun(100, f); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// The lanes and the edge's message are used again and again.
func TestTheMailboxAllocatesNothingInSteadyState(t *testing.T) {
	done, n := make(chan bool), 0
	p := newProbe(t, countTo(100, &n, done))
	var m any = &late{}
	if allocs := testing.AllocsPerRun(200, func() {
		for range 100 {
			p.box.PostUserMessage(m)
		}
		<-done
	}); allocs > 0.5 {
		t.Errorf("%v allocations for a hundred messages", allocs)
	}
}
