package actors

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/restart"
	"github.com/weirflow/weir/stages"
)

// A soloWorker is what its parent knows of the worker of a source or of a MergeFunc: the only one of its stage.
type soloWorker struct {
	run    *Run
	spec   *plan.Stage
	pid    *actor.PID       // nil: it is not there yet
	sup    actor.Supervisor // set when it dies
	record *restart.Record  // of its deaths
	lives  int              // incarnations, the present one included
	timer  *time.Timer      // before it is replaced; nil: there was no need of one
}

func newSoloWorker(r *Run, s *plan.Stage) soloWorker {
	return soloWorker{run: r, spec: s, record: restart.New(s.Restart.Limits()), lives: 1}
}

// died notes that the worker has died of err, and returns how long it is to rest before it is replaced, or why the run has
// failed instead.
func (w *soloWorker) died(err error) (pause time.Duration, failure error) {
	pause, again := w.record.Died(w.run.clock(), err, false, rand.Float64())
	if !again {
		failure = stages.RestartErrorOf(w.spec.Name, w.record)
		w.run.fail(w.spec, failure)
		return 0, failure
	}
	w.lives++
	w.run.stats[w.spec.Index].restarts.Add(1)
	w.run.event(Restarted{Stage: w.spec.Name, Lives: w.lives, Err: err, Retry: pause})
	return pause, nil
}

// rest has parent told by a retry when the worker may be replaced.
func (w *soloWorker) rest(parent *actor.PID, pause time.Duration) {
	w.timer = time.AfterFunc(pause, func() { w.run.send(parent, &retry{}) })
}

// replace gives the worker its next incarnation.
func (w *soloWorker) replace() {
	w.stop()
	w.sup.RestartChildren(w.pid)
}

// stop ends its rest.
func (w *soloWorker) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
