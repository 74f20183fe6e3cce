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
	stage  string
	worker int
}

// labels for profiles, and for finding a goroutine in them: runtime/pprof is the only door to another goroutine's stack.
const (
	labelRun      = "weir.run"
	labelPipeline = "pipeline"
	labelStage    = "stage"
	labelWorker   = "worker"
)

// label marks the calling goroutine, and those that user code starts under ctx, in profiles.
func (r *Run) label(ctx context.Context, stage string, worker int) context.Context {
	ctx = pprof.WithLabels(ctx, pprof.Labels(labelRun, r.name, labelPipeline, r.graph.Name, labelStage, stage, labelWorker, strconv.Itoa(worker)))
	pprof.SetGoroutineLabels(ctx)
	return ctx
}

// enter is called by an incarnation before it runs user code for the first time.
func (j *jobs) enter(stage string, worker int) *job {
	a := &job{stage, worker}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.at == nil {
		j.at = map[*job]struct{}{}
	}
	j.at[a] = struct{}{}
	return a
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
	var profile bytes.Buffer
	// In this form each group of equal stacks has its labels; an error of a Buffer cannot be.
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	groups := strings.Split(profile.String(), "\n\n")
	var hung []*stages.HungError
	for a := range r.jobs.at {
		e := &stages.HungError{Stage: a.stage, Worker: a.worker}
		for _, g := range groups {
			if hasLabel(g, labelRun, r.name) && hasLabel(g, labelStage, a.stage) && hasLabel(g, labelWorker, strconv.Itoa(a.worker)) {
				e.Stack += g + "\n"
			}
		}
		hung = append(hung, e)
	}
	return hung
}

func hasLabel(group, key, value string) bool {
	return strings.Contains(group, fmt.Sprintf("%q:%q", key, value))
}
