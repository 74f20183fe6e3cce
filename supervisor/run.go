package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// maxFailures is how many failed items the statistics name.
const maxFailures = 100

// A run is a Run without its type.
//
// It is over when its consumer has been told the end, or it was stopped: then Err is decided. It has ended when, besides,
// every goroutine is gone, its background tasks' included.
type run struct {
	id       RunID
	pipeline string
	graph    *plan.Graph
	at       Placement
	started  time.Time
	cfg      Config
	core     *core
	herald   *herald
	journal  *journal
	nodes    *nodes // nil: everything is here

	stopping atomic.Bool        // it was stopped: loops end
	endTasks context.CancelFunc // immutable after begin
	gone     chan struct{}      // closed when every goroutine has ended
	ended    chan struct{}
	told     chan struct{} // closed when Config.OnEvent has been told all

	telling sync.Mutex
	silent  bool // guarded by telling: the last event has been told

	mu       sync.Mutex
	actors   *actors.Run         // guarded by mu until begin returns, then immutable
	over     bool                // guarded by mu
	alive    map[string]bool     // guarded by mu: the tasks that have not ended, and "", which is the actors
	hands    int                 // guarded by mu: chunks that loops and Next have and have not given back
	err      error               // guarded by mu
	overAt   time.Time           // guarded by mu
	failures []*stages.ItemError // guarded by mu
	unwatch  func() bool         // guarded by mu: of the deployment's context
	drain    *time.Timer         // guarded by mu
}

// begin starts the actors. What they have to say before they are known here waits for mu.
func (r *run) begin(ctx context.Context, start func() *actors.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.core.add(r) // whoever finds it there waits for mu before it asks the actors
	r.actors = start()
	r.startTasks(ctx)
	r.unwatch = context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })
}

func (r *run) info() EventInfo {
	return EventInfo{Time: time.Now(), Job: r.cfg.Job, Rank: r.cfg.Rank, Run: r.id, Pipeline: r.pipeline}
}

func (r *run) event(e Event) { r.tell(e, nil) }

// tell tells e to whoever listens. With told, which is closed when the listener has heard of it, it is the last event: what
// comes behind it is not told any more.
func (r *run) tell(e Event, told chan struct{}) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if r.silent {
		return
	}
	r.journal.add(e)
	r.herald.post(e, told)
	if told != nil {
		r.silent = true
		r.journal.close()
	}
}

// observe hears of what happens in the actors.
func (r *run) observe(e actors.Event) {
	i := r.info()
	switch e := e.(type) {
	case actors.Restarted:
		r.event(WorkerRestarted{i, e.Stage, e.Worker, e.Lives, e.Err, e.Retry})
	case actors.Retried:
		r.event(ItemRetried{i, e.Stage, e.Item, e.Attempt, e.Err, e.Retry})
	case actors.CloseFailed:
		r.event(CloseFailed{i, e.Stage, e.Worker, e.Err})
	case actors.Hung:
		r.event(StageHung{i, e.Err.Stage, e.Err})
	case actors.NodeLost:
		r.event(NodeRestarted{i, e.Region, e.Copy, e.Life, e.Err, e.Retry})
	case actors.HookFailed:
		r.event(HookFailed{i, e.Stage, e.Err})
	case actors.Failed:
		r.mu.Lock()
		if r.failures = append(r.failures, e.Err); len(r.failures) > maxFailures {
			r.failures = r.failures[1:]
		}
		r.mu.Unlock()
		r.event(ItemFailed{i, e.Err, e.Letter, e.Failures})
	}
}

// finish decides the run's error, once. Failures win: a cancellation never hides one.
func (r *run) finish(err error) (decided error, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return r.err, false
	}
	causes := r.actors.Causes()
	if failed, ok := err.(*taskError); ok {
		causes = append(causes, failed)
	}
	if len(causes) > 0 {
		err = &RunError{r.id, r.pipeline, causes}
	}
	r.over, r.err, r.overAt = true, err, time.Now()
	r.endTasks()
	r.unwatch()
	if r.drain != nil {
		r.drain.Stop()
	}
	return err, true
}

// complete is called when the consumer has found the end. It returns the run's error.
func (r *run) complete() error {
	r.actors.JudgeEnd()
	err, first := r.finish(nil)
	if first {
		r.conclude()
	}
	return err
}

// stop ends the run now, because of cause. It does not wait.
func (r *run) stop(cause error) {
	_, first := r.finish(cause)
	r.stopping.Store(true)
	if first {
		r.actors.Stop()
		r.conclude()
	}
}

// abandon stops the run because a loop's context has ended, and returns what the loop is told: a failure of the run, if
// there is one.
func (r *run) abandon(cause error) error {
	r.stop(cause)
	if err := r.Err(); err != nil {
		return err
	}
	return cause
}

// released is called when every goroutine of the actors has ended.
func (r *run) released() {
	if r.nodes != nil {
		r.nodes.close()
	}
	r.leave("")
}

// leave is called for the actors and for each task, when they have ended. The last one may end the run.
func (r *run) leave(part string) {
	r.mu.Lock()
	delete(r.alive, part)
	last := len(r.alive) == 0
	r.mu.Unlock()
	if last {
		r.conclude()
		close(r.gone)
	}
}

