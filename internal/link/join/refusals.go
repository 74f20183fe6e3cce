package join

import (
	"sync"
	"time"
)

// A Refusal is one peer that was refused, told to whoever keeps the log.
type Refusal struct {
	Peer   string // its address
	Reason Reason
	Err    error  // an *AuthError
	Untold uint64 // how many others were refused for the same reason since it was last told
}

// refusalEvery is how often a reason is told: a stranger must not be able to fill the log.
const refusalEvery = time.Second

// refusals tells of refused peers, each reason at most once a second.
type refusals struct {
	tell func(Refusal) // nil: nobody listens

	mu     sync.Mutex
	last   [reasons]time.Time // guarded by mu
	untold [reasons]uint64    // guarded by mu
	total  uint64             // guarded by mu
}

// add counts a refusal, and tells it if its reason was not told within the last second. tell is called without a lock.
func (r *refusals) add(e *AuthError) {
	now := time.Now()
	r.mu.Lock()
	r.total++
	last := r.last[e.Reason]
	quiet := last.IsZero() || now.Sub(last) >= refusalEvery
	untold := r.untold[e.Reason]
	if quiet {
		r.last[e.Reason], r.untold[e.Reason] = now, 0
	} else {
		r.untold[e.Reason]++
	}
	r.mu.Unlock()
	if quiet && r.tell != nil {
		r.tell(Refusal{e.Peer, e.Reason, e, untold})
	}
}

func (r *refusals) count() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}
