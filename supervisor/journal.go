package supervisor

import (
	"context"
	"iter"
	"slices"
	"sort"
	"sync"
)

// kept is how many events are remembered, or wait for a listener.
const kept = 1000

// A journal keeps the latest events of a run for whoever asks.
type journal struct {
	mu      sync.Mutex
	ring    []record      // guarded by mu: the last events, at most kept
	next    int64         // guarded by mu: the number of the next one
	readers int           // guarded by mu: loops that read it
	closed  bool          // guarded by mu
	changed chan struct{} // guarded by mu: closed at the next change
}

// A record is an event and its number. Numbers that are missing are those of events that were dropped.
type record struct {
	n     int64
	event Event
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

func (j *journal) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ring = append(j.ring, record{j.next, e})
	j.next++
	if n := len(j.ring); n > kept {
		if k := leastOf(n, func(i int) Event { return j.ring[i].event }); k > 0 {
			j.ring = slices.Delete(j.ring, k, k+1)
		} else {
			j.ring = j.ring[1:]
		}
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
	at = n
	if i := sort.Search(len(j.ring), func(i int) bool { return j.ring[i].n >= n }); i < len(j.ring) {
		e, at = j.ring[i].event, j.ring[i].n
	}
	return e, at, j.closed, j.changed
}

// heard reports whether somebody reads it.
func (j *journal) heard() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.readers > 0
}

// read notes that somebody has begun to read it, or has ceased to.
func (j *journal) read(by int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.readers += by
}

func (j *journal) events(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		j.read(1)
		defer j.read(-1)
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
