package supervisor

import "sync"

// A herald tells events to a Config.OnEvent, in order, in one goroutine that is there only while there is something to
// tell.
type herald struct {
	to func(Event) // nil: nobody

	mu    sync.Mutex
	queue []Event   // guarded by mu; at most kept
	busy  bool      // guarded by mu
	lost  int64     // guarded by mu: since the last report
	last  EventInfo // guarded by mu: of the last event that was lost
}

func (h *herald) post(e Event) {
	if h.to == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queue = append(h.queue, e); len(h.queue) > kept {
		h.lost, h.last = h.lost+1, h.queue[0].Info()
		h.queue = h.queue[1:]
	}
	if !h.busy {
		h.busy = true
		// Owner: the herald. Ends when the queue is empty. Nobody waits for it: a listener may take as long as it likes.
		go h.tell()
	}
}

func (h *herald) tell() {
	for e := h.next(); e != nil; e = h.next() {
		h.call(e)
	}
}

// next returns what is to be told now: first of all, what was lost. It returns nil when there is nothing, and then
// nobody is telling any more.
func (h *herald) next() (e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.lost > 0:
		e = EventsLost{h.last, h.lost}
		h.lost = 0
	case len(h.queue) > 0:
		e = h.queue[0]
		h.queue = h.queue[1:]
	default:
		h.queue, h.busy = nil, false
	}
	return e
}

// call shields the rest from a listener that panics, or ends its goroutine: the event counts as lost.
func (h *herald) call(e Event) {
	heard := false
	defer func() {
		if heard {
			return
		}
		if recover() == nil { // Goexit: this goroutine is ending
			defer func() {
				// Owner: the herald. Ends when the queue is empty. Nobody waits for it, as in post.
				go h.tell()
			}()
		}
		if _, again := e.(EventsLost); again {
			return // a listener that cannot even be told that
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lost, h.last = h.lost+1, e.Info()
	}()
	h.to(e)
	heard = true
}
