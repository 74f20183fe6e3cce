package supervisor_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/weirflow/weir/stages"
)

// Random graphs of all kinds, with nested forks and joins and several sources, in which items die at their first attempt
// or fail for good, give what the same graph gives when it is worked off by hand. A graph that does not is told after it
// has been made as small as it goes.
func TestRandomGraphsGiveWhatTheReferenceGives(t *testing.T) {
	seeds := 500
	if testing.Short() {
		seeds = 50
	}
	var shrunk atomic.Int32
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := randomGraph(uint64(seed))
			err := try(t, g)
			if err == nil {
				return
			}
			t.Errorf("%v\nin\n%v", err, g)
			if shrunk.Add(1) <= 3 { // it takes its time
				small, err := shrink(t, g, err)
				t.Errorf("seed %d, made smaller: %v\nin\n%v", seed, err, small)
			}
		})
	}
}

// mostWork keeps graphs small enough for many of them.
const mostWork = 10000

// randomGraph is the same for the same seed.
func randomGraph(seed uint64) *graph {
	r := rand.New(rand.NewPCG(seed, 7))
	hooked := r.Uint64N(2) * (8 + r.Uint64N(40))
	for {
		n := &nursery{r: r, budget: 3 + r.IntN(10), g: &graph{seed: seed, epochs: 1 + r.IntN(3), bubble: r.IntN(2) == 0, loops: r.IntN(2) == 0, hooked: hooked}}
		n.grow()
		n.tame()
		if o := workOff(n.g); o.work < mostWork && lawful(n.g) == nil {
			n.detoxify(o)
			return n.g
		}
	}
}

// A nursery is a graph that grows.
type nursery struct {
	r      *rand.Rand
	g      *graph
	budget int // of vertices; forks and merges are paid for together
	loose  []socket
}

// A region is a part of a graph that a join below makes demands on.
type region struct {
	ordered bool // it restores an order
	whole   bool // it wants each item back, at most once
}

func (n *nursery) add(v vertex) socket {
	n.budget--
	v.salt = n.r.Uint64()
	v.outs = map[bool]int{true: 1, false: v.outs}[v.outs == 0 && v.kind != "sink"]
	v.workers = max(v.workers, 1)
	if v.buffer == 0 && n.r.IntN(3) > 0 {
		v.buffer = -1
	} else if v.buffer == 0 {
		v.buffer = n.r.IntN(5)
	}
	n.g.vertices = append(n.g.vertices, v)
	return socket{len(n.g.vertices) - 1, 0}
}

// works gives a stage that runs a function its options.
func (n *nursery) works(v vertex, where region) vertex {
	r := n.r
	v.workers = 1 + max(r.IntN(6)-2, 0)
	v.order = stages.Order(r.IntN(3))
	if where.ordered && v.order == stages.Unordered && v.workers > 1 {
		v.order = 0
	}
	v.timeout = v.kind != "streaming" && r.IntN(10) == 0
	v.goexit = r.IntN(3) == 0
	if r.IntN(3) == 0 {
		v.dies = 4 + r.Uint64N(30)
	}
	if r.IntN(3) == 0 && v.kind != "streaming" { // what streamed ahead of a failure stays out
		v.fails = 3 + r.Uint64N(25)
	}
	if r.IntN(8) == 0 && v.kind != "streaming" {
		v.poison = 20 + r.Uint64N(40)
	}
	if r.IntN(3) == 0 {
		v.slow = 2 + r.Uint64N(10)
	}
	return v
}

