package actors

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"

	"github.com/weirflow/weir/stages"
)

// Jobs are the incarnations that may be running user code, so that those which do not return can be named.
type jobs struct {
	mu sync.Mutex
	at map[*job]struct{} // guarded by mu
}

// A job is one incarnation.
type job struct {
	stage        string
	worker, life int
	hung         *stages.HungError // its stage has gone on without it
}

// Labels of goroutines in profiles, and the way to find one there: runtime/pprof is the only door to another goroutine's
// stack. All goroutines of a run have the first two; those that run user code, and what that starts, all of them.
const (
	LabelRun      = "weir.run" // Config.ID
	LabelPipeline = "pipeline"
	labelStage    = "stage"
	labelWorker   = "worker"
	labelLife     = "incarnation"
)

// label marks the calling goroutine, and those that user code starts under ctx, in profiles.
func (r *Run) label(ctx context.Context, stage string, worker, life int) context.Context {
	ctx = pprof.WithLabels(ctx, pprof.Labels(labelStage, stage, labelWorker, strconv.Itoa(worker), labelLife, strconv.Itoa(life)))
	pprof.SetGoroutineLabels(ctx)
	return ctx
}

// enter is called by an incarnation before it runs user code for the first time.
func (j *jobs) enter(stage string, worker, life int) *job {
	a := &job{stage: stage, worker: worker, life: life}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.at == nil {
		j.at = map[*job]struct{}{}
	}
	j.at[a] = struct{}{}
	return a
}

// name notes that a job's function has been found to hang.
func (j *jobs) name(stage string, worker, life int, err *stages.HungError) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for a := range j.at {
		if a.stage == stage && a.worker == worker && a.life == life {
			a.hung = err
		}
	}
}

// leave is called when it will run none any more.
func (j *jobs) leave(a *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.at, a)
}

// Hung names the functions that have not returned, some time after Stop.
func (r *Run) Hung() []*stages.HungError {
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	if len(r.jobs.at) == 0 {
		return nil
	}
	all := Goroutines()
	var hung []*stages.HungError
	for a := range r.jobs.at {
		if a.hung != nil {
			hung = append(hung, a.hung)
			continue
		}
		hung = append(hung, &stages.HungError{Stage: a.stage, Worker: a.worker, Stack: all.of(r, *a)})
	}
	return hung
}

// of returns the stacks of a job.
func (p Profile) of(r *Run, a job) string {
	return strings.Join(p.Stacks(LabelRun, r.cfg.ID, labelStage, a.stage, labelWorker, strconv.Itoa(a.worker),
		labelLife, strconv.Itoa(a.life)), "\n")
}

// A Profile shows the goroutines of this process at one moment: groups of equal stacks, each with its labels, in the form
// of runtime/pprof.
type Profile struct{ groups []string }

// Goroutines makes a Profile, for which it stops the world.
func Goroutines() Profile {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // an error of a Buffer cannot be
	return Profile{strings.Split(b.String(), "\n\n")}
}

// Stacks returns the groups that have the labels, keys and values in turn.
func (p Profile) Stacks(labels ...string) (found []string) {
	for _, g := range p.groups {
		all := true
		for i := 0; i < len(labels); i += 2 {
			all = all && strings.Contains(g, fmt.Sprintf("%q:%q", labels[i], labels[i+1]))
		}
		if all {
			found = append(found, g)
		}
	}
	return found
}
