package actors

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
)

// A Config says who is told of a run. Its functions are called in the actors' goroutines and must not block.
type Config struct {
	OnEvent func(Event) // nil: nobody
	OnEnd   func()      // when every goroutine has ended, but for the one that calls it; nil: nobody
}

// A Run is a graph that runs.
type Run struct {
	sys    *actor.ActorSystem
	cfg    Config
	graph  *plan.Graph
	name   string          // among the runs of the system
	ctx    context.Context // of all user code; what runs behind the last worker has its values only
	cancel context.CancelFunc
	base   time.Time
	root   *actor.PID

	stopRoot sync.Once

	account plan.Account
	outputs atomic.Int64
	stats   []*stageStats
	taps    []*tap
	outlet  *Outlet

	live atomic.Int64 // goroutines of actors, those that have not been started included
	done chan struct{}

	mu     sync.Mutex
	causes []cause // guarded by mu

	jobs  jobs
	hooks *hooks // nil: there are none around the stages
}

// A cause is why a run failed.
type cause struct {
	stage *plan.Stage // whose failure it is; nil: a mistake of this package
	err   error
}

// Start runs g. It returns when the actors are there. ctx carries values for user code; its end is not watched.
func (s *System) Start(ctx context.Context, g *plan.Graph, cfg Config) *Run {
	r := &Run{sys: s.sys, cfg: cfg, graph: g, name: fmt.Sprintf("run%d", s.seq.Add(1)), base: time.Now(), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	edges := make([]*edge, len(g.Stages))
	for i, sp := range g.Stages {
		edges[i] = &edge{sys: s.sys}
		r.stats = append(r.stats, &stageStats{})
		if sp.Feed != nil {
			t := newTap(r.ctx)
			r.taps = append(r.taps, t)
		}
	}
	r.hooks = newHooks(r)
	r.outlet = newOutlet(r, g.Stages[g.Outlet.Stage], edges[g.Outlet.Stage])
	props := r.props(func(box *mailbox) actor.Actor { return &root{run: r, box: box, edges: edges} })
	if _, err := s.sys.Root.SpawnNamed(props, r.name); err != nil {
		panic(err) // the name is ours alone
	}
	r.hooks.start()
	return r
}

// clock is the time since the run began.
func (r *Run) clock() time.Duration { return time.Since(r.base) }

// props makes actors with our mailbox; every incarnation shares the mailbox of its actor.
func (r *Run) props(make func(*mailbox) actor.Actor) *actor.Props {
	r.live.Add(1)
	box := newMailbox(r.goroutineEnded, func(x any) { r.sys.DeadLetter.SendUserMessage(nil, x) })
	return actor.PropsFromProducer(func() actor.Actor { return make(box) },
		actor.WithMailbox(func() actor.Mailbox { return box }))
}

// goroutineEnded ends the run with its last goroutine, which is the root's, or that of the hooks.
func (r *Run) goroutineEnded() {
	if r.live.Add(-1) > 0 || r.hooks.end() {
		return
	}
	r.cancel()
	if r.cfg.OnEnd != nil {
		r.cfg.OnEnd()
	}
	close(r.done)
}

func (r *Run) send(to *actor.PID, m any) { r.sys.Root.Send(to, m) }

func (r *Run) event(e Event) {
	if r.cfg.OnEvent != nil {
		r.cfg.OnEvent(e)
	}
}

func (r *Run) closeFailed(a *worker, err error) {
	r.event(CloseFailed{Stage: a.s.spec.Name, Worker: a.work.Place.Worker, Err: err})
}

// fail notes why the run is not complete: s has failed.
func (r *Run) fail(s *plan.Stage, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.causes = append(r.causes, cause{s, err})
}

// Causes returns why the run failed, in order of time; nothing if it has not.
func (r *Run) Causes() (errs []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.causes {
		errs = append(errs, c.err)
	}
	return errs
}

// Outlet returns the door by which items leave.
func (r *Run) Outlet() *Outlet { return r.outlet }

// Drain tells the sources to end. What they have yielded comes out. It does not block.
func (r *Run) Drain() {
	for _, t := range r.taps {
		t.gate.Drain()
		t.cancel()
	}
}

// SkipEpoch tells the sources to end epoch n here and go on to the next one.
func (r *Run) SkipEpoch(n int) {
	for _, t := range r.taps {
		t.gate.Skip(n)
	}
}

// Stop ends everything now. It does not block: Done tells when all goroutines have ended.
func (r *Run) Stop() {
	r.outlet.close()
	r.conclude()
}

// conclude cancels all user code and stops the actors; those that are in user code end when it returns.
func (r *Run) conclude() {
	r.cancel()
	for _, t := range r.taps {
		t.gate.Shut()
	}
	r.stopRoot.Do(func() { r.sys.Root.Stop(r.root) }) // a second one would be a dead letter
}

// Done is closed when every goroutine of the run has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// A root is the parent of the stages.
type root struct {
	run   *Run
	box   *mailbox
	edges []*edge // by producer
}

func (a *root) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started:
		a.run.root = c.Self() // before there is anybody who could end the run
		a.spawn(c)
	case *actor.Stopped:
		a.box.close()
	}
}

// spawn makes the stages, consumers before their producers, which must know them.
func (a *root) spawn(c actor.Context) {
	r := a.run
	consumer := map[plan.Port]*actor.PID{}
	tap := len(r.taps)
	for i := len(r.graph.Stages) - 1; i >= 0; i-- {
		sp := r.graph.Stages[i]
		out := outbox{edge: a.edges[i], pool: sp.Pool, stats: r.stats[i], next: consumer[plan.Port{Stage: i}], last: r.outlet}
		var make func(*mailbox) actor.Actor
		if sp.Feed != nil {
			tap--
			t := r.taps[tap]
			make = func(box *mailbox) actor.Actor { return newSource(r, sp, box, t, out) }
		} else {
			in := a.edges[sp.In[0].Stage]
			make = func(box *mailbox) actor.Actor { return newStage(r, sp, box, in, out) }
		}
		pid, err := c.SpawnNamed(r.props(make), fmt.Sprintf("s%d", i))
		if err != nil {
			panic(err) // the name is ours alone
		}
		if sp.Feed == nil {
			consumer[sp.In[0]] = pid
		}
	}
}

// HandleFailure: a stage actor that panics is a mistake of ours. Its ledger is gone with it, so a restart would lose
// items silently: the run ends with the error instead.
func (a *root) HandleFailure(_ *actor.ActorSystem, _ actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	a.run.fail(nil, fmt.Errorf("actors: bug in %s: %v", child.Id, reason))
	a.run.outlet.finish()
}