// grow makes sources, and brings what comes of them together.
func (n *nursery) grow() {
	r := n.r
	var open []socket
	for range max(1, r.IntN(5)-1) {
		open = append(open, n.segment(n.source(), region{}, 0))
	}
	if len(n.loose) > 1 && r.IntN(2) == 0 { // what else comes of different sources may meet before
		ins := n.loose
		n.loose = nil
		n.loose = append(n.loose, n.gather(ins, "arrival", "arrival", "roundrobin", "weighted"))
	}
	for len(open) > 1 {
		k := 2 + r.IntN(len(open)-1)
		ins := open[:k:k]
		open = open[k:]
		if r.IntN(6) == 0 {
			n.sink(ins[0])
			open = append(open, ins[1:]...)
			continue
		}
		open = append(open, n.gather(ins, "arrival", "roundrobin", "weighted", "byvalue"))
	}
	last := open[0]
	for len(n.loose) > 0 && r.IntN(4) > 0 { // some of them at a time
		k := 1 + r.IntN(len(n.loose))
		ins := append([]socket(nil), n.loose[:k]...)
		n.loose = n.loose[k:]
		if k > 1 && r.IntN(2) == 0 {
			n.loose = append(n.loose, n.gather(ins, "inputorder", "inputorder", "roundrobin", "byvalue"))
		} else {
			last = n.gather(append(ins, last), "inputorder", "inputorder", "weighted", "byvalue")
		}
	}
	for _, s := range n.loose {
		n.sink(s)
	}
	for n.loose = nil; n.budget > 1 && r.IntN(10) > 0; {
		last = n.segment(last, region{}, 0)
	}
	for _, s := range n.loose {
		n.sink(s)
	}
	n.g.outlet = last
}

// gather brings together what has been left open anywhere: in the order of the place where it parted, if there is one, or
// in turns, if that cannot stand still.
func (n *nursery) gather(ins []socket, hows ...string) socket {
	out := n.merge(vertex{kind: "merge", how: hows[n.r.IntN(len(hows))]}, ins)
	n.g.outlet = out
	v := &n.g.vertices[out.vertex]
	if lawful(n.g) != nil {
		v.firstEnd = false
	}
	if lawful(n.g) != nil {
		v.how, v.weights, v.firstEnd, v.dies = "arrival", nil, false, 0
	}
	return n.segment(out, region{}, 0)
}

func (n *nursery) source() socket {
	v := vertex{kind: "source"}
	most := []int{1, 2, 30, 60, 120, 300, 600}[n.r.IntN(7)]
	for range n.g.epochs {
		if n.r.IntN(8) == 0 {
			most = n.r.IntN(2)
		}
		v.lens = append(v.lens, n.r.IntN(most+1))
	}
	if n.r.IntN(4) == 0 {
		v.slow = 2 + n.r.Uint64N(10)
	}
	return n.add(v)
}

func (n *nursery) sink(in socket) {
	n.add(n.works(vertex{kind: "sink", in: []socket{in}}, region{}))
}

func (n *nursery) merge(v vertex, ins []socket) socket {
	v.in = append([]socket(nil), ins...)
	n.r.Shuffle(len(v.in), func(i, k int) { v.in[i], v.in[k] = v.in[k], v.in[i] })
	switch v.how {
	case "weighted":
		for range v.in {
			v.weights = append(v.weights, []float64{0.1, 1, 1, 2, 10}[n.r.IntN(5)])
		}
		v.firstEnd = n.r.IntN(2) == 0
	case "byvalue":
		if n.r.IntN(2) == 0 {
			v.dies = 4 + n.r.Uint64N(10)
		}
		v.goexit = n.r.IntN(3) == 0
	}
	return n.add(v)
}

// segment is a chain of stages and of forks that are closed again.
func (n *nursery) segment(in socket, where region, depth int) socket {
	for range n.r.IntN(4) {
		switch {
		case n.budget <= 0:
			return in
		case depth < 3 && n.budget > 2 && n.r.IntN(2) == 0:
			in = n.diamond(in, where, depth)
		default:
			in = n.link(in, where)
		}
	}
	return in
}

