package supervisor_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirflow/weir/stages"
)

// What random graphs are made of: a description that a generator writes, of which one half is built and deployed
// (graph_build_test.go), and the other worked off by hand (graph_reference_test.go).

// A tok is what flows, in slices: the source item that it comes from, and a hash of what has been done to it.
type tok struct {
	Src, Epoch, Index int
	Way               uint64
}

// A parcel is an item. So each edge of a graph has the same type, batches included.
type parcel = []tok

// A socket is one output of one vertex.
type socket struct{ vertex, out int }

// A vertex is a stage of a random graph, or some that belong together.
type vertex struct {
	kind string
	in   []socket
	outs int

	workers int
	order   stages.Order // 0: not said
	buffer  int          // -1: not said
	timeout bool         // has one that is never up
	size    int          // of batches
	last    stages.Last
	habit

	salt   uint64
	dies   uint64 // one item of so many dies at the first attempt; 0: none
	goexit bool   // by Goexit, not by a panic
	fails  uint64 // one item of so many fails for good; 0: none
	poison uint64 // one item of so many dies at every attempt; 0: none
	slow   uint64 // one item of so many takes time; 0: none
	skew   int    // branch that everything takes, plus one; 0: none

	lens     []int  // of a source, by epoch
	how      string // of a merge
	weights  []float64
	firstEnd bool
	fork     int // of a rejoin: its routebatch
}

// A graph is a list of vertices in topological order.
type graph struct {
	seed     uint64
	epochs   int
	vertices []vertex
	outlet   socket
	bubble   bool   // it runs in a synctest bubble
	loops    bool   // its consumer uses Epochs
	hooked   uint64 // one item of so many, at each stage, is not left alone by hooks; 0: there are none
}

func mix(h, x uint64) uint64 {
	h ^= x + 0x9e3779b97f4a7c15 + h<<6 + h>>2
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// hash decides what happens to an item, so that it does not depend on the order.
func hash(salt uint64, p parcel) uint64 {
	h := mix(salt, uint64(len(p)))
	for _, t := range p {
		h = mix(mix(h, uint64(t.Src<<40|t.Epoch<<32|t.Index)), t.Way)
	}
	return h
}

func oneOf(n uint64, salt uint64, p parcel) bool { return n > 0 && hash(salt, p)%n == 0 }

func (v *vertex) isPoison(p parcel) bool { return oneOf(v.poison, v.salt+1, p) }

// isBad says which items fail for good, poison included.
func (v *vertex) isBad(p parcel) bool { return oneOf(v.fails, v.salt+2, p) || v.isPoison(p) }

func (v *vertex) isDeadly(p parcel) bool { return oneOf(v.dies, v.salt+3, p) }

func (v *vertex) isSlow(p parcel) bool { return oneOf(v.slow, v.salt+4, p) }

func (v *vertex) keeps(p parcel) bool { return hash(v.salt+5, p)%3 != 0 }

// change is what a map does: the same number of elements, each with another way.
func (v *vertex) change(p parcel, i uint64) parcel {
	out := make(parcel, 0, len(p))
	for _, t := range p {
		t.Way = mix(t.Way, v.salt+i)
		out = append(out, t)
	}
	return out
}

// thin leaves elements out, maybe all of them.
func (v *vertex) thin(p parcel) parcel {
	var out parcel
	for _, t := range p {
		if mix(t.Way, v.salt+uint64(t.Index))%2 == 0 {
			out = append(out, t)
		}
	}
	return out
}

// outputs are those of a flatmap.
func (v *vertex) outputs(p parcel) []parcel {
	var out []parcel
	for i := range hash(v.salt+6, p) % 4 {
		out = append(out, v.change(p, i+1))
	}
	return out
}

// branches are the outputs that an item takes.
func (v *vertex) branches(p parcel) []int {
	h := hash(v.salt+7, p)
	switch {
	case v.kind == "tee":
		return []int{0, 1}
	case v.kind == "fork" && v.skew == 0:
		var to []int
		for b := range v.outs {
			if h>>b&1 == 1 {
				to = append(to, b)
			}
		}
		return to
	case v.skew > 0:
		return []int{v.skew - 1}
	}
	return []int{int(h % uint64(v.outs))}
}

// deal says where the elements go.
func (v *vertex) deal(p parcel) []int {
	var to []int
	for _, t := range p {
		to = append(to, v.branches(parcel{t})[0])
	}
	return to
}

// pairs reports whether b, behind a, is dropped by the kind that works on pairs.
func (v *vertex) pairs(a, b parcel) bool { return (hash(v.salt+8, a)^hash(v.salt+8, b))&1 == 0 }

func (v *vertex) isFork() bool {
	return v.kind == "route" || v.kind == "tee" || v.kind == "fork" || v.kind == "routebatch"
}

func (v *vertex) isMerge() bool { return v.kind == "merge" || v.kind == "rejoin" }

// name is that of the stage.
func (g *graph) name(i int) string { return fmt.Sprintf("%d %s", i, g.vertices[i].kind) }

// String tells the graph, a line per vertex.
func (g *graph) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "epochs %d, outlet %v, bubble %v, loops %v, hooked %d\n", g.epochs, g.outlet, g.bubble, g.loops, g.hooked)
	for i := range g.vertices {
		v := &g.vertices[i]
		fmt.Fprintf(&b, "%2d %-10s", i, v.kind)
		for _, s := range v.in {
			if fmt.Fprintf(&b, " %d", s.vertex); g.vertices[s.vertex].outs > 1 {
				fmt.Fprintf(&b, ".%d", s.out)
			}
		}
		say := func(ok bool, format string, args ...any) {
			if ok {
				fmt.Fprintf(&b, " "+format, args...)
			}
		}
		say(v.how != "", "by %s", v.how)
		say(v.weights != nil, "weights %v, until first end %v", v.weights, v.firstEnd)
		say(v.kind == "rejoin", "of %d", v.fork)
		say(v.lens != nil, "items %v", v.lens)
		say(v.outs > 1, "%d outputs", v.outs)
		say(v.workers > 1, "mailbox %d", v.workers)
		say(v.order == stages.Ordered, "Ordered")
		say(v.order == stages.Unordered, "Unordered")
		say(v.buffer >= 0, "buffer %d", v.buffer)
		say(v.size > 0, "size %d", v.size)
		say(v.last == stages.DropLast, "DropLast")
		say(v.holds(), "%+v", v.habit)
		say(v.timeout, "timeout")
		say(v.dies > 0, "dies %d, goexit %v", v.dies, v.goexit)
		say(v.fails > 0, "fails %d", v.fails)
		say(v.poison > 0, "poison %d", v.poison)
		say(v.slow > 0, "slow %d", v.slow)
		say(v.skew > 0, "all to %d", v.skew-1)
		b.WriteByte('\n')
	}
	return b.String()
}

