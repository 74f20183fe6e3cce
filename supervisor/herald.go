package supervisor

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
)

// A herald tells events to a Config.OnEvent, in order, in one goroutine that is there only while there is something to
// tell.
type herald struct {
	to func(Event) // nil: nobody

	mu    sync.Mutex
	queue []news    // guarded by mu; at most kept
	busy  bool      // guarded by mu
	lost  int64     // guarded by mu: since the last report
	last  EventInfo // guarded by mu: of the last event that was lost
}

// News is an event, and what to close when it has been told, or lost.
type news struct {
	event Event
	told  chan struct{} // nil: nothing
}

func (n news) done() {
	if n.told != nil {
		close(n.told)
	}
}

func (h *herald) post(e Event, told chan struct{}) {
	n := news{e, told}
	if h.to == nil {
		n.done()
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queue = append(h.queue, n); len(h.queue) > kept {
		k := leastOf(len(h.queue), func(i int) Event { return h.queue[i].event })
		h.lost, h.last = h.lost+1, h.queue[k].event.Info()
		h.queue[k].done()
		h.queue = slices.Delete(h.queue, k, k+1)
	}
	if !h.busy {
		h.busy = true
		// Owner: the herald. Ends when the queue is empty. Nobody waits for it: a listener may take as long as it likes.
		go h.tell()
	}
}

func (h *herald) tell() {
	silent := false
	defer func() {
		if silent {
			return
		}
		// Owner: the herald. Ends when the queue is empty. Nobody waits for it, as in post. The listener has ended the
		// goroutine that this one goes on for.
		go h.tell()
	}()
	pprof.SetGoroutineLabels(context.Background()) // not those of the run that happened to start it
	for n := h.next(); n.event != nil; n = h.next() {
		h.call(n)
	}
	silent = true
}

// next returns what is to be told now: first of all, what was lost. It returns no event when there is none, and then
// nobody is telling any more.
func (h *herald) next() (n news) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.lost > 0:
		n.event = EventsLost{h.last, h.lost}
		h.lost = 0
	case len(h.queue) > 0:
		n = h.queue[0]
		h.queue = h.queue[1:]
	default:
		h.queue, h.busy = nil, false
	}
	return n
}

// call shields the rest from a listener that panics, or ends its goroutine: the event counts as lost.
func (h *herald) call(n news) {
	heard := false
	defer func() {
		n.done()
		if heard {
			return
		}
		_ = recover()
		if _, again := n.event.(EventsLost); again {
			return // a listener that cannot even be told that
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lost, h.last = h.lost+1, n.event.Info()
	}()
	h.to(n.event)
	heard = true
}
