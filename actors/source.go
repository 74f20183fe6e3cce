package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A tap is what the run knows of a source: how to end it, and how far it is.
type tap struct {
	gate   *plan.Gate
	ctx    context.Context // of the iterator: ends when nobody wants more
	cancel context.CancelFunc
	poke   func()      // has the source look again
	failed atomic.Bool // the run has: what comes before the end is not complete
	mixed  bool        // all of it goes into mixtures with epochs of their own; set before the run begins
}

// fail ends the source because the run has failed.
func (t *tap) fail() {
	t.failed.Store(true)
	t.drain()
}

// drain ends the source behind what it has yielded.
func (t *tap) drain() {
	t.gate.Drain()
	t.cancel()
	t.poke() // its iterator may wait to be replaced
}

func newTap(r *Run, stage int) *tap {
	pid := r.pidOf(stage)
	t := &tap{poke: func() { r.send(pid, &poke{}) }}
	t.ctx, t.cancel = context.WithCancel(r.ctx)
	t.gate = plan.NewGate(t.poke)
	return t
}

// A source is the stage actor of a source: it takes from the ring what credit allows. Its worker runs the user's
// iterator.
type source struct {
	run   *Run
	spec  *plan.Stage
	stats *stageStats
	box   *mailbox
	tap   *tap
	feed  plan.Feed
	win   window // of the ring

	head        uint64 // position of the ring
	epoch       int
	index       int64
	outbox      outbox
	over        bool
	ending      bool  // the end goes out when the outbox is empty
	handingOver bool  // a letter is under way
	failure     error // the iterator has died for good

	last bool                    // the end of the epoch is to go out before that of the stream
	done map[EpochOf]*plan.Spans // in another process: it is not yielded again
	stop *Position               // where the source ends; nil: nowhere

	worker soloWorker    // the iterator
	diedAt int64         // where it died last
	dead   bool          // it is to be replaced
	due    time.Duration // when
}

// maxTake is the largest chunk that a source makes: half of the largest window.
const maxTake = 512

func newSource(r *Run, s *plan.Stage, box *mailbox, t *tap, out outbox) *source {
	a := &source{run: r, spec: s, stats: r.stats[s.Index], box: box, tap: t, outbox: out, diedAt: -1, worker: newSoloWorker(r, s)}
	a.outbox.left = func(int) {}
	a.feed = s.Feed()
	a.win = newWindow(s.RingWindow(), r.clock)
	a.feed.Bind(t.gate)
	a.resume(r.cfg.Resume)
	t.gate.Limit(a.win.granted)
	return a
}

func (s *source) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *poke:
		s.replace()
		s.pull()
	case *retry:
		s.replace()
	case *letterRequest:
		s.handedOver(m)
	case *edge:
		m.pending.Store(false)
		s.pull()
	case *cancel:
		s.outbox.close()
		s.close()
	case *actor.Started:
		s.outbox.start(c)
		pid, err := c.SpawnNamed(s.run.props(func(box *mailbox) actor.Actor { return &iterator{s: s, box: box} }), "w0")
		if err != nil {
			panic(err) // the name is ours alone
		}
		s.worker.pid = pid
		if s.ending { // it has nothing to yield in this process
			c.Send(c.Self(), &poke{})
		}
		s.run.iterators = append(s.run.iterators, pid)
	case *actor.Stopping:
		s.close()
	case *actor.Stopped:
		s.box.close()
	}
}

func (s *source) close() {
	s.over = true
	s.worker.stop()
	s.tap.gate.Shut()
	s.tap.cancel()
}

// pull makes chunks of what is in the ring, as far as credit goes.
func (s *source) pull() {
	g := s.tap.gate
	for !s.over && !s.handingOver {
		if s.outbox.flush(); !s.outbox.empty() {
			g.Sated()
			return
		}
		if s.ending && s.last {
			s.last = false
			s.endEpoch()
			continue
		}
		if s.ending {
			if s.failure == nil && s.run.cfg.OnFailed == nil && !s.run.within(s.spec, true) {
				s.fail(s.stats.overBudget(s.spec.Name))
			}
			s.over = true
			s.outbox.end(s.failure != nil)
			return
		}
		credit := s.outbox.edge.credit(s.outbox.sent)
		if credit <= 0 {
			g.Sated()
			return
		}
		to, m := g.Ready(s.head)
		switch {
		case m != nil:
			g.Pass()
			s.mark(m)
		case to > s.head:
			s.takeItems(min(int(to-s.head), credit, maxTake))
		case s.failure != nil:
			s.ending = true
		default:
			return
		}
	}
}

func (s *source) takeItems(n int) {
	n = s.before(n)
	c := s.feed.Take(s.head, n)
	h := c.Head()
	h.Epoch = s.epoch
	h.IDs.Source(s.spec.Index, s.epoch, s.index, n)
	c = s.notDone(c)
	s.head += uint64(n)
	s.index += int64(n)
	s.told()
	s.stats.in.Add(int64(n))
	s.stats.finished.Add(int64(n))
	s.win.weigh(c.Bytes(), n)
	if limit, ok := s.win.next(s.head); ok {
		s.tap.gate.Limit(limit)
	}
	s.outbox.push(out{chunk: c})
	s.atStop()
}

