package actors

import (
	"bytes"
	"runtime"
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
	stage     string
	worker    int
	goroutine string // "goroutine 17", as in a stack trace
}

// enter is called by an incarnation, in its goroutine, before it runs user code for the first time.
func (j *jobs) enter(stage string, worker int) *job {
	a := &job{stage, worker, thisGoroutine()}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.at == nil {
		j.at = map[*job]struct{}{}
	}
	j.at[a] = struct{}{}
	return a
}

// leave is called when no user code will run any more.
func (j *jobs) leave(a *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.at, a)
}

// thisGoroutine reads the goroutine's number off its own stack trace: the runtime does not tell it otherwise. It only
// serves to find that trace again.
func thisGoroutine() string {
	var buf [64]byte
	name, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte(" ["))
	return string(name)
}

// Hung names the functions that have not returned, some time after Stop.
func (r *Run) Hung() []*stages.HungError {
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	if len(r.jobs.at) == 0 {
		return nil
	}
	buf := make([]byte, 4<<20)
	traces := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	var hung []*stages.HungError
	for a := range r.jobs.at {
		e := &stages.HungError{Stage: a.stage, Worker: a.worker}
		for _, t := range traces {
			if strings.HasPrefix(t, a.goroutine+" [") {
				e.Stack = t
			}
		}
		hung = append(hung, e)
	}
	return hung
}