// clone returns a copy that shares nothing.
func (g *graph) clone() *graph {
	c := *g
	c.vertices = slices.Clone(g.vertices)
	for i := range c.vertices {
		v := &c.vertices[i]
		v.in, v.lens, v.weights = slices.Clone(v.in), slices.Clone(v.lens), slices.Clone(v.weights)
	}
	return &c
}

// forkOf returns the vertex where the inputs of i part: the last one that all of its items have passed. -1: nowhere.
func (g *graph) forkOf(i int) int {
	passed := make([][]bool, i+1)
	for k := range i + 1 {
		passed[k] = make([]bool, len(g.vertices))
		for n, s := range g.vertices[k].in {
			for j := range passed[k] {
				if n == 0 {
					passed[k][j] = passed[s.vertex][j]
				} else {
					passed[k][j] = passed[k][j] && passed[s.vertex][j]
				}
			}
		}
		if k < i {
			passed[k][k] = true
		}
	}
	for k := i - 1; k >= 0; k-- {
		if passed[i][k] {
			return k
		}
	}
	return -1
}

// ordered says, for each vertex, whether it hands on in the order of its input: because it has one worker, because it
// says so, or because a join below restores the order of a fork above.
func (g *graph) ordered() []bool {
	ordered := make([]bool, len(g.vertices))
	for i := range g.vertices {
		v := &g.vertices[i]
		ordered[i] = v.workers <= 1 || v.order == stages.Ordered && v.kind != "sink" // calls of which overlap
	}
	for i := range g.vertices {
		v := &g.vertices[i]
		if !(v.kind == "rejoin" || v.kind == "merge" && v.how == "inputorder") {
			continue
		}
		fork := v.fork
		if v.kind == "merge" {
			if fork = g.forkOf(i); len(v.in) == 1 || fork < 0 {
				continue
			}
		}
		if g.vertices[fork].order != stages.Unordered {
			ordered[fork] = true
		}
		for _, k := range g.between(fork, i) {
			ordered[k] = true
		}
	}
	return ordered
}

// between returns what lies on the way from a to b.
func (g *graph) between(a, b int) []int {
	on := map[int]bool{b: true}
	var all []int
	for i := b; i > a; i-- {
		if !on[i] {
			continue
		}
		if i != b {
			all = append(all, i)
		}
		for _, s := range g.vertices[i].in {
			on[s.vertex] = true
		}
	}
	return all
}

// aboveFirstEnd says which vertices feed merges that end an epoch early, those included. Their sources may then be told
// to go on to the next one.
func (g *graph) aboveFirstEnd() []bool {
	above := make([]bool, len(g.vertices))
	for i := len(g.vertices) - 1; i >= 0; i-- {
		v := &g.vertices[i]
		above[i] = above[i] || v.firstEnd
		for _, s := range v.in {
			above[s.vertex] = above[s.vertex] || above[i]
		}
	}
	return above
}

// settled says, for each vertex, whether the order of what it hands on is the same in every run.
func (g *graph) settled() []bool {
	ordered := g.ordered()
	settled := make([]bool, len(g.vertices))
	for i := range g.vertices {
		v := &g.vertices[i]
		settled[i] = ordered[i] || v.isMerge()
		for _, s := range v.in {
			settled[i] = settled[i] && settled[s.vertex]
		}
		if v.kind == "merge" && v.how == "arrival" && len(v.in) > 1 {
			settled[i] = false
		}
	}
	return settled
}

// dependsOnOrder reports whether what comes out depends on the order of what goes in.
func (v *vertex) dependsOnOrder() bool {
	return v.kind == "pack" || v.kind == "pairs" || v.holds() && !v.apart() || v.apart() && v.last == stages.DropLast || v.firstEnd
}