// mark handles what happened between two items.
func (s *source) mark(m *plan.Mark) {
	if m.Err != nil {
		s.failed(m.Err, m.Fatal)
		return
	}
	if s.ending = m.Ends; m.Ends && s.tap.failed.Load() {
		s.over = true
		s.outbox.end(true)
		return
	}
	if m.Epoch {
		s.told()
		s.endEpoch()
	}
}

func (s *source) endEpoch() {
	c := s.spec.Pool.Get(0)
	c.Head().Epoch, c.Head().Last = s.epoch, true
	s.outbox.push(out{chunk: c})
	s.epoch++
	s.index = 0
}

// failed judges an error that the iterator has yielded.
func (s *source) failed(err error, fatal bool) {
	if fatal {
		s.fail(fmt.Errorf("stage %q: %w", s.spec.Name, err))
		return
	}
	item := &stages.ItemError{Stage: s.spec.Name, Item: s.position(), Attempts: 1, Err: err}
	at := s.index
	if s.index++; s.isDone(at) {
		s.told()
		s.atStop()
		return
	}
	if s.spec.Policy.Letters != nil {
		s.handingOver = true
		s.outbox.cx.Send(s.run.letterActors[s.spec.Index], &letterRequest{from: s.outbox.cx.Self(), item: item})
		return
	}
	s.failedForGood(item, false)
}

// handedOver is told by the letter actor that it has written a letter, or could not.
func (s *source) handedOver(m *letterRequest) {
	s.handingOver = false
	if s.over {
		return
	}
	if m.stored != nil {
		s.fail(undelivered(m))
	} else {
		s.failedForGood(m.item, true)
	}
	s.pull()
}

func (s *source) failedForGood(item *stages.ItemError, letter bool) {
	s.run.lastFailed.Store(item)
	s.run.account.Lose(1)
	if told := s.run.cfg.OnFailed; told != nil {
		root := plan.ID{Source: s.spec.Index, Epoch: s.epoch, Index: item.Item.Index}
		s.run.countFailed(s.spec, item, letter, false)
		told(Fault{Stage: s.spec, Root: root, Err: item, Letter: letter, Finished: s.stats.finished.Load()})
		s.told()
		s.run.ended([]plan.End{{Source: root.Source, Epoch: root.Epoch, Index: root.Index, N: 1, Step: 1, Fate: plan.Failed}})
		if s.run.cfg.FailsHere && s.spec.Policy.Strict() {
			s.fail(item)
		}
		s.atStop()
		return
	}
	s.run.itemFailed()
	if err := s.run.failedForGood(s.spec, item, letter, false); err != nil {
		s.fail(err)
	}
}

// fail ends the run behind what has been yielded.
func (s *source) fail(err error) {
	s.run.fail(s.spec, err)
	s.failure, s.ending = err, true
	s.tap.gate.Shut()
	s.tap.cancel()
}

func (s *source) position() stages.ID {
	return stages.ID{Source: s.spec.Name, Epoch: s.epoch, Index: s.index}
}

// HandleFailure replaces the worker of an iterator that has panicked: at once, or after a pause. The feed knows where it
// was.
func (s *source) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, _ *actor.PID, _ *actor.RestartStatistics, _, message any) {
	m, _ := message.(*begin)
	if m == nil || s.over {
		return // it stays as it is until the run stops: a second Stop would be a dead letter
	}
	if at := s.tap.gate.Passed(); at != s.diedAt {
		s.worker.record.Progress()
		s.diedAt = at
	}
	s.worker.sup = sup
	pause, failure := s.worker.died(m.died)
	if failure != nil {
		s.failure = failure
		s.pull()
		return
	}
	s.run.renewTogether(s.spec)
	s.dead, s.due = true, s.run.clock()+pause
	if pause > 0 {
		s.worker.rest(s.outbox.cx.Self(), pause)
	}
	s.replace()
}

// replace gives the iterator its next incarnation when it is time; at once if that has nothing to do but to end.
func (s *source) replace() {
	if !s.dead || s.over || s.tap.gate.Open() && s.run.clock() < s.due {
		return
	}
	s.dead = false
	s.worker.replace()
	s.outbox.cx.Send(s.worker.pid, &begin{})
}

// An iterator is a source's worker.
type iterator struct {
	s   *source // only what never changes
	box *mailbox
}

func (a *iterator) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *begin:
		if !a.iterate(m) {
			panic(errGoexit) // the panic was of nil, which GODEBUG can make unrecognizable
		}
	case *actor.Stopped:
		a.box.close()
	}
}

func (a *iterator) iterate(m *begin) (clean bool) {
	s := a.s
	ctx := s.run.label(s.tap.ctx, s.spec.Name, 0, s.worker.lives)
	j := s.run.jobs.enter(s.spec.Name, 0, s.worker.lives)
	leave := s.run.iterates(s, s.tap.gate)
	defer func() {
		leave()
		s.run.jobs.leave(j)
		if clean {
			return
		}
		r := recover()
		m.died = panicked(s.spec, r)
		if r != nil {
			panic(r)
		}
	}()
	s.feed.Run(ctx)
	return true
}
