package actors

import (
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// stageStats are written by the stage's actor, once per message, and read by anybody.
type stageStats struct {
	in, out, filtered, failed, finished, letters, retries, restarts, busy atomic.Int64

	last *stages.ItemError // that failed for good; of the actor alone

	hanging atomic.Int64 // functions that the stage has gone on without, and that have not returned
}

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
	Letters                                      int64         // of Failed, handed to a dead-letter sink
	Hung                                         int64         // functions that the stage has gone on without, and that have not returned
	Tolerated                                    int64         // how many more may fail
	Busy                                         time.Duration // sum over the workers
}

// dropped settles the items of c from from on, which nobody wants.
func (r *Run) dropped(c plan.Chunk, from int) {
	var t plan.Tally
	r.watch(&t)
	t.Settle(&c.Head().IDs, from, c.Len(), plan.Filtered)
	r.settle(&t)
}

// yielded returns how many items the sources have yielded.
func (r *Run) yielded() int64 {
	n := r.account.Lost() + r.elsewhere.Load()
	for _, t := range r.taps {
		n += int64(t.gate.Tail())
	}
	return n
}

// Stats returns what has happened so far. Items that wait in a chunk the consumer is at count as in flight.
func (r *Run) Stats() Stats {
	s := Stats{Outputs: r.outputs.Load()}
	// What is yielded is read last, so that nothing is settled that was not yielded.
	s.Delivered, s.Filtered, s.Failed = r.account.Settled()
	s.Yielded = r.yielded()
	s.InFlight = s.Yielded - s.Delivered - s.Filtered - s.Failed
	for i, st := range r.stats {
		spec := r.spec(i)
		s.Stages = append(s.Stages, StageStats{
			Name: spec.Name, Kind: spec.Kind, Mailbox: spec.Mailbox,
			In: st.in.Load(), Out: st.out.Load(), Filtered: st.filtered.Load(), Failed: st.failed.Load(),
			Retries: st.retries.Load(), Restarts: st.restarts.Load(), Busy: time.Duration(st.busy.Load()),
			Letters: st.letters.Load(), Hung: st.hanging.Load(), Tolerated: st.tolerated(spec.Policy, r.cfg.Probation),
		})
	}
	return s
}
