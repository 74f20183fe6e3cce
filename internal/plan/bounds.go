package plan

import (
	"math"
	"reflect"
)

// How much can be where. The runtime takes the sizes of its windows from these functions, and the description of a graph
// adds them up, so that what is printed is what holds.

// LargestRoom is the most places of a waiting room that follows the flow.
const LargestRoom = 1024

// RoomBytes is what such a room is kept under, where the size of items is known.
const RoomBytes = 32 << 20

// littleRoom is the largest waiting room, behind a stage with a smaller Buffer, of what has none of its own: such a
// pipeline is meant to hold little.
const littleRoom = 8

// ringBytes is about how much memory a ring takes; wide items get fewer places.
const ringBytes = 64 << 10

// PartItems is the most outputs that a Streaming stage hands on in one part.
const PartItems = 512

// MaxAttempts is how often an item is tried that costs its worker.
const MaxAttempts = 3

// MaxInARow is how many workers may be replaced in a row without one item finished in between: then the stage is at
// fault, not the items, whatever the policy says.
const MaxInARow = 10

// Unlimited is a number that nothing bounds. Countless is one that is too large to count.
const (
	Unlimited = -1
	Countless = math.MaxInt64
)

// A Window is what may be in one place at once: the credit that is granted for it.
type Window struct {
	Base  int  // of it: what is worked on, and what may be held back
	Room  int  // the most that may wait besides
	Flows bool // the room follows the flow, and need not be as large
}

// Most is all of it.
func (w Window) Most() int { return w.Base + w.Room }

// InputWindow is for input k of stage s: items on their way to it, waiting, worked on, held back, or done but not handed
// on.
func (g *Graph) InputWindow(s *Stage, k int) Window {
	if s.Mix != nil {
		return g.Stages[s.In[k].Stage].windowBehind()
	}
	return s.Window()
}

// Window is InputWindow for stages with one input.
func (s *Stage) Window() Window {
	if s.Buffer == Flow {
		return Window{s.Mailbox + s.MaxHeld, s.mostRoom(), true}
	}
	return Window{s.Mailbox + s.MaxHeld, s.Buffer, false}
}

// OutletWindow is for the outlet: items on their way to the consumer, waiting, or in its hands.
func (g *Graph) OutletWindow() Window { return g.Stages[g.Outlet.Stage].windowBehind() }

// windowBehind is that of an outlet, or an input of a merge, behind the stage.
func (s *Stage) windowBehind() Window { return Window{1, s.RoomBehind(), true} }

// RingWindow is for what a source has in its ring, which is all waiting room.
func (s *Stage) RingWindow() Window { return Window{0, s.Ring(), s.Buffer == Flow} }

// RoomBehind is the most places of the waiting room behind the stage of what has no Buffer of its own: an outlet, an
// input of a merge, a tee, an unbatch. It goes on behind those: behind a merge, it is the largest of its inputs'.
func (s *Stage) RoomBehind() int {
	if s.Buffer == Flow {
		return s.mostRoom()
	}
	return min(max(littleRoom, s.Buffer), LargestRoom)
}

// mostRoom is the most places of a room of the stage that follows the flow.
func (s *Stage) mostRoom() int {
	if s.MaxRoom > 0 {
		return s.MaxRoom
	}
	return LargestRoom
}

// RingSize is the number of places that a source's ring is made with, a power of two.
func (s *Stage) RingSize() int {
	most := LargestRoom
	if s.Buffer != Flow {
		most = max(s.Buffer+1, 1)
	}
	size, width := 1, int(s.Item.Size())
	for size < most && (s.Buffer != Flow || size < 16 || size*2*width <= ringBytes) {
		size *= 2
	}
	return size
}

// Ring is how many places of it may be filled: one for the item that leaves next, the rest is waiting room. What the
// iterator has not handed over yet is not in it.
func (s *Stage) Ring() int {
	if s.Buffer == Flow {
		return s.RingSize()
	}
	return s.Buffer + 1
}

