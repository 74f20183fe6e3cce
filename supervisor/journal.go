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

// A herald tells events to Config.OnEvent, in order, in one goroutine that is there only while there is something to
// tell.
type herald struct {
	mu    sync.Mutex
	queue []news // guarded by mu
	busy  bool   // guarded by mu
	lost  int64  // guarded by mu: since the last report
}

// News is an event and who is told.
type news struct {
	event Event
	to    func(Event)
}

func (h *herald) post(to func(Event), e Event) {
	if to == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queue = append(h.queue, news{e, to}); len(h.queue) > kept {
		h.queue = h.queue[1:]
		h.lost++
	}
	if !h.busy {
		h.busy = true
		// Owner: the herald. Ends when the queue is empty. Nobody waits for it: a listener may take as long as it likes.
		go h.tell()
	}
}

func (h *herald) tell() {
	for {
		h.mu.Lock()
		if len(h.queue) == 0 {
			h.queue, h.busy = nil, false
			h.mu.Unlock()
			return
		}
		n, lost := h.queue[0], h.lost
		h.queue, h.lost = h.queue[1:], 0
		h.mu.Unlock()
		if lost > 0 {
			h.call(news{EventsLost{n.event.Info(), lost}, n.to})
		}
		h.call(n)
	}
}

// call shields the others from a listener that panics.
func (h *herald) call(n news) {
	defer func() {
		if recover() != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.lost++
		}
	}()
	n.to(n.event)
}
