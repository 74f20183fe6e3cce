package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/weirflow/weir/stages"
)

// Hooks around all items of a random graph, of which the reference knows what they do.

var errDropped = errors.New("dropped")

// A verdict is what the hooks make of an item at a stage.
type verdict int

const (
	passed verdict = iota
	refused
	refusedBehind // its function
	droppedBefore
	droppedBehind
	pardoned // it counts as filtered if its function returns an error
)

// verdict depends on the item and the stage only.
func (g *graph) verdict(i int, p parcel) verdict {
	v := &g.vertices[i]
	if !oneOf(g.hooked, v.salt+30, p) {
		return passed
	}
	d := verdict(1 + hash(v.salt+31, p)%5)
	if v.kind == "tee" || v.kind == "unpack" { // an item that fails there fails the run
		switch d {
		case refused:
			d = droppedBefore
		case refusedBehind:
			d = droppedBehind
		}
	}
	if v.kind == "sink" || v.kind == "streaming" { // what the function has done is not undone
		switch d {
		case refusedBehind:
			return refused
		case droppedBehind:
			return droppedBefore
		}
	}
	return d
}

// hooks are those of a plant.
type hooks struct {
	*plant
	vertices        map[string]int // by name
	entered, exited atomic.Int64   // items, in the outer one
	inside, left    atomic.Int64   // in the inner one
	first           []atomic.Int64 // attempts, by vertex
	died            atomic.Bool
}

func newHooks(p *plant) *hooks {
	h := &hooks{plant: p, vertices: map[string]int{}, first: make([]atomic.Int64, len(p.graph.vertices))}
	for i := range p.graph.vertices {
		h.vertices[p.graph.name(i)] = i
	}
	return h
}

// add puts two hooks around everything: the outer one counts and pardons, the inner one refuses and dies.
func (h *hooks) add(g *stages.Graph) {
	g.Hook(stages.Hook{ItemEnter: h.enterOuter, ItemExit: h.exitOuter})
	g.Hook(stages.Hook{ItemEnter: h.enterInner, ItemExit: h.exitInner})
}

// of returns the vertex and the item, if it is one that the reference has.
func (h *hooks) of(it stages.Item) (i int, p parcel, ok bool) {
	i, known := h.vertices[it.Stage]
	p, ok = stages.Value[parcel](it)
	return i, p, known && ok
}

func (h *hooks) enterOuter(_ context.Context, it stages.Item) error {
	h.entered.Add(1)
	if i, _, ok := h.of(it); ok && it.Attempt == 1 {
		h.first[i].Add(1)
	}
	return nil
}

func (h *hooks) exitOuter(_ context.Context, it stages.Item, err error) error {
	h.exited.Add(1)
	i, p, ok := h.of(it)
	if errors.Is(err, errDropped) || err != nil && ok && h.graph.verdict(i, p) == pardoned {
		return nil
	}
	return err
}

func (h *hooks) enterInner(_ context.Context, it stages.Item) error {
	i, p, ok := h.of(it)
	if ok {
		switch h.graph.verdict(i, p) {
		case refused:
			return errBad
		case droppedBefore:
			return errDropped
		}
		h.dieOnce(it, p, 0)
	}
	h.inside.Add(1)
	return nil
}

func (h *hooks) exitInner(_ context.Context, it stages.Item, err error) error {
	h.left.Add(1)
	i, p, ok := h.of(it)
	if !ok || err != nil {
		return err
	}
	switch h.graph.verdict(i, p) {
	case refusedBehind:
		return errBad
	case droppedBehind:
		return errDropped
	}
	if h.graph.vertices[i].kind != "sink" {
		h.dieOnce(it, p, 1)
	}
	return nil
}

// dieOnce dies once in a run, at the first attempt of an item, in one of two places.
func (h *hooks) dieOnce(it stages.Item, p parcel, place uint64) {
	seed := h.graph.seed
	if it.Attempt > 1 || hash(seed, p)%(10+seed%200) != place || !h.died.CompareAndSwap(false, true) {
		return
	}
	if seed%3 == 0 {
		runtime.Goexit()
	}
	panic("hook")
}

// check wants that what was entered was left, and that each item has had one first attempt.
func (h *hooks) check(want *outcome) (errs []error) {
	if e, x := h.entered.Load(), h.exited.Load(); e != x {
		errs = append(errs, fmt.Errorf("hooks: %d items entered, %d left", e, x))
	}
	if e, x := h.inside.Load(), h.left.Load(); e != x {
		errs = append(errs, fmt.Errorf("hooks: %d items entered within the first hook, %d left", e, x))
	}
	for i := range h.graph.vertices {
		v := &h.graph.vertices[i]
		if v.kind == "source" || v.isMerge() || want.shortcut[i] || v.holds() || v.kind == "pairs" || v.kind == "pack" || v.kind == "rebatch" {
			continue // what is held is attempted again
		}
		if n := h.first[i].Load(); n != int64(want.in[i]) {
			errs = append(errs, fmt.Errorf("hooks: %s: %d first attempts, want %d", h.graph.name(i), n, want.in[i]))
		}
	}
	return errs
}
