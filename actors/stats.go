package actors

import (
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// stageStats are written by the stage's actor, once per message, and read by anybody.
type stageStats struct{ in, out, filtered, failed, finished, retries, restarts, busy atomic.Int64 }

// Stats are a run's counts of items of the sources: Yielded = Delivered + Filtered + Failed + InFlight.
type Stats struct {
	Yielded, Delivered, Filtered, Failed, InFlight int64
	Outputs                                        int64 // items handed to the consumer
	Stages                                         []StageStats
}

// StageStats are a stage's counts of its own inputs and outputs.
type StageStats struct {
	Name, Kind                                   string
	Mailbox                                      int
	In, Out, Filtered, Failed, Retries, Restarts int64
	Busy                                         time.Duration // sum over the workers
}

// dropped settles the items of c from from on, which nobody wants.
func (r *Run) dropped(c plan.Chunk, from int) {
	var t plan.Tally
	t.Settle(&c.Head().IDs, from, c.Len(), plan.Filtered)
	r.account.Add(&t)
}

// Stats returns what has happened so far. Items that wait in a chunk the consumer is at count as in flight.
func (r *Run) Stats() Stats {
	s := Stats{Outputs: r.outputs.Load()}
	// What is yielded is read last, so that nothing is settled that was not yielded.
	s.Delivered, s.Filtered, s.Failed = r.account.Settled()
	s.Yielded = r.account.Lost()
	for _, t := range r.taps {
		s.Yielded += int64(t.gate.Tail())
	}
	s.InFlight = s.Yielded - s.Delivered - s.Filtered - s.Failed
	for i, st := range r.stats {
		spec := r.graph.Stages[i]
		s.Stages = append(s.Stages, StageStats{
			Name: spec.Name, Kind: spec.Kind, Mailbox: spec.Mailbox,
			In: st.in.Load(), Out: st.out.Load(), Filtered: st.filtered.Load(), Failed: st.failed.Load(),
			Retries: st.retries.Load(), Restarts: st.restarts.Load(), Busy: time.Duration(st.busy.Load()),
		})
	}
	return s
}
