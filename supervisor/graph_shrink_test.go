package supervisor_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
)

// lawful says what is wrong with a graph that the generator would not make, and that the reference has no answer for.
func lawful(g *graph) error {
	if err := build(sunk(g)).pipeline.Err(); err != nil {
		return err
	}
	settled := g.settled()
	for i := range g.vertices {
		v := &g.vertices[i]
		if !settled[i] && v.dependsOnOrder() {
			return fmt.Errorf("%s depends on an order that is not settled", g.name(i))
		}
		if k := v.kind; k == "rejoin" && g.parts(v.fork, i) {
			return fmt.Errorf("%s gets parts twice", g.name(i))
		}
		for _, s := range v.in {
			if g.vertices[s.vertex].kind == "thin" && v.kind != "unpack" && v.kind != "routebatch" {
				return fmt.Errorf("%s gets empty items, of which nobody knows the epoch", g.name(i))
			}
		}
	}
	if g.vertices[g.outlet.vertex].kind == "thin" {
		return errors.New("the consumer gets empty items, of which nobody knows the epoch")
	}
	return nil
}

// parts reports whether an item may come from a to b by two ways.
func (g *graph) parts(a, b int) bool {
	for _, k := range g.between(a, b) {
		if v := &g.vertices[k]; v.kind == "tee" || v.kind == "fork" && v.skew == 0 {
			return true
		}
	}
	return false
}

// sunk returns g with a sink for each output that nobody consumes.
func sunk(g *graph) *graph {
	g = g.clone()
	used := map[socket]bool{g.outlet: true}
	for _, v := range g.vertices {
		for _, s := range v.in {
			used[s] = true
		}
	}
	for i, n := 0, len(g.vertices); i < n; i++ {
		for o := range g.vertices[i].outs {
			if !used[socket{i, o}] {
				g.vertices = append(g.vertices, vertex{kind: "sink", in: []socket{{i, o}}, workers: 1, buffer: -1})
			}
		}
	}
	return g
}

// shrink makes a graph smaller as long as it still goes wrong, and returns it with what is wrong with it. What goes
// wrong now and then only is tried several times.
func shrink(t *testing.T, g *graph, err error) (*graph, error) {
	for range 40 {
		small, reason := smaller(t, g)
		if small == nil {
			break
		}
		g, err = small, reason
	}
	return g, err
}

func smaller(t *testing.T, g *graph) (*graph, error) {
	for _, change := range changes(g) {
		c := g.clone()
		if change(c); fmt.Sprint(c) == fmt.Sprint(g) || lawful(c) != nil {
			continue
		}
		for range 8 {
			if err := try(t, c); err != nil {
				return c, err
			}
		}
	}
	return nil, nil
}