// Results is how many outputs of one input may wait to be handed on, or Unlimited. The input has its place until the
// last of them has left.
func (s *Stage) Results() int {
	switch {
	case s.Feed != nil, s.Mix != nil:
		return 1 // the item itself
	case s.Outs == 0:
		return 0
	case s.Streaming:
		// A part of each attempt, and what has come since: whoever emits more waits until the part has left.
		return (s.Retry.Most() + 1) * PartItems
	case s.MaxOutputs < 0:
		return Unlimited
	case s.Outs > 1:
		return min(s.MaxOutputs, s.Outs)
	}
	return s.MaxOutputs
}

// Bounds are the most that a graph can hold, by construction: whatever its functions do and however long its consumer
// waits.
type Bounds struct {
	Stages []Held
	Outlet Held

	Items    int64 // at all stages and the outlet, results included that are limited
	Sourced  int64 // items of the sources that are in flight: what the statistics count
	Bytes    int64 // of Items, where the size of items is fixed
	Limited  bool  // false: somewhere the results of one input are not limited
	Measured bool  // false: somewhere the size of items is not fixed
}

// Held is the most that a stage can hold.
type Held struct {
	Items   int64 // of its inputs, with those on their way to it; of a source, in its ring
	Results int64 // that wait to be handed on besides; 0 if each stands in its input's place; or Unlimited
	Weight  int64 // items of the sources that one of Items may stand for
	Bytes   int64 // of Items and Results; Unlimited if the size of either is not fixed
}

// Bounds computes the bounds.
//
// Each item is counted where it is, or is on its way to. An input and what became of it count as one until the results
// have left, if an input has at most one. The consumer counts as a stage. An item that has gone into several branches
// counts in each of them, also in Sourced: the one may hold others than the other.
func (g *Graph) Bounds() Bounds {
	b := Bounds{Limited: true, Measured: true}
	weight := make([]int64, len(g.Stages)) // of what a stage hands on
	for i, s := range g.Stages {
		h := g.held(s, weight)
		if weight[i] = h.Weight; s.Holds {
			weight[i] = times(h.Weight, int64(s.MaxHeld)) // an output may be made of so many
		}
		b.Stages = append(b.Stages, h)
		b.count(h)
	}
	last := g.Stages[g.Outlet.Stage]
	b.Outlet = Held{Items: int64(g.OutletWindow().Most()), Weight: weight[last.Index]}
	b.Outlet.Bytes = times(b.Outlet.Items, width(last.Item))
	b.count(b.Outlet)
	return b
}

func (g *Graph) held(s *Stage, weight []int64) Held {
	if s.Feed != nil {
		return Held{Items: int64(s.Ring()), Weight: 1, Bytes: times(int64(s.RingSize()), width(s.Item))}
	}
	h := Held{}
	var item reflect.Type
	for k, p := range s.In {
		h.Items = plus(h.Items, int64(g.InputWindow(s, k).Most()))
		h.Weight, item = max(h.Weight, weight[p.Stage]), g.Stages[p.Stage].Item
	}
	results := int64(s.Results())
	if h.Results = times(h.Items, results); results == 1 {
		h.Results = 0
	}
	h.Bytes = times(h.Items, width(item))
	if results != 0 { // an input and its results are in memory at the same time
		h.Bytes = plus(h.Bytes, times(times(h.Items, results), width(s.Item)))
	}
	return h
}

// count adds to the totals.
func (b *Bounds) count(h Held) {
	b.Items = plus(b.Items, h.Items)
	b.Sourced = plus(b.Sourced, times(h.Items, h.Weight))
	if h.Results == Unlimited {
		b.Limited = false
	} else {
		b.Items = plus(b.Items, h.Results)
	}
	if h.Bytes == Unlimited {
		b.Measured = false
	} else {
		b.Bytes = plus(b.Bytes, h.Bytes)
	}
}

// width is the size of values of t, or Unlimited if there is more behind them than their size says.
func width(t reflect.Type) int64 {
	if !Flat(t) {
		return Unlimited
	}
	return int64(t.Size())
}

// times is a product of what may be Unlimited or Countless.
func times(a, b int64) int64 {
	switch {
	case a < 0 || b < 0:
		return Unlimited
	case a > 0 && b > Countless/a:
		return Countless
	}
	return a * b
}

// plus is a sum of what may be Unlimited or Countless.
func plus(a, b int64) int64 {
	switch {
	case a < 0 || b < 0:
		return Unlimited
	case b > Countless-a:
		return Countless
	}
	return a + b
}
