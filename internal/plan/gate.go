package plan

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Feed is the worker of a source. It belongs to the stage, not to an incarnation: after a failure Run continues
// behind the last item that the gate has accepted.
type Feed interface {
	// Bind gives the feed its gate and memory. It is called once, by the stage actor.
	Bind(g *Gate)
	// Start has the feed begin behind the first index items of an epoch. It is called before Run, if at all.
	Start(epoch int, index int64)
	// Run runs user code, in the worker: it fills the gate until the source or the gate ends. It may panic.
	Run(ctx context.Context)
	// Take makes a chunk of the n items from position from on. It is called by the stage actor.
	Take(from uint64, n int) Chunk
}

// A Mark is something that happens between two items of a source.
type Mark struct {
	At    uint64 // before the item at this position of the ring
	Err   error  // a failed item, which has an index but no place
	Fatal bool   // Err is that of the source, not of an item
	Epoch bool   // the epoch ends
	Ends  bool   // the source ends
}

// maxMarks bounds the marks that wait: a source of nothing but failures must not run ahead either.
const maxMarks = 16

// What the worker must look at, in one word: 0 is the usual case.
const (
	hungry   uint32 = 1 << iota // the actor has credit and found nothing
	skipping                    // an epoch is to end
	draining                    // the source is to end
	shut                        // nothing is accepted any more
)

// A Gate is the untyped half of a source's ring: one writer (the source's worker), one reader (its stage actor). Per
// item the writer pays one atomic store and one load; it parks only when the limit is reached.
type Gate struct {
	tail    atomic.Uint64 // positions filled; written by the worker
	_       [56]byte      // the two sides write different cache lines
	limit   atomic.Uint64 // positions that may be filled; written by the actor
	flags   atomic.Uint32
	waiting atomic.Bool  // the worker is parked, or about to
	marked  atomic.Int32 // marks that wait
	made    atomic.Int64 // marks ever made
	skip    atomic.Int64 // epochs below this are not wanted
	wake    chan struct{}
	poke    func()

	// Aside is called with what waits for room, and calls it: for every item. nil: it is called as it is, when there may be no room.
	// It is set before the worker begins.
	Aside func(wait func())

	mu    sync.Mutex
	marks []Mark // guarded by mu
}

// NewGate returns a gate that lets nothing in before Limit is called. poke tells the actor to look again; it must not
// block.
func NewGate(poke func()) *Gate {
	g := &Gate{wake: make(chan struct{}, 1), poke: poke}
	g.flags.Store(hungry)
	return g
}

// Tail returns the next position to be filled, for the worker.
func (g *Gate) Tail() uint64 { return g.tail.Load() }

// Passed returns how far the worker has come, in items and marks.
func (g *Gate) Passed() int64 { return int64(g.tail.Load()) + g.made.Load() }

// Put publishes the item at position t, which is written. It returns false when the source should end.
//
// HOT PATH: it is called for every item.
func (g *Gate) Put(t uint64) bool {
	g.tail.Store(t + 1)
	return g.flags.Load() == 0 || g.notify() // so short that it is inlined
}

// notify pokes a hungry actor, and reports whether the source is still wanted.
func (g *Gate) notify() bool {
	f := g.flags.And(^hungry)
	if f&hungry != 0 {
		g.poke()
	}
	return f&^hungry == 0
}

// Room blocks until position t may be filled and returns the limit. It returns 0 when it never will be.
func (g *Gate) Room(t uint64) uint64 {
	if g.Aside != nil {
		return g.roomAside(t)
	}
	return g.room(t)
}

// roomAside is a function of its own because what it captures is on the heap.
func (g *Gate) roomAside(t uint64) (limit uint64) {
	g.Aside(func() { limit = min(g.room(t), t+1) })
	return limit
}

func (g *Gate) room(t uint64) uint64 {
	return g.await(func() uint64 {
		if l := g.limit.Load(); l > t {
			return l
		}
		return 0
	})
}

// Mark publishes m, at the tail. It blocks while many marks wait, and returns false when the source should end.
func (g *Gate) Mark(m Mark) bool {
	if g.await(func() uint64 { return uint64(max(maxMarks-g.marked.Load(), 0)) }) == 0 {
		return false
	}
	m.At = g.tail.Load()
	g.mu.Lock()
	g.marks = append(g.marks, m)
	g.mu.Unlock()
	g.made.Add(1)
	g.marked.Add(1)
	return g.notify()
}

// await parks the worker until ready returns something, or the gate is shut.
func (g *Gate) await(ready func() uint64) uint64 {
	for {
		if g.flags.Load()&shut != 0 {
			return 0
		}
		if n := ready(); n > 0 {
			return n
		}
		g.waiting.Store(true)
		if ready() > 0 || g.flags.Load()&shut != 0 { // looked again after saying so: nothing is missed
			g.waiting.Store(false)
			continue
		}
		<-g.wake
	}
}

// Ready returns the position after the last item from head on that can be taken before the next mark, and that mark
// if it comes next. With neither, the next Put or Mark pokes.
func (g *Gate) Ready(head uint64) (to uint64, m *Mark) {
	if to, m = g.look(head); to == head && m == nil {
		g.flags.Or(hungry)
		if to, m = g.look(head); to > head || m != nil {
			g.flags.And(^hungry)
		}
	}
	return to, m
}

func (g *Gate) look(head uint64) (uint64, *Mark) {
	to := g.tail.Load() // before the marks: a mark that this tail has passed is seen
	if g.marked.Load() == 0 {
		return to, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.marks[0]
	if m.At > head {
		return min(to, m.At), nil
	}
	return head, &m
}

// Pass removes the mark that Ready returned.
func (g *Gate) Pass() {
	g.mu.Lock()
	g.marks[0].Err = nil
	g.marks = g.marks[1:]
	g.mu.Unlock()
	g.marked.Add(-1)
	g.resume()
}

// Sated says that the actor has no credit: nothing is to be poked for.
func (g *Gate) Sated() { g.flags.And(^hungry) }

// Limit lets the worker fill the positions below n.
func (g *Gate) Limit(n uint64) {
	g.limit.Store(n)
	g.resume()
}

func (g *Gate) resume() {
	if g.waiting.Load() && g.waiting.CompareAndSwap(true, false) {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
}

// Skip asks the worker to end epoch n, if it is still at it, and to go on to the next one.
func (g *Gate) Skip(n int) {
	g.skip.Store(int64(n) + 1)
	g.flags.Or(skipping)
}

// Stay is asked by the worker when Put or Mark has told it to end: it reports whether the iterator should go on after
// all, because only an epoch before epoch was meant, and whether only this epoch should end.
func (g *Gate) Stay(epoch int) (on, skip bool) {
	if g.flags.And(^skipping)&(draining|shut) != 0 {
		return false, false
	}
	skip = g.skip.Load() > int64(epoch)
	return !skip, skip
}

// Drain asks the worker to end. What it has in hand is still accepted.
func (g *Gate) Drain() {
	g.flags.Or(draining)
}

// Shut ends the gate: nothing more is accepted. It may be called by anybody.
func (g *Gate) Shut() {
	g.flags.Or(shut)
	g.resume()
}

// Open reports whether the source is still wanted.
func (g *Gate) Open() bool { return g.flags.Load()&(draining|shut) == 0 }