// changes are the ways to make g smaller, the bolder ones first.
func changes(g *graph) (all []func(*graph)) {
	for i := range g.vertices {
		all = append(all, func(g *graph) { g.remove(i) })
	}
	for i := range g.vertices {
		if g.vertices[i].isMerge() {
			for k := range g.vertices[i].in {
				all = append(all, func(g *graph) { g.unplug(i, k) })
			}
		}
	}
	all = append(all, func(g *graph) { g.epochs = 1 }, func(g *graph) { g.loops, g.hooked = false, 0 }, func(g *graph) { g.loops = false }, func(g *graph) { g.hooked = 0 }, func(g *graph) { g.epochs = min(g.epochs, 2) })
	for i := range g.vertices {
		on := func(f func(v *vertex)) { all = append(all, func(g *graph) { f(&g.vertices[i]) }) }
		for e := range g.vertices[i].lens {
			on(func(v *vertex) { v.lens[e] = 0 })
			on(func(v *vertex) { v.lens[e] /= 2 })
			on(func(v *vertex) { v.lens[e] = max(v.lens[e]-1, 0) })
		}
		on(func(v *vertex) { v.dies, v.fails, v.poison, v.slow = 0, 0, 0, 0 })
		on(func(v *vertex) { v.workers, v.order = 1, 0 })
		on(func(v *vertex) { v.dies = 0 })
		on(func(v *vertex) { v.fails = 0 })
		on(func(v *vertex) { v.poison = 0 })
		on(func(v *vertex) { v.slow = 0 })
		on(func(v *vertex) { v.buffer = -1 })
		on(func(v *vertex) { v.order = 0 })
		on(func(v *vertex) { v.last, v.timeout, v.goexit = stages.KeepLast, false, false })
		on(func(v *vertex) { v.firstEnd = false })
		if g.vertices[i].holds() {
			on(func(v *vertex) { v.lets, v.turns, v.keep, v.maxHeld, v.groups = 0, 0, 0, 1024, 1024 })
			on(func(v *vertex) { v.lets, v.turns, v.keep = 0, 0, 0 })
			on(func(v *vertex) { v.maxHeld = 1024 })
			on(func(v *vertex) { v.groups = 1024 })
			on(func(v *vertex) { v.keys = 1 })
		}
		if k := g.vertices[i].kind; k != "source" && k != "map" && k != "sink" && g.vertices[i].outs == 1 && !g.vertices[i].isMerge() {
			on(func(v *vertex) { v.kind, v.size = "map", 0 })
		}
	}
	return all
}

// unplug takes an input from a merge.
func (g *graph) unplug(i, k int) {
	v := &g.vertices[i]
	if len(v.in) == 1 {
		return
	}
	v.in = slices.Delete(v.in, k, k+1)
	if v.weights != nil {
		v.weights = slices.Delete(v.weights, k, k+1)
	}
	g.tidy()
}

// remove takes a vertex out: what consumed its first output gets its first input, and what consumed the others is
// removed as well.
func (g *graph) remove(i int) {
	const none = -2
	gone := map[socket]socket{}
	v := &g.vertices[i]
	for o := range v.outs {
		gone[socket{i, o}] = socket{none, 0}
		if o == 0 && len(v.in) > 0 {
			gone[socket{i, o}] = v.in[0]
		}
	}
	v.kind, v.in, v.outs = "", nil, 0
	for k := range g.vertices {
		w := &g.vertices[k]
		for n := 0; n < len(w.in); n++ {
			to, is := gone[w.in[n]]
			if !is {
				continue
			}
			if w.in[n] = to; to.vertex != none {
				continue
			}
			w.in = slices.Delete(w.in, n, n+1)
			if w.weights != nil {
				w.weights = slices.Delete(w.weights, n, n+1)
			}
			if n--; len(w.in) > 0 {
				continue
			}
			for o := range w.outs {
				gone[socket{k, o}] = socket{none, 0}
			}
			w.kind, w.outs = "", 0
		}
	}
	if to, is := gone[g.outlet]; is {
		g.outlet = to
	}
	if g.outlet.vertex == none { // whatever is left
		for k := range g.vertices {
			if g.vertices[k].outs > 0 {
				g.outlet = socket{k, 0}
			}
		}
	}
	g.tidy()
}

// tidy numbers what is left, drops forks of one and merges of one where that is the same, and sinks what is loose.
func (g *graph) tidy() {
	at := make([]int, len(g.vertices))
	var left []vertex
	for i, v := range g.vertices {
		at[i] = len(left)
		if v.kind != "" {
			left = append(left, v)
		}
	}
	for i := range left {
		for k, s := range left[i].in {
			left[i].in[k].vertex = at[s.vertex]
		}
		if left[i].kind == "rejoin" {
			if left[i].fork = at[left[i].fork]; left[i].fork < len(left) && left[left[i].fork].kind != "routebatch" {
				left[i].kind = "merge"
				left[i].how = "arrival"
			}
		}
	}
	if g.outlet.vertex < 0 { // there is nothing left
		g.vertices = nil
		g.outlet = socket{}
		return
	}
	g.vertices, g.outlet.vertex = left, at[g.outlet.vertex]
	*g = *sunk(g)
}
