package actors

import (
	"fmt"
	"math"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
)

// A mixer is the actor of a merge. It has a window per input, and no workers: it runs no user code, but for MergeFunc,
// which has one. It takes from its inputs no more than its credit allows, so what it holds lies in its windows.
type mixer struct {
	run   *Run
	spec  *plan.Stage
	mix   *plan.Mix
	stats *stageStats
	box   *mailbox
	self  *actor.PID
	cx    actor.Context

	ins    []inlet
	outbox outbox
	way    way
	rounds []progress // of the forks whose marks are passed on
	waits  int        // the input without which nothing can be taken; -1: it may be any
	epoch  int        // of its own, if EpochItems; else the inputs'
	given  int64      // items of the epoch
	asked  bool       // nothing is taken before a worker has answered
	over   bool
	ending bool // nothing more is wanted: the inputs are to end, and what they give until then is dropped
}

// A progress is how far the rounds of a fork have been passed on.
type progress struct {
	fork int
	upto uint64
}

func newMixer(r *Run, s *plan.Stage, box *mailbox, edges map[plan.Port]*edge, out outbox) *mixer {
	m := &mixer{run: r, spec: s, mix: s.Mix, stats: r.stats[s.Index], box: box, outbox: out, waits: -1}
	m.outbox.left = func(int) {}
	if r.cfg.Resume != nil {
		m.epoch = r.cfg.Resume.Epochs
	}
	if s.Rounds != nil {
		for _, fork := range s.Rounds[0] {
			m.rounds = append(m.rounds, progress{fork: fork})
		}
	}
	for k, p := range s.In {
		in := inlet{edge: edges[p], low: 1, win: newWindow(r.graph.InputWindow(s, k), r.clock), upto: make([]uint64, len(m.rounds))}
		in.edge.limit.Store(in.win.granted)
		m.ins = append(m.ins, in)
	}
	m.way = newWay(m)
	m.way.newEpoch()
	return m
}

func (m *mixer) Receive(c actor.Context) {
	switch x := c.Message().(type) {
	case plan.Chunk:
		if m.over {
			x.Free() // the run has failed
			return
		}
		in := &m.ins[x.Head().In]
		in.win.weigh(x.Bytes(), x.Len())
		m.stats.in.Add(int64(x.Len()))
		in.q.push(x)
		if in.q.len() == 1 {
			in.begin()
		}
		if m.waits >= 0 && m.waits != x.Head().In && len(m.rounds) == 0 {
			return // nothing can be taken before the other one has come
		}
	case *edge:
		x.pending.Store(false)
	case *eos:
		m.ins[x.in].ended, m.ins[x.in].failed = true, x.failed
	case *choice:
		m.way.(*byValue).chosen(x) // nobody else asks
	case *retry:
		m.way.(*byValue).revive() // nobody else has a worker
	case *skip:
		m.skip(x.epoch)
	case *cancel:
		m.outbox.close()
		m.end(true)
		return
	case *actor.Started:
		m.self, m.cx = c.Self(), c
		m.register()
		m.outbox.start(c)
		return
	case *actor.Stopping:
		m.over = true
		if v, ok := m.way.(*byValue); ok {
			v.worker.stop()
		}
		return
	case *actor.Stopped:
		m.box.close()
		return
	default:
		return
	}
	m.turn()
}

// turn takes as long as there is something to take, and credit for it.
func (m *mixer) turn() {
	m.waits = -1
	for !m.over && !m.asked {
		credit := m.outbox.edge.credit(m.outbox.sent)
		if credit <= 0 {
			break
		}
		for i := range m.ins {
			m.settle(i)
		}
		if m.endEpoch() || m.endOwnEpoch() {
			continue
		}
		if !m.step(credit) {
			break
		}
	}
	m.grant()
}

// step takes what can be taken now, and reports whether that was anything.
func (m *mixer) step(credit int) bool {
	moved, blocked := m.way.step(credit)
	if m.over || moved || m.passRounds() {
		return !m.over
	}
	m.waits = blocked
	if blocked >= 0 && m.ins[blocked].stuck() {
		m.end(true) // what comes next is not known any more
	}
	return false
}

// grant tells the inputs how far they may go.
func (m *mixer) grant() {
	if m.over {
		return
	}
	for i := range m.ins {
		in := &m.ins[i]
		if limit, ok := in.win.next(in.left); ok {
			in.edge.grant(limit)
		}
	}
}

// settle goes over the marks at the front of input i.
func (m *mixer) settle(i int) {
	in := &m.ins[i]
	for !in.parked && in.q.len() > 0 {
		c := *in.q.front()
		if (in.dropped || m.ending) && in.at < c.Len() {
			m.run.dropped(c, in.at)
			in.left += uint64(c.Len() - in.at)
			in.at = c.Len()
		}
		if in.at < c.Len() {
			return
		}
		m.marks(in, c.Head())
		c.Free()
		in.pop()
	}
}

