package supervisor

import (
	"context"
	"iter"
	"sync"
)

// kept is how many events are remembered, or wait for a listener.
const kept = 1000

// A journal keeps the latest events of a run for whoever asks.
type journal struct {
	mu      sync.Mutex
	ring    []Event       // guarded by mu: the last events, at most kept
	first   int64         // guarded by mu: number of ring[0]
	closed  bool          // guarded by mu
	changed chan struct{} // guarded by mu: closed at the next change
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

func (j *journal) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ring = append(j.ring, e); len(j.ring) > kept {
		j.ring = j.ring[1:]
		j.first++
	}
	j.notify()
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.notify()
}

// notify is called with mu held.
func (j *journal) notify() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// since returns the event with number n or the oldest one after it, its number, and what to wait for if there is none.
func (j *journal) since(n int64) (e Event, at int64, closed bool, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at = max(n, j.first)
	if i := at - j.first; i < int64(len(j.ring)) {
		e = j.ring[i]
	}
	return e, at, j.closed, j.changed
}

func (j *journal) events(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for next := int64(0); ; {
			e, at, closed, changed := j.since(next)
			switch {
			case ctx.Err() != nil:
				return
			case e != nil:
				if lost := at - next; lost > 0 && next > 0 && !yield(EventsLost{e.Info(), lost}) {
					return
				}
				if next = at + 1; !yield(e) {
					return
				}
			case closed:
				return
			default:
				select {
				case <-changed:
				case <-ctx.Done():
				}
			}
		}
	}
}
