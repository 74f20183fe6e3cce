package actors

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/weak"
	"github.com/weirflow/weir/stages"
)

// A Run is a graph that runs.
type Run struct {
	sys    *actor.ActorSystem
	cfg    Config
	graph  *plan.Graph
	name   string          // among the runs of the system
	ctx    context.Context // of all user code, and of the labels of all goroutines; what runs behind the last worker has its values only
	cancel context.CancelFunc
	base   time.Time
	root   *actor.PID
	weak   weak.Law // that it breaks, for a test
	care   *care    // nil: no item is suspected

	stopRoot sync.Once

	account      plan.Account
	outputs      atomic.Int64
	elsewhere    atomic.Int64 // items that sources in other processes have yielded
	streamers    []int        // stages that stand for regions with sources
	streams      atomic.Int64 // ends of the graph that have not been reached: the outlet's, and the sinks
	stats        []*stageStats
	intake       *intake // of a region's graph: takes what comes from elsewhere
	taps         []*tap
	tapOf        map[int]*tap // by stage
	skips        map[int]bool // by stage: merges with epochs of their own that are the run's
	outlet       *Outlet
	spent        atomic.Bool // more items have failed than may
	lastFailed   atomic.Pointer[stages.ItemError]
	letterActors []*actor.PID // by stage; nil: it has none. Immutable when the stages are there

	live atomic.Int64 // goroutines of actors, those that have not been started included

	mu     sync.Mutex
	causes []cause  // guarded by mu
	mixers []*mixer // guarded by mu: merges with epochs of their own

	jobs      jobs
	iterators []*actor.PID // workers of the sources, which wait for the word; immutable when all stages are there
	hooks     *hooks       // nil: there are none around the stages
}

// A cause is why a run failed.
type cause struct {
	stage *plan.Stage // whose failure it is; nil: a mistake of this package
	err   error
}

// Start runs g. It returns when the actors are there. ctx carries values for user code; its end is not watched.
func (s *System) Start(ctx context.Context, g *plan.Graph, cfg Config) *Run {
	r := &Run{sys: s.sys, cfg: cfg, graph: g, name: fmt.Sprintf("run%d", s.seq.Add(1)), base: time.Now(), weak: weak.Of(ctx)}
	if r.cfg.ID == "" {
		r.cfg.ID = r.name
	}
	r.care = newCare(&r.cfg)
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.ctx = pprof.WithLabels(r.ctx, pprof.Labels(LabelRun, r.cfg.ID, LabelPipeline, g.Name))
	r.streams.Store(1)
	r.tapOf, r.skips = map[int]*tap{}, map[int]bool{}
	edges := map[plan.Port]*edge{}
	for i, sp := range g.Stages {
		for o := range sp.Outs {
			if sp.Absent {
				break
			}
			edges[plan.Port{Stage: i, Out: o}] = &edge{sys: s.sys}
		}
		r.stats = append(r.stats, &stageStats{})
		switch {
		case sp.Absent:
		case sp.Far != nil && len(sp.In) == 0:
			r.streamers = append(r.streamers, i)
		case sp.Feed != nil:
			t := newTap(r, i)
			t.mixed = true // until a way out is found
			r.taps, r.tapOf[i] = append(r.taps, t), t
		case sp.Outs == 0:
			r.streams.Add(1)
		}
	}
	r.outlet = newOutlet(r, edges[g.Outlet])
	seen := map[int]bool{}
	for i, sp := range g.Stages {
		if !sp.Absent && (i == g.Outlet.Stage || sp.Outs == 0) {
			r.findUnmixed(sp, seen)
		}
	}
	r.hooks = newHooks(r)
	props := r.props(func(box *mailbox) actor.Actor { return &root{run: r, box: box, edges: edges} })
	if _, err := s.sys.Root.SpawnNamed(props, r.name); err != nil {
		panic(err) // the name is ours alone
	}
	r.hooks.start()
	return r
}

// findUnmixed finds the sources, and the merges with epochs of their own, whose epochs come out at s.
func (r *Run) findUnmixed(s *plan.Stage, seen map[int]bool) {
	if seen[s.Index] {
		return
	}
	seen[s.Index] = true
	if t := r.tapOf[s.Index]; t != nil {
		t.mixed = false
	}
	if s.Mix != nil && s.Mix.EpochItems > 0 {
		r.skips[s.Index] = true
		return
	}
	for _, p := range s.In {
		r.findUnmixed(r.graph.Stages[p.Stage], seen)
	}
}

// clock is the time since the run began.
func (r *Run) clock() time.Duration { return time.Since(r.base) }

// props makes actors with our mailbox; every incarnation shares the mailbox of its actor.
func (r *Run) props(make func(*mailbox) actor.Actor) *actor.Props {
	r.live.Add(1)
	box := newMailbox(r.goroutineEnded, func(x any) { r.sys.DeadLetter.SendUserMessage(nil, x) })
	box.begun = func() { pprof.SetGoroutineLabels(r.ctx) }
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

func (r *Run) ownEpochs() []*mixer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mixers
}

