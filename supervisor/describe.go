package supervisor

import (
	"fmt"
	"slices"
	"strings"
)

// thisProcess is how descriptions call the deploying process.
const thisProcess = "this process"

// places returns the placement of each stage, by its index.
func (r *run) places() []Placement {
	places := slices.Repeat([]Placement{InProcess{}}, len(r.graph.Stages))
	if r.nodes == nil {
		return places
	}
	for _, p := range r.nodes.placed {
		for _, i := range p.region.Stages {
			places[i] = p.on()
		}
	}
	return places
}

// on is where the region is, as it was asked for.
func (p *placed) on() Placement {
	if p.copies > 1 {
		return Pool{Size: p.copies, Of: p.at}
	}
	return p.at
}

// copiesOf is how many copies of a stage there are at a placement.
func copiesOf(at Placement) int {
	if pool, ok := at.(Pool); ok {
		return pool.Size
	}
	return 1
}

// where names the process of each stage: a region by its name and its placement, as events name its nodes.
func (r *run) where() map[int]string {
	w := map[int]string{}
	for i := range r.graph.Stages {
		w[i] = thisProcess
	}
	if r.nodes == nil {
		return w
	}
	for _, p := range r.nodes.placed {
		for _, i := range p.region.Stages {
			w[i] = fmt.Sprintf("%s: %v", r.graph.RegionName(p.region), p.on())
		}
	}
	return w
}

// String describes the run for people: its identity, its placement, and the pipeline as its own String does, with where
// each stage runs, and how much of it is elsewhere at most.
func (r *run) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s at %s of %s", r.id, r.at, r.graph.Describe(r.where()))
	if r.nodes == nil {
		return b.String()
	}
	for k, p := range r.nodes.placed {
		copies := "a process of its own"
		if p.copies > 1 {
			copies = fmt.Sprintf("%d processes; the mailboxes and rooms of its stages are per copy", p.copies)
		}
		fmt.Fprintf(&b, "Region %q has %s.", r.graph.RegionName(p.region), copies)
		if most := r.nodes.held[k]; most > 0 {
			fmt.Fprintf(&b, " At most %d items are there at once.", most)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// chart draws the graph and where its stages run.
func (r *run) chart() string { return r.graph.Mermaid(r.where()) }
