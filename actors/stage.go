package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/restart"
)

// A stage is the actor of one stage that has an input. Everything belongs to the actor's goroutine. Workers read run and
// spec, which never change, and ctx, which is set before there is a worker.
type stage struct {
	run   *Run
	spec  *plan.Stage
	stats *stageStats
	box   *mailbox
	self  *actor.PID
	cx    actor.Context

	ctx    context.Context // ends with the stage
	cancel context.CancelFunc

	in   *edge
	far  *far // of a stage that stands for a region
	win  window
	left uint64 // places of the input that have left the stage

	// The ledger.
	lots      fifo[*lot]
	numbered  uint64 // items that have come
	waiting   int    // places not cut
	cutEra    int    // marks cut
	outEra    int    // marks released; results of later eras wait
	head      *piece
	tail      *piece
	lost      []*piece // called back or revoked: handed out before anything else
	doomed    *piece   // the run fails there
	kept      shelf    // what the aggregator holds
	spare     []*piece
	spareLots []*lot

	workers   []workerState
	service   float64 // ns per item; 0: not known
	ticks     int
	ticking   bool
	tickTimer *time.Timer
	sup       actor.Supervisor

	limits    restart.Limits
	record    *restart.Record // of the deaths of workers
	deaths    int             // noted there
	finished  uint64          // pieces of which an item was finished
	gaveUp    bool            // too many have died: no worker is opened any more
	shut      bool            // the last worker that was to be opened could not be
	notBefore time.Duration   // no worker is opened; 0: any time will do
	alarms    alarms
	sinkless  bool  // its dead letters find no place
	asleep    int   // pieces that wait for their next attempt
	looking   bool  // there is an alarm for hanging functions
	unjudged  int64 // functions found to hang of which the items have not been judged

	holding    bool // there is an alarm for MaxWait, or the flush that it has led to is in the ledger
	flushFails int  // in a row

	outs          []outbox // by output; none: the stage is a sink
	rounds        uint64   // results of a fork that have been numbered
	spareBranches [][]plan.Chunk
	ended         bool // all input has come
	failed        bool // and it is not complete
	aborted       bool // the ledger has been given up
	over          bool // the end has been sent
}

// A workerState is what the stage knows of a worker.
type workerState struct {
	pid   *actor.PID
	depth int // pieces with it
	door  *door
	lives int // incarnations, the present one included

	inARow   int           // deaths since it has finished an item
	rest     time.Duration // before it is replaced
	opened   bool          // it has its state
	resting  bool          // it has died, and is given nothing for a while
	retiring bool          // it is to end its state
	suspect  bool          // it has left a piece lying: others are preferred
}

// away reports whether nothing may be given to the worker.
func (h *workerState) away() bool { return h.resting || h.retiring }

func newStage(r *Run, s *plan.Stage, box *mailbox, in *edge, outs []outbox) *stage {
	stats := r.stats[s.Index]
	if s.Far != nil {
		stats = &stageStats{} // those are its last stage's
	}
	a := &stage{run: r, spec: s, stats: stats, box: box, in: in, outs: outs, limits: s.Restart.Limits()}
	if s.Far != nil {
		a.limits = farLimits(s)
	}
	a.record = restart.New(a.limits)
	a.win = newWindow(s.Window(), r.clock)
	in.limit.Store(a.win.granted)
	a.spare, a.spareLots = make([]*piece, 0, maxSpares), make([]*lot, 0, maxSpares)
	for i := range outs {
		outs[i].left = a.hasLeft
	}
	return a
}

