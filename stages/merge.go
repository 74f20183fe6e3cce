package stages

import (
	"context"
	"fmt"
	"math"
	"reflect"

	"github.com/weirflow/weir/internal/plan"
)

// Merge makes one stream of several. Within one input, order is kept. An epoch ends when every input has ended it,
// unless mix says otherwise; an input that is ahead waits. There must be at least one input, all of one graph. Items
// keep their identities.
//
// A merge has no options and no function: nothing in it can fail.
func Merge[T any](name string, mix Mix, ins ...Stream[T]) Stream[T] {
	d := newDraft(name, "merge", reflect.TypeFor[T]())
	if mix == nil {
		d.refuse("its mix is nil, want one like Arrival{}")
		mix = Arrival{}
	}
	mix.mix(d, len(ins))
	return merge(d, ins)
}

// MergeFunc merges by value, as in a merge of sorted streams: it waits until every input that has not ended its epoch
// offers an item, and takes it from the one whose index pick returns. Heads of inputs that have ended their epoch are
// nil; at least one is not. Inputs must not depend on each other: see [RoundRobin]. pick must depend on its argument only,
// and not keep it. An index of no input, or of one that has ended, fails the run. A panic costs the worker that calls it, which is
// replaced as one of a stage is by default: see Restart.
func MergeFunc[T any](name string, pick func(heads []*T) int, ins ...Stream[T]) Stream[T] {
	d := newDraft(name, "merge", reflect.TypeFor[T]())
	if pick == nil {
		d.refuse("its function is nil")
	}
	d.Mix = &plan.Mix{How: plan.ByValue, Open: func() plan.Chooser { return &chooser[T]{pick: pick} }}
	return merge(d, ins)
}

func merge[T any](d *draft, ins []Stream[T]) Stream[T] {
	if len(ins) == 0 {
		panic(undefined(d.Name, "a merge of nothing: it has no inputs"))
	}
	g := behind(ins[0], d.Name)
	g.mixLetters(d.Mix)
	var ports []plan.Port
	for i, in := range ins {
		if behind(in, d.Name) != g {
			d.refuse("input %d is a stream of another graph, %q", i, in.g.name)
			continue
		}
		ports = append(ports, in.port)
	}
	d.Stage.Ordered, d.modest = true, true
	d.Pool = plan.NewPool[T]()
	return Stream[T]{g, g.add(d, ports...)}
}

// A Mix says which input of a Merge gives the next item: Arrival, RoundRobin, Weighted or InputOrder. It is sealed;
// MergeFunc is the door for others.
type Mix interface{ mix(d *draft, inputs int) }

// Arrival takes items as they come. It is fair: an input that always has something cannot starve the others.
type Arrival struct{}

// RoundRobin takes one item from each input in turn, waiting for it, and passes over inputs that have ended their epoch;
// each epoch begins with the first input. Its inputs must not depend on each other: branches of one Route, of which it
// waits for the one while the other fills up, would bring everything to a standstill. That is a *DefinitionError.
type RoundRobin struct{}

// InputOrder restores the order that the items had where the inputs parted: in a Route, Tee, Fork or RouteBatch that all
// of them come from (a *DefinitionError otherwise). If several inputs have the same item (Tee, Fork), the one from the
// earlier input comes first, and outputs by one input stay together. A batch, or what an aggregate emits, takes the place of
// the item that completed it; what is flushed at the end of an epoch comes last. Stages between the two are Ordered without
// saying so, and may not be Unordered, nor merge in another way.
type InputOrder struct{}

// Weighted draws from the inputs at random, in proportion to their weights, in an order that follows from Seed and
// epoch alone. When an input has ended, the others share its weight. Like RoundRobin, it waits for the input that is
// drawn, so its inputs must not depend on each other.
type Weighted struct {
	Weights []float64 // one per input, each greater than 0; any scale
	Seed    uint64
	// EpochItems makes an epoch of exactly so many items, whatever the inputs' own epochs are, which must then be
	// endless ([Forever]). 0 leaves the epochs as they are: one ends when every input has been through its set once, and a
	// batch behind the merge is cut there, however small it is.
	EpochItems int64
	// UntilFirstEnd ends the epoch with the first input that ends, so that the proportions hold to the last item. What
	// the others have left of theirs counts as filtered. It does not go with EpochItems.
	UntilFirstEnd bool
}

func (Arrival) mix(d *draft, _ int)    { d.Mix = &plan.Mix{How: plan.Arrival} }
func (RoundRobin) mix(d *draft, _ int) { d.Mix = &plan.Mix{How: plan.RoundRobin} }
func (InputOrder) mix(d *draft, _ int) { d.Mix = &plan.Mix{How: plan.InputOrder} }