func (n *nursery) link(in socket, where region) socket {
	kinds := []string{"map", "map", "mapwith", "filter"}
	if !where.whole {
		kinds = append(kinds, "flatmap", "streaming", "serial", "pairs", "pack", "rebatch", "unpack", "aggregate", "bykey", "bykey", "regroup", "bysize", "resize")
	}
	v := vertex{kind: kinds[n.r.IntN(len(kinds))], in: []socket{in}}
	switch v.kind {
	case "pack", "rebatch":
		v.size = 1 + n.r.IntN(8)
		v.last = stages.Last(n.r.IntN(4) / 3)
	case "unpack":
		v.buffer = -1
		if n.r.IntN(2) == 0 {
			v.in[0] = n.add(n.works(vertex{kind: "thin", in: []socket{in}}, where))
		}
	case "pairs", "serial":
		v = n.works(v, where)
		v.workers, v.order, v.timeout = 1, 0, false
	case "aggregate", "bykey", "regroup", "bysize", "resize":
		v = holding(n.r, n.works(v, where))
	default:
		v = n.works(v, where)
	}
	return n.add(v)
}

// diamond is a fork, and what closes it.
func (n *nursery) diamond(in socket, where region, depth int) socket {
	r := n.r
	v := n.works(vertex{kind: []string{"route", "route", "tee", "fork", "routebatch"}[r.IntN(5)], in: []socket{in}, outs: 1 + r.IntN(4)}, where)
	join := []string{"inputorder", "inputorder", "arrival"}[r.IntN(3)]
	if where.whole && v.kind != "routebatch" {
		v.kind = []string{"route", "route", "routebatch"}[r.IntN(3)]
	}
	switch {
	case v.kind == "routebatch" && (where.whole || r.IntN(3) > 0):
		join = "rejoin"
		if r.IntN(3) > 0 { // so that there is something to split
			in = n.link2(in, where)
			v.in[0] = in
		}
	case where.ordered:
		join = "inputorder"
	}
	if v.kind == "tee" {
		v = vertex{kind: "tee", in: v.in, outs: 2}
	}
	if r.IntN(6) == 0 && v.kind != "tee" {
		v.skew = 1 + r.IntN(v.outs)
	}
	below := region{ordered: where.ordered || join != "arrival", whole: where.whole || join == "rejoin"}
	fork := n.add(v)
	var ends []socket
	for b := range v.outs {
		end := n.segment(socket{fork.vertex, b}, below, depth+1)
		switch {
		case join == "rejoin" || b == 0 || r.IntN(5) > 0:
			ends = append(ends, end)
		case where == region{} && r.IntN(4) > 0:
			n.loose = append(n.loose, end)
		default:
			n.sink(end)
		}
	}
	if join == "rejoin" {
		return n.add(vertex{kind: "rejoin", in: ends, fork: fork.vertex})
	}
	return n.merge(vertex{kind: "merge", how: join}, ends)
}

// link2 makes larger items, if it may.
func (n *nursery) link2(in socket, where region) socket {
	if where.whole {
		return in
	}
	return n.add(vertex{kind: "pack", in: []socket{in}, size: 2 + n.r.IntN(6)})
}

// tame takes what depends on the order from where the order is not the same in every run.
func (n *nursery) tame() {
	settled := n.g.settled()
	for i := range n.g.vertices {
		v := &n.g.vertices[i]
		if settled[i] || !v.dependsOnOrder() {
			continue
		}
		v.last, v.firstEnd = stages.KeepLast, false
		switch v.kind {
		case "pack":
			v.kind = "rebatch"
		case "pairs":
			v.kind = "serial"
		case "bysize":
			v.kind = "resize"
		case "aggregate", "bykey":
			v.kind, v.lets, v.keep = "regroup", 0, 0
		}
	}
}

// detoxify leaves a stage at most two items that die at every attempt: ten deaths in a row are the stage's fault.
func (n *nursery) detoxify(o *outcome) {
	for i := range n.g.vertices {
		if o.poison[i] > 2 {
			n.g.vertices[i].poison = 0
		}
	}
}