func (s *stage) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case plan.Chunk:
		if s.aborted || s.over {
			m.Free()
			return
		}
		s.win.weigh(m.Bytes(), m.Len())
		s.take(m)
	case *piece:
		cause, died, w := m.Err, m.died, m.worker
		if s.returned(m); died {
			s.replaceWorker(w, cause)
		}
	case *rung:
		s.ring()
	case *letterRequest:
		s.handedOver(m)
	case *renew:
		s.renew(m)
	case *retire:
		s.retired(m)
	case *part:
		s.part(m)
	case *edge:
		m.pending.Store(false)
	case *eos:
		s.ended = true
		if m.failed {
			s.failed = true
		}
	case *late:
		s.ticking = false
		s.tick()
	case *cancel:
		s.unwanted(m)
	case *copyReady:
		s.copyIsReady(m.worker)
	case *copyLost:
		s.copyIsLost(m)
	case *copyEnded:
		s.far.copies[m.worker].ready, s.far.copies[m.worker].ended = false, true
	case *copyFailed:
		s.copyHasFailed(m)
	case *actor.Started:
		s.self, s.cx = c.Self(), c
		s.ctx, s.cancel = context.WithCancel(s.run.ctx)
		for i := range s.outs {
			s.outs[i].start(c)
		}
		if s.spec.Far != nil {
			s.startCopies()
		}
		return
	case *actor.Stopping:
		s.close()
		return
	case *actor.Stopped:
		s.box.close()
		return
	default:
		return
	}
	s.turn()
}

// turn does what the last message has made possible.
func (s *stage) turn() {
	s.dispatch()
	for i := range s.outs {
		s.outs[i].flush()
	}
	if limit, ok := s.win.next(s.left); ok {
		s.in.grant(limit)
	}
	s.finish()
}

// hasLeft is told by the outbox that results have gone, and with them places of the input.
func (s *stage) hasLeft(places int) { s.left += uint64(places) }

// finish sends the end when all that came has left. After a failure upstream, what an aggregator holds stays there: it
// would be flushed as if it were complete.
func (s *stage) finish() {
	if s.over || !s.ended || s.waiting > 0 || s.head != nil || !s.sent() {
		return
	}
	if s.spec.Far != nil && !s.aborted && !s.endCopies() {
		return
	}
	for _, spec := range s.judged() {
		if !s.failed && !s.run.within(spec, true) {
			s.run.fail(spec, s.run.stats[spec.Index].overBudget(spec.Name))
			s.failed = true
		}
	}
	s.end()
}

// judged returns the stages of which the failures are judged at the end of this one.
func (s *stage) judged() (all []*plan.Stage) {
	switch {
	case s.run.cfg.OnFailed != nil: // elsewhere
	case s.far != nil:
		for _, i := range s.spec.Far.Region.Stages {
			all = append(all, s.run.spec(i))
		}
	default:
		all = append(all, s.spec)
	}
	return all
}

// sent reports whether all results have gone.
func (s *stage) sent() bool {
	for i := range s.outs {
		if !s.outs[i].empty() {
			return false
		}
	}
	return true
}

// end tells the next stages that nothing comes any more.
func (s *stage) end() {
	s.over = true
	s.stopTimers()
	for i := range s.outs {
		s.outs[i].end(s.failed)
	}
	if len(s.outs) == 0 {
		s.run.streamEnded()
	}
}

// unwanted is told by a consumer that it wants nothing more. Other consumers are given what is done.
func (s *stage) unwanted(m *cancel) {
	for i := range s.outs {
		if o := &s.outs[i]; o.edge == m.edge {
			o.close()
		}
	}
	s.abort()
}

// abort ends the stage at once: nobody wants its items, or it has failed and what came before is in the outbox.
func (s *stage) abort() {
	if s.over || s.aborted {
		return
	}
	s.cancel()
	s.ended, s.failed, s.aborted = true, true, true
	// Workers may still read the chunks: they are left to the collector.
	s.lots.clear()
	s.kept.clear()
	s.waiting, s.lost, s.head, s.tail = 0, nil, nil, nil
	s.stopTimers()
	s.upstream()
	s.turn()
}

// upstream cancels what feeds the stage.
func (s *stage) upstream() {
	if s.in.up != nil {
		s.cx.Send(s.in.up, &cancel{edge: s.in})
	}
}

// close ends the stage's part of a run that stops.
func (s *stage) close() {
	s.over = true
	s.cancel()
	s.stopTimers()
}

func (s *stage) stopTimers() {
	if s.tickTimer != nil {
		s.tickTimer.Stop()
	}
	s.alarms.stop()
}
