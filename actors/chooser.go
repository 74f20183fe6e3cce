package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
)

// A choice is what the worker of a MergeFunc gets: chunks to choose from. The same choice is the message there and back.
type choice struct {
	quiet
	heads []plan.Chunk // by input; nil: it has ended its epoch
	at    []int
	max   int
	order []int // the inputs chosen; written by the worker
	err   error // written by the worker
	died  bool  // err cost the worker
}

func (*choice) control() {}

// byValue has a worker choose among what is at hand.
type byValue struct {
	picks
	choice *choice // what it has been asked; nil: nothing
	worker soloWorker
}

func (*byValue) newEpoch() {} // the function knows only what is at hand

func (v *byValue) step(credit int) (bool, int) {
	m := v.m
	if m.run.ctx.Err() != nil {
		return false, -1 // the run is being stopped
	}
	ch := &choice{max: min(credit, mostTaken), heads: make([]plan.Chunk, len(m.ins)), at: make([]int, len(m.ins))}
	for i := range m.ins {
		in := &m.ins[i]
		switch {
		case in.ready():
			ch.heads[i], ch.at[i] = *in.q.front(), in.at
		case !in.through():
			return false, i
		}
	}
	if v.worker.pid == nil {
		pid, err := m.cx.SpawnNamed(m.run.props(func(box *mailbox) actor.Actor {
			return &picker{m: m, box: box, chooser: m.mix.Open()}
		}), "w0")
		if err != nil {
			panic(err) // the name is ours alone
		}
		v.worker.pid = pid
	}
	v.choice, m.asked = ch, true
	m.cx.Send(v.worker.pid, ch)
	return true, -1
}

// chosen takes what the worker has chosen.
func (v *byValue) chosen(ch *choice) {
	m := v.m
	if v.choice != ch || m.over {
		return
	}
	v.choice, m.asked = nil, false
	d := m.spec.Pool.Get(len(ch.order))
	v.order = append(v.order[:0], ch.order...)
	if v.gather(d) {
		v.worker.record.Progress()
	}
	switch {
	case m.over || ch.err == nil:
	case ch.died:
		v.replaceWorker(ch.err)
	default:
		m.fail(ch.err)
	}
}

// replaceWorker replaces the worker, which has died: at once, or after a pause, in which nobody is asked.
func (v *byValue) replaceWorker(err error) {
	m := v.m
	pause, failure := v.worker.died(err)
	switch {
	case failure != nil:
		m.end(true)
	case pause == 0:
		v.worker.replace()
	default:
		m.asked = true
		v.worker.rest(m.self, pause)
	}
}

// revive ends the pause.
func (v *byValue) revive() {
	if m := v.m; !m.over {
		m.asked = false
		v.worker.replace()
	}
}

// HandleFailure hears that the worker has died. It answers in the order of its messages, as that of a stage.
func (m *mixer) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, _ *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	v := m.way.(*byValue) // nobody else has a worker
	v.worker.sup = sup
	ch, _ := message.(*choice)
	if ch == nil || m.over {
		if !m.over {
			m.fail(fmt.Errorf("bug in a worker: %v", reason))
		}
		return
	}
	m.cx.Send(m.self, ch)
}

// A picker is the worker of a MergeFunc.
type picker struct {
	m       *mixer // only what never changes
	box     *mailbox
	chooser plan.Chooser
	ctx     context.Context // of the incarnation: the function is cancelled with it
	cancel  context.CancelFunc
	job     *job
}

func (a *picker) Receive(c actor.Context) {
	switch ch := c.Message().(type) {
	case *choice:
		a.choose(ch)
		c.Send(c.Parent(), ch)
	case *actor.Started:
		life := a.m.way.(*byValue).worker.lives
		var ctx context.Context
		ctx, a.cancel = context.WithCancel(a.m.run.ctx)
		a.ctx = a.m.run.label(ctx, a.m.spec.Name, 0, life)
		a.job = a.m.run.jobs.enter(a.m.spec.Name, 0, life)
	case *actor.Restarting, *actor.Stopping:
		a.cancel()
		a.m.run.jobs.leave(a.job)
	case *actor.Stopped:
		a.box.close()
	}
}

// choose runs user code. When that does not return, the choice is completed all the same, and the panic goes on to the
// mailbox, which tells the stage.
func (a *picker) choose(ch *choice) {
	clean := false
	defer func() {
		if clean {
			return
		}
		r := recover()
		ch.err, ch.died = panicked(a.m.spec, r), true
		if r != nil {
			panic(r)
		}
	}()
	ch.err = a.chooser.Choose(a.ctx, ch.heads, ch.at, ch.max, &ch.order)
	clean = true
}
