package actors

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/restart"
	"github.com/weirflow/weir/stages"
)

// A streamer is the stage actor of a stage that stands for a stream region: it hands on what comes out, frame by frame. Its worker, the
// framer, has the session.
type streamer struct {
	run    *Run
	spec   *plan.Stage
	box    *mailbox
	cx     actor.Context
	outbox outbox
	framer *actor.PID

	in   *edge // what feeds the region; nil: its own sources do
	win  window
	left uint64 // places of the input that have left

	queue   fifo[*framed] // accepted, not begun
	current *framed       // in the outbox, or its failures are being judged
	waiting bool          // for a letter
	ended   bool          // the node is through
	counted []int64       // what its stages had finished then, and was not known
	failed  bool          // what comes is not complete
	over    bool

	limits restart.Limits
	record *restart.Record
	life   int
	timer  *time.Timer // of the next session
}

// framesAhead is how many frames with outputs a node may send beyond those that have left.
const framesAhead = 8

// frameGone says to a framer that the outputs of a frame have left.
type frameGone struct{ quiet }

func (*frameGone) control() {}

func newStreamer(r *Run, s *plan.Stage, box *mailbox, in *edge, out outbox) *streamer {
	a := &streamer{run: r, spec: s, box: box, in: in, outbox: out, limits: farLimits(s)}
	if in != nil {
		a.win = newWindow(s.Window(), r.clock)
		in.limit.Store(a.win.granted)
	}
	a.record = restart.New(a.limits)
	a.outbox.left = func(int) {}
	return a
}

func (s *streamer) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *framed:
		if s.over {
			m.free()
			return
		}
		s.record.Progress()
		s.queue.push(m)
	case plan.Chunk:
		if s.over {
			m.Free()
			return
		}
		s.win.weigh(m.Bytes(), m.Len())
		s.cx.Send(s.framer, &fedInput{chunk: m})
		return
	case *eos:
		s.failed = s.failed || m.failed
		s.cx.Send(s.framer, &fedEnd{})
		return
	case *fedDone:
		s.left += uint64(m.places)
		if limit, ok := s.win.next(s.left); ok {
			s.in.grant(limit)
		}
		return
	case *edge:
		m.pending.Store(false)
	case *copyReady:
		s.record.Opened()
		return
	case *copyLost:
		s.lost(m)
	case *copyEnded:
		s.ended, s.counted = true, m.finished
	case *letterRequest:
		s.handedOver(m)
	case *retry:
		s.open()
		return
	case *drain:
		s.failed = s.failed || m.failed
		s.cx.Send(s.framer, m)
		return
	case *skip:
		s.cx.Send(s.framer, m)
		return
	case *cancel:
		s.outbox.close()
		s.close()
		s.upstream()
		return
	case *actor.Started:
		s.cx = c
		s.outbox.start(c)
		pid, err := c.SpawnNamed(s.run.props(func(box *mailbox) actor.Actor { return newFramer(s, box) }), "w0")
		if err != nil {
			panic(err) // the name is ours alone
		}
		s.framer = pid
		s.open()
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
	s.pull()
}

func (s *streamer) open() {
	if s.over || s.ended {
		return
	}
	s.life++
	s.cx.Send(s.framer, &openCopy{life: s.life})
}

func (s *streamer) close() {
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.cx.Send(s.framer, &endCopy{})
}

// pull hands on what was accepted, as far as credit goes: frame by frame, and of each first the outputs.
func (s *streamer) pull() {
	for !s.over && !s.waiting {
		if s.outbox.flush(); !s.outbox.empty() {
			return
		}
		switch {
		case s.current != nil:
			s.judge()
		case s.queue.len() > 0:
			s.current = *s.queue.front()
			s.queue.pop()
			s.next()
		case s.ended:
			s.finish()
			return
		default:
			return
		}
	}
}