// marks notes what a head says behind its items.
func (m *mixer) marks(in *inlet, h *plan.Head) {
	if h.Round.Fork != 0 {
		in.left++
		if h.Round.Fork == m.mix.Fork {
			in.low = max(in.low, h.Round.Upto+1)
		}
		for k := range m.rounds {
			if m.rounds[k].fork == h.Round.Fork {
				in.upto[k] = max(in.upto[k], h.Round.Upto)
			}
		}
	}
	if h.Last {
		in.left++
		in.parked = m.mix.EpochItems == 0 && !m.ending
		in.dropped = false
	}
}

// taken notes that n items of input i have been taken, and goes on to its next chunk behind the last.
func (m *mixer) taken(i, n int) {
	in := &m.ins[i]
	in.at += n
	in.left += uint64(n)
	if c := *in.q.front(); in.at == c.Len() {
		m.settle(i)
	}
}

// endEpoch ends the epoch when every input has ended it, and the stream when every input has ended.
func (m *mixer) endEpoch() bool {
	parked := 0
	for i := range m.ins {
		in := &m.ins[i]
		if !in.through() {
			return false
		}
		if in.parked {
			parked++
		}
	}
	switch {
	case parked > 0:
		m.endEpochNow()
	case (m.mix.EpochItems > 0 || m.ending) && m.given > 0: // an epoch that no input has ended
		m.mark(m.epoch)
		m.end(false)
	default:
		m.end(false)
	}
	return true
}

// endOwnEpoch ends an epoch that has all its items.
func (m *mixer) endOwnEpoch() bool {
	if n := m.mix.EpochItems; n == 0 || m.given < n {
		return false
	}
	m.mark(m.epoch)
	m.newEpoch()
	return true
}

// endEpochNow marks the end of the epoch that all inputs are at, and lets them go on.
func (m *mixer) endEpochNow() {
	m.mark(m.epoch)
	m.newEpoch()
	for i := range m.ins {
		m.ins[i].parked, m.ins[i].low = false, 1 // what stood at the end does not hold back the next epoch
	}
}

// newEpoch begins one.
func (m *mixer) newEpoch() {
	m.epoch++
	m.given = 0
	m.way.newEpoch()
}

// mark sends the end of epoch n. There is credit for it.
func (m *mixer) mark(n int) {
	c := m.spec.Pool.Get(0)
	c.Head().Epoch, c.Head().Last = n, true
	m.outbox.deliver(c, 1)
}

// give sends a chunk. There is credit for it.
func (m *mixer) give(c plan.Chunk) bool {
	if c.Len() == 0 {
		c.Free()
		return false
	}
	c.Head().Epoch = m.epoch
	m.given += int64(c.Len())
	m.outbox.deliver(c, c.Len())
	return true
}

// passRounds hands on the marks of rounds that every input has reached, for a join below.
func (m *mixer) passRounds() bool {
	moved := false
	for k := range m.rounds {
		p := &m.rounds[k]
		upto := uint64(math.MaxUint64)
		for i := range m.ins {
			if in := &m.ins[i]; !in.through() {
				upto = min(upto, in.upto[k])
			}
		}
		if upto > p.upto && upto < math.MaxUint64 && m.outbox.edge.credit(m.outbox.sent) > 0 {
			p.upto = upto
			c := m.spec.Pool.Get(0)
			c.Head().Epoch, c.Head().Round = m.epoch, plan.Round{Fork: p.fork, Upto: upto}
			m.outbox.deliver(c, 1)
			moved = true
		}
	}
	return moved
}

// skip ends an epoch of its own that is not wanted.
func (m *mixer) skip(epoch int) {
	if m.over || m.epoch > epoch {
		return
	}
	if m.outbox.edge.credit(m.outbox.sent) > 0 {
		m.mark(m.epoch)
		m.newEpoch()
		return
	}
	m.given = m.mix.EpochItems // at the next credit
}

// fail ends the run.
func (m *mixer) fail(err error) {
	m.run.fail(m.spec, fmt.Errorf("stage %q: %w", m.spec.Name, err))
	m.end(true)
}

// end tells the next stage that nothing comes any more, and those before that nothing is wanted.
func (m *mixer) end(failed bool) {
	if m.over {
		return
	}
	m.over = true
	m.outbox.end(failed)
	for i := range m.ins {
		in := &m.ins[i]
		in.q.clear() // a worker may still read it: it is left to the collector
		if !in.ended && in.edge.up != nil {
			m.cx.Send(in.edge.up, &cancel{edge: in.edge})
		}
	}
}

// register makes a merge known of which the epochs are the run's.
func (m *mixer) register() {
	if m.run.skips[m.spec.Index] {
		m.run.mu.Lock()
		defer m.run.mu.Unlock()
		m.run.mixers = append(m.run.mixers, m)
	}
}

// stuck returns an input that gives nothing more although it is not complete, or -1.
func (m *mixer) stuck() int {
	return slices.IndexFunc(m.ins, func(in inlet) bool { return in.stuck() })
}

// allThrough reports whether no input gives anything more to this epoch.
func (m *mixer) allThrough() bool {
	for i := range m.ins {
		if !m.ins[i].through() {
			return false
		}
	}
	return true
}
