package actors

import (
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// Half a waiting room should last about half a millisecond: between grantFast and grantSlow it stays as it is. It does not
// grow twice within growEvery: an empty pipeline fills fast, however slow its consumer will turn out to be.
const (
	grantFast = 500 * time.Microsecond
	grantSlow = 2 * time.Millisecond
	growEvery = 200 * time.Microsecond
)

// firstRoom is the waiting room before anything is known of the flow. How large it may become is said by plan.Window.
const firstRoom = 8

// A window is the consumer's side of the credit: how far the limit may be ahead of what has left.
//
// It follows the flow, not the service time: whatever limits the flow, this stage or something below it, the room
// holds about a millisecond of it. Windows by service time let a cheap stage in front of a slow one fill up.
type window struct {
	granted     uint64
	size        int
	base        int // of it: what is worked on, and what an aggregator may hold back; the rest is waiting room
	fixed       bool
	least, most int
	room        int           // largest waiting room, whatever the size of items
	last, grown time.Duration // when it was granted, and when it grew
	clock       func() time.Duration
}

func newWindow(of plan.Window, clock func() time.Duration) window {
	w := window{base: of.Base, room: of.Room, most: of.Most(), size: of.Most(), fixed: !of.Flows, clock: clock}
	w.least = min(w.base+1, w.most)
	if of.Flows {
		w.size = min(w.base+firstRoom, w.most)
	}
	w.granted = uint64(w.size)
	return w
}

// next returns the limit to grant when left places have left, and false if it is not yet time: limits move by half
// waiting rooms. (By half windows, workers would run dry behind a small room, and an aggregator would wait for ever for
// the item that completes its output.) There is one look at the clock per grant.
func (w *window) next(left uint64) (uint64, bool) {
	limit := left + uint64(w.size)
	if limit <= w.granted || (limit-w.granted)*2 < uint64(w.size-w.base) {
		return 0, false
	}
	if !w.fixed {
		now := w.clock()
		switch d := now - w.last; {
		case d < grantFast && now-w.grown >= growEvery:
			w.size, w.grown = min(2*w.size, w.most), now
		case d > grantSlow:
			w.size = max(w.size/2, w.least)
		}
		w.last = now
		if limit = left + uint64(w.size); limit <= w.granted {
			return 0, false
		}
	}
	w.granted = limit
	return limit, true
}

// patientRoom is the waiting room that a stage has at least when one of its items waits for another attempt.
const patientRoom = 64

// widen gives a room that follows the flow patientRoom places: the stage stands still, and not because it is slow. It does
// not give more, because items of an unknown size may be large.
func (w *window) widen() {
	if !w.fixed {
		w.size = max(w.size, min(w.base+patientRoom, w.most))
	}
}

// weigh bounds a room that follows the flow to plan.RoomBytes, given the size of some items that came.
func (w *window) weigh(bytes int64, items int) {
	if w.fixed || bytes == 0 {
		return
	}
	room := int(min(plan.RoomBytes*int64(items)/bytes, int64(w.room)))
	w.most = max(w.least, w.base+room)
	w.size = min(w.size, w.most)
}