// next hands on what comes before the next failure of the frame at hand.
func (s *streamer) next() {
	f := s.current
	for len(f.steps) > 0 && f.steps[0].fault == nil {
		s.outbox.push(out{chunk: f.steps[0].part})
		s.run.countInputs(s.spec.Far.Region, f.steps[0].finished)
		f.steps = f.steps[1:]
	}
}

// judge decides what becomes of the item that has failed next in the frame at hand, what comes before has left.
func (s *streamer) judge() {
	f := s.current
	if len(f.steps) == 0 {
		if f.outputs {
			s.cx.Send(s.framer, &frameGone{})
		}
		f.settleFailed(s.run)
		s.run.countInputs(s.spec.Far.Region, f.finished)
		s.current = nil
		if f.abort != nil {
			s.fail(nil, f.abort)
		}
		return
	}
	k := f.steps[0].fault
	if k.lettered && !k.fatal {
		s.waiting = true
		s.cx.Send(s.run.letterActors[k.spec.Index], &letterRequest{from: s.cx.Self(), item: k.item, payload: k.letter, encoded: true, far: true})
		return
	}
	s.failedForGood(k, false)
}

func (s *streamer) failedForGood(k *fault, letter bool) {
	f := s.current
	f.steps = f.steps[1:]
	s.run.lastFailed.Store(k.item)
	s.run.stats[k.spec.Index].finished.Add(k.finished)
	err := s.run.failedForGood(k.spec, k.item, letter, k.counted)
	if k.fatal {
		err = k.item
	}
	if err != nil {
		f.settleFailed(s.run)
		s.fail(k.spec, err)
		return
	}
	s.next()
}

// handedOver is told by the letter actor that it has written a letter, or could not.
func (s *streamer) handedOver(m *letterRequest) {
	s.waiting = false
	if s.over || s.current == nil {
		return
	}
	if m.stored != nil {
		s.fail(s.spec, undelivered(m))
		return
	}
	s.failedForGood(s.current.steps[0].fault, true)
}

// lost notes that a session is over, and says when there is another.
func (s *streamer) lost(m *copyLost) {
	if s.over || s.ended {
		return
	}
	s.run.addCounted(s.spec.Far.Region, m.finished)
	pause, again := s.record.Died(s.run.clock(), m.why.Err, true, rand.Float64())
	switch {
	case m.why.Final:
		s.fail(s.spec, m.why.Err)
		return
	case !again:
		s.fail(s.spec, stages.RegionErrorOf(s.spec.Name, s.record))
		return
	}
	s.run.event(NodeLost{Region: s.spec.Name, Life: s.life, Err: m.why.Err, Retry: pause})
	if pause <= 0 {
		s.open()
		return
	}
	self, run := s.cx.Self(), s.run
	s.timer = time.AfterFunc(pause, func() { run.send(self, &retry{}) })
}

// fail ends the run behind what has been handed on.
func (s *streamer) fail(of *plan.Stage, err error) {
	if s.over {
		return
	}
	s.run.fail(of, err)
	s.failed = true
	s.close()
	s.upstream()
	s.outbox.end(true)
}

// upstream cancels what feeds the region.
func (s *streamer) upstream() {
	if s.in != nil && s.in.up != nil {
		s.cx.Send(s.in.up, &cancel{edge: s.in})
	}
}

// finish sends the end behind everything else.
func (s *streamer) finish() {
	s.run.addCounted(s.spec.Far.Region, s.counted)
	for _, i := range s.spec.Far.Region.Stages {
		if spec := s.run.spec(i); !s.failed && !s.run.within(spec, true) {
			s.run.fail(spec, s.run.stats[i].overBudget(spec.Name))
			s.failed = true
		}
	}
	s.over = true
	s.outbox.end(s.failed)
}

// HandleFailure: user code does not panic in a framer.
func (s *streamer) HandleFailure(_ *actor.ActorSystem, _ actor.Supervisor, _ *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	s.fail(nil, fmt.Errorf("stage %q: bug in a worker: %v", s.spec.Name, reason))
}