func (w Weighted) mix(d *draft, inputs int) {
	d.Mix = &plan.Mix{How: plan.Weighted, Weights: append([]float64(nil), w.Weights...), Seed: w.Seed, EpochItems: w.EpochItems, UntilFirstEnd: w.UntilFirstEnd}
	if len(w.Weights) != inputs {
		d.refuse("%d weights for %d inputs", len(w.Weights), inputs)
	}
	sum := 0.0
	for i, x := range w.Weights {
		if !(x > 0) || math.IsInf(x, 0) {
			d.refuse("weight %d is %v, want a number greater than 0", i, x)
		}
		sum += x
	}
	if math.IsInf(sum, 0) {
		d.refuse("the weights' sum is too large")
	}
	switch {
	case w.EpochItems < 0:
		d.refuse("epochs of %d items, want at least 1, or 0 for those of the inputs", w.EpochItems)
	case w.EpochItems > 0 && w.UntilFirstEnd:
		d.refuse("EpochItems and UntilFirstEnd exclude each other")
	}
}

// Rejoin makes whole batches of what became of the parts that RouteBatch made, elements where they were. The streams
// must be the n branches of one RouteBatch, in its order, each through any number of stages that turn one item into
// one (anything else is a *DefinitionError), and every part must come back with as many elements as it had (ErrRejoin
// fails the run otherwise). Elements of a part that failed or was filtered are missing in the batch; a batch of which
// nothing is left is filtered. Batches come out in the order in which they were split, with the identities that they
// had.
func Rejoin[T any](name string, branches ...Stream[[]T]) Stream[[]T] {
	d := newDraft(name, "rejoin", reflect.TypeFor[[]T]())
	d.Mix = &plan.Mix{How: plan.Rejoin, Join: joinParts[T], Stray: misfit("an item is no part of the batch, or comes twice")}
	return merge(d, branches)
}

// joinParts is Rejoin for one batch.
func joinParts[T any](out plan.Chunk, parts []plan.Part, to []int) (kept []int, branch int, err error) {
	var small [8]hand[T]
	hands := small[:0]
	n := 0
	for _, p := range parts {
		h := hand[T]{kept: p.Kept, missing: p.Chunk == nil}
		if p.Chunk != nil {
			h.part = p.Chunk.(*plan.Of[[]T]).Items[p.At]
			h.came = len(h.part)
			n += h.came
		}
		hands = append(hands, h)
	}
	whole := make([]T, 0, n)
	if n < len(to) {
		kept = make([]int, 0, n)
	}
	for e, b := range to {
		h := &hands[b]
		if !h.has() {
			continue
		}
		if len(h.part) == 0 {
			return nil, b, changed(b, parts[b], to, hands[b].came)
		}
		whole = append(whole, h.part[0])
		h.part = h.part[1:]
		if kept != nil {
			kept = append(kept, e)
		}
	}
	for b := range hands {
		if len(hands[b].part) > 0 {
			return nil, b, changed(b, parts[b], to, hands[b].came)
		}
	}
	o := out.(*plan.Of[[]T])
	o.Items = append(o.Items, whole)
	return kept, 0, nil
}

// changed says of the part of branch b, which has got elements, that it had another number of them.
func changed(b int, p plan.Part, to []int, got int) error {
	had := len(p.Kept)
	if p.Kept == nil {
		for _, at := range to {
			if at == b {
				had++
			}
		}
	}
	return misfit(fmt.Sprintf("the part of branch %d left with %d elements and came back with %d", b, had, got))
}

// A hand deals the elements of one part back.
type hand[T any] struct {
	part    []T
	kept    []int // which elements of the part are there; nil: all
	at      int   // the next one
	came    int   // elements that came back
	missing bool  // there is no part
}

// has reports whether the next element is there.
func (h *hand[T]) has() bool {
	at := h.at
	h.at++
	switch {
	case h.missing:
		return false
	case h.kept == nil:
		return true
	case len(h.kept) == 0 || h.kept[0] != at:
		return false
	}
	h.kept = h.kept[1:]
	return true
}

// A chooser runs the function of a MergeFunc.
type chooser[T any] struct {
	pick  func(heads []*T) int
	heads []*T
	items [][]T
}

func (c *chooser[T]) Choose(ctx context.Context, heads []plan.Chunk, at []int, max int, order *[]int) error {
	c.heads, c.items = c.heads[:0], c.items[:0]
	for i, h := range heads {
		var items []T
		var head *T
		if h != nil {
			items = h.(*plan.Of[T]).Items[at[i]:]
			head = &items[0]
		}
		c.heads, c.items = append(c.heads, head), append(c.items, items)
	}
	for len(*order) < max && ctx.Err() == nil {
		i := c.pick(c.heads)
		if uint(i) >= uint(len(c.heads)) || c.heads[i] == nil {
			return noInput(i, len(c.heads))
		}
		*order = append(*order, i)
		if c.items[i] = c.items[i][1:]; len(c.items[i]) == 0 {
			return nil
		}
		c.heads[i] = &c.items[i][0]
	}
	return nil
}