// takeHand notes that a chunk is with the consumer.
func (r *run) takeHand() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hands++
}

// dropHand notes that one has been given back. The last one may end the run.
func (r *run) dropHand() {
	r.mu.Lock()
	r.hands--
	last := r.over && r.hands == 0
	r.mu.Unlock()
	if last {
		r.conclude()
	}
}

// conclude ends the run when it is over, its goroutines are gone and, unless it was stopped, all chunks have been given
// back: whichever comes last.
func (r *run) conclude() {
	r.mu.Lock()
	if !r.over || len(r.alive) > 0 || r.hands > 0 && !r.stopping.Load() || r.isEnded() {
		r.mu.Unlock()
		return
	}
	err := r.err
	close(r.ended)
	r.mu.Unlock()
	r.core.remove(r)
	r.tell(RunEnded{EventInfo: r.info(), Err: err, Stats: r.stats()}, r.told)
}

func (r *run) isEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// Drain tells the sources to end here. It does not block: the loop over Items ends after what was yielded before, and
// then the run is complete. After Config.DrainWithin it turns into Stop, and the loop's last turn is ErrDrainTimeout.
func (r *run) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.drain != nil {
		return
	}
	r.drain = time.AfterFunc(r.cfg.DrainWithin, func() { r.stop(ErrDrainTimeout) })
	r.actors.Drain()
}

// Stop ends the run now: contexts are cancelled, sources are not pulled again. It blocks until everything is released,
// at most Config.Grace, and returns nil, or a *stages.HungError for each function and each background task that does not
// return. It has no context, to be right in a defer behind one that has been cancelled. Stop may be called at any time,
// again, and by several goroutines; but not by a stage's function, a hook, or a task, which it would wait for: that one calls
// Drain, or go run.Stop().
func (r *run) Stop() error {
	r.stop(ErrStopped)
	grace := time.NewTimer(r.cfg.Grace)
	defer grace.Stop()
	gone := false
	select {
	case <-r.gone:
		gone = true // but for functions that stages have gone on without
	case <-grace.C:
	}
	var errs []error
	hung := r.actors.Hung()
	if r.nodes != nil {
		hung = append(hung, r.nodes.hanging()...)
	}
	for _, h := range hung {
		errs = append(errs, h)
		if h.Item == (stages.ID{}) { // else it has been told when its stage went on
			r.event(StageHung{r.info(), h.Stage, h})
		}
	}
	if gone {
		return errors.Join(errs...)
	}
	errs = append(errs, r.hungTasks()...)
	if len(errs) == 0 { // what does not end is not user code
		return fmt.Errorf("run %s has not ended %v after Stop: %w", r.id, r.cfg.Grace, stages.ErrHung)
	}
	return errors.Join(errs...)
}

// Wait blocks until the run has ended, every goroutine of it included, and Config.OnEvent has been told so; then it
// returns Err. If ctx ends first, it returns ctx's error. It consumes nothing: somebody must take the items. A program that
// means to see the last events calls it, after Stop, before it exits.
func (r *run) Wait(ctx context.Context) error {
	select {
	case <-r.told:
		return r.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Err returns nil while the run lasts and after it has completed or been drained; ErrStopped if Stop, or a loop left
// early, came before; ErrDrainTimeout if Drain took too long; the cause of the end of the deployment's context, or of a
// loop's; and otherwise a *RunError. It is nil while items of a run that has failed still wait to be taken. A loop that
// another goroutine's Stop ends has the same as its last turn.
func (r *run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// ID returns the run's identity, as in events and statistics.
func (r *run) ID() RunID { return r.id }

// Stats returns the statistics of the run's life so far. It is cheap.
func (r *run) Stats() Stats { return r.stats() }

func (r *run) stats() Stats {
	r.mu.Lock()
	a := r.actors
	s := Stats{
		Job: r.cfg.Job, Rank: r.cfg.Rank, Run: r.id, Pipeline: r.pipeline, At: time.Now(),
		Failures: append([]*stages.ItemError(nil), r.failures...),
	}
	end := s.At
	if r.over {
		end = r.overAt
	}
	s.Elapsed = end.Sub(r.started)
	r.mu.Unlock()
	t := a.Stats()
	places := r.places()
	if r.nodes != nil {
		r.nodes.fill(t.Stages)
		s.Nodes = r.nodes.all()
	}
	s.Yielded, s.Delivered, s.Filtered, s.Failed, s.InFlight, s.Outputs = t.Yielded, t.Delivered, t.Filtered, t.Failed, t.InFlight, t.Outputs
	for i, st := range t.Stages {
		s.Retries += st.Retries
		s.Restarts += st.Restarts
		o := StageStats{
			Stage: st.Name, Kind: st.Kind, Mailbox: st.Mailbox, Where: places[i].String(), In: st.In, Out: st.Out,
			Filtered: st.Filtered, Failed: st.Failed, Letters: st.Letters, Tolerated: st.Tolerated, Retries: st.Retries,
			Restarts: st.Restarts, Hung: st.Hung,
		}
		if s.Elapsed > 0 {
			o.Busy = min(float64(st.Busy)/float64(s.Elapsed)/float64(st.Mailbox*copiesOf(places[i])), 1)
		}
		s.Stages = append(s.Stages, o)
	}
	return s
}