// fail notes why the run is not complete: s has failed.
func (r *Run) fail(s *plan.Stage, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.causes = append(r.causes, cause{s, err})
	for _, t := range r.taps { // branches that have nothing to do with it end, too
		t.fail()
	}
	for _, i := range r.streamers {
		r.send(r.pidOf(i), &drain{failed: true})
	}
}

// streamEnded is called at each end of the graph. The last one ends the run.
func (r *Run) streamEnded() {
	if r.streams.Add(-1) == 0 {
		r.outlet.finish()
	}
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
		t.drain()
	}
	for _, i := range r.streamers {
		r.send(r.pidOf(i), &drain{})
	}
}

// SkipEpoch tells the sources to end epoch n here and go on to the next one.
func (r *Run) SkipEpoch(n int) {
	for _, t := range r.taps {
		if !t.mixed {
			t.gate.Skip(n)
		}
	}
	for _, i := range r.streamers {
		r.send(r.pidOf(i), &skip{epoch: n})
	}
	for _, m := range r.ownEpochs() {
		r.send(m.self, &skip{epoch: n})
	}
}

// Stop ends everything now. It does not block: Config.OnEnd tells when all goroutines have ended.
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

// A root is the parent of the stages.
type root struct {
	run   *Run
	box   *mailbox
	edges map[plan.Port]*edge
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
	a.spawnLetterActors(c)
	consumer := map[plan.Port]*actor.PID{}
	input := map[plan.Port]int{}
	for i := len(r.graph.Stages) - 1; i >= 0; i-- {
		sp := r.graph.Stages[i]
		if sp.Absent {
			continue
		}
		outs := make([]outbox, sp.Outs)
		for o := range outs {
			p := plan.Port{Stage: i, Out: o}
			outs[o] = outbox{edge: a.edges[p], pool: sp.Pool, stats: r.outStats(i), next: consumer[p], in: input[p], last: r.outlet}
		}
		var make func(*mailbox) actor.Actor
		switch {
		case sp.Feed != nil:
			t := r.tapOf[i]
			make = func(box *mailbox) actor.Actor { return newSource(r, sp, box, t, outs[0]) }
		case sp.Mix != nil:
			make = func(box *mailbox) actor.Actor { return newMixer(r, sp, box, a.edges, outs[0]) }
		case sp.Far != nil && !sp.Far.Region.Keyed:
			var in *edge
			if len(sp.In) > 0 {
				in = a.edges[sp.In[0]]
			}
			make = func(box *mailbox) actor.Actor { return newStreamer(r, sp, box, in, outs[0]) }
		case sp.Intake:
			r.intake = newIntake(r, sp, outs[0])
			make = func(box *mailbox) actor.Actor { r.intake.box = box; return r.intake }
		default:
			make = func(box *mailbox) actor.Actor { return newStage(r, sp, box, a.edges[sp.In[0]], outs) }
		}
		pid, err := c.SpawnNamed(r.props(make), stageName(i))
		if err != nil {
			panic(err) // the name is ours alone
		}
		for k, p := range sp.In {
			consumer[p], input[p] = pid, k
		}
	}
	if r.hooks == nil { // else stages are to be entered before
		r.begin()
	}
}

// spawnLetterActors makes those who hand over dead letters.
func (a *root) spawnLetterActors(c actor.Context) {
	r := a.run
	r.letterActors = make([]*actor.PID, len(r.graph.Stages))
	for k, l := range r.cfg.Letters {
		pid, err := c.SpawnNamed(r.props(func(box *mailbox) actor.Actor { return newLetterActor(r, box, l) }), fmt.Sprintf("d%d", k))
		if err != nil {
			panic(err) // the name is ours alone
		}
		for _, i := range l.Stages {
			r.letterActors[i] = pid
		}
	}
}

// HandleFailure: a stage actor that panics is a mistake of ours. Its ledger is gone with it, so a restart would lose
// items silently: the run ends with the error instead.
func (a *root) HandleFailure(_ *actor.ActorSystem, _ actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	a.run.fail(nil, fmt.Errorf("actors: bug in %s: %v", child.Id, reason))
	a.run.outlet.finish()
}

// outStats is where a stage counts what it hands on. What a region does is counted where it is.
func (r *Run) outStats(stage int) *stageStats {
	if r.graph.Stages[stage].Far != nil {
		return &stageStats{}
	}
	return r.stats[stage]
}

// spec returns the stage of an index, also if it is in a region.
func (r *Run) spec(stage int) *plan.Stage {
	s := r.graph.Stages[stage]
	if s.Far != nil {
		return s.Far.Of
	}
	return s
}

// pidOf is the address of a stage, which need not be there yet.
func (r *Run) pidOf(stage int) *actor.PID {
	return actor.NewPID(r.sys.Address(), r.name+"/"+stageName(stage))
}

// stageName is what the actor of a stage is called among those of its run.
func stageName(stage int) string { return fmt.Sprintf("s%d", stage) }
