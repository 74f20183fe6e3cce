package supervisor_test

import (
	"maps"
	"math"
	"slices"

	"github.com/weirflow/weir/stages"
)

// What a random graph gives when it is worked off by hand: epoch by epoch, stage by stage, in one goroutine.

// A thing is an item of the reference.
type thing struct {
	parcel
	from  []int     // the source items that it is made of
	place []place   // in the forks that it has passed
	lost  bool      // its places depend on how a batch before it happened to be filled
	share []portion // the batches that it is a part of, the last one last
}

// A place is where an item stood in the input of a fork. Items whose order is not known stand in different rows.
type place struct{ fork, row, at int }

// A deal is a batch that a routebatch has split.
type deal struct {
	fork  int
	whole *thing
	row   int
	to    []int
}

// A portion is a part of a batch. kept says which elements of the part are left in it.
type portion struct {
	*deal
	branch int
	kept   []int
}

// A strand is a part of what goes along an edge in one epoch. Strands may be interleaved in any way. What is in an
// ordered one comes in its order.
type strand struct {
	things  []*thing
	ordered bool
}

// A flow is all that goes along an edge in one epoch.
type flow []strand

func (f flow) things() (all []*thing) {
	for _, s := range f {
		all = append(all, s.things...)
	}
	return all
}

// An outcome is what becomes of a graph.
type outcome struct {
	consumer []flow         // by epoch
	sinks    map[int][]flow // by vertex
	in       []int          // items that each vertex takes
	failed   []int          // items that fail in each vertex
	poison   []int          // and those of them that die of it
	vague    bool           // how many of the fates there are depends on how batches happened to be filled
	shortcut []bool         // vertices that may be given less, because a merge ends its epoch early
	fates    []fate         // of the source items
	work     int            // steps
}

// A fate is what becomes of a source item. The greatest of several wins.
type fate int

const (
	filtered fate = iota
	delivered
	failed
)

func (o *outcome) count(f fate) (n int64) {
	for _, g := range o.fates {
		if g == f {
			n++
		}
	}
	return n
}

// A worksheet is the state of the reference during one epoch.
type worksheet struct {
	*graph
	*outcome
	ordered, settled []bool
	flows            [][]flow
	deals            map[int][]*deal // by routebatch, in order
}

// workOff is the reference.
func workOff(g *graph) *outcome {
	o := &outcome{shortcut: g.aboveFirstEnd(), sinks: map[int][]flow{}, in: make([]int, len(g.vertices)), failed: make([]int, len(g.vertices)), poison: make([]int, len(g.vertices))}
	w := &worksheet{graph: g, outcome: o, ordered: g.ordered(), settled: g.settled()}
	for e := range g.epochs {
		w.flows, w.deals = make([][]flow, len(g.vertices)), map[int][]*deal{}
		for i := range g.vertices {
			w.step(i, e)
		}
		last := w.flows[g.outlet.vertex][g.outlet.out]
		for _, th := range last.things() {
			w.settle(th, delivered)
		}
		o.consumer = append(o.consumer, last)
	}
	return o
}

func (w *worksheet) settle(th *thing, f fate) {
	for _, k := range th.from {
		w.fates[k] = max(w.fates[k], f)
	}
}

// step works off one vertex.
func (w *worksheet) step(i, epoch int) {
	v := &w.vertices[i]
	var in []flow
	for _, s := range v.in {
		in = append(in, w.flows[s.vertex][s.out])
	}
	for _, f := range in {
		w.in[i] += len(f.things())
	}
	w.work += w.in[i]
	switch {
	case v.kind == "source":
		var things []*thing
		for n := range v.lens[epoch] {
			things = append(things, &thing{parcel: parcel{{Src: i, Epoch: epoch, Index: n}}, from: []int{len(w.fates)}})
			w.fates = append(w.fates, filtered)
		}
		w.flows[i] = []flow{{{things, true}}}
	case v.kind == "sink":
		got := w.each(i, in[0], func(th *thing) []*thing {
			w.settle(th, delivered)
			return []*thing{th}
		})
		w.sinks[i] = append(w.sinks[i], got)
	case v.isFork():
		w.flows[i] = w.fork(i, in[0])
	case v.kind == "rejoin":
		w.flows[i] = []flow{w.rejoin(i, in)}
	case v.kind == "merge":
		w.flows[i] = []flow{w.merge(i, epoch, in)}
	default:
		w.flows[i] = []flow{w.link(i, in[0])}
	}
}

// each is a stage with independent items, some of which fail.
func (w *worksheet) each(i int, in flow, f func(*thing) []*thing) (out flow) {
	for _, s := range in {
		o := strand{ordered: s.ordered && w.ordered[i]}
		for _, th := range s.things {
			if w.fails(i, th) {
				continue
			}
			o.things = append(o.things, f(th)...)
		}
		out = append(out, o)
	}
	return out
}

// fails reports whether nothing comes of an item because it fails, or a hook fails it or drops it.
func (w *worksheet) fails(i int, th *thing) bool {
	v := &w.vertices[i]
	hooks := w.verdict(i, th.parcel)
	switch {
	case hooks == droppedBefore:
		return true
	case hooks == refused:
	case v.isPoison(th.parcel):
		w.poison[i]++
	case v.isBad(th.parcel):
		if hooks == pardoned {
			return true
		}
	case hooks == droppedBehind:
		return true
	case hooks != refusedBehind:
		return false
	}
	w.failed[i]++
	w.settle(th, failed)
	return true
}

// left returns what a stage has not failed.
func (w *worksheet) left(i int, in []*thing) (out []*thing) {
	for _, th := range in {
		if !w.fails(i, th) {
			out = append(out, th)
		}
	}
	return out
}

// with returns a thing that comes of th alone.
func (th *thing) with(p parcel) *thing {
	o := *th
	o.parcel = p
	return &o
}

// late returns th, which was held back until the end of the epoch, and stands there.
func (th *thing) late() *thing {
	o := th.with(th.parcel)
	o.place = slices.Clone(th.place)
	for i := range o.place {
		o.place[i].at = math.MaxInt32
	}
	return o
}

// made returns what things have become together. It stands where the last of them stood.
func made(p parcel, things []*thing) *thing {
	o := things[len(things)-1].with(p)
	o.from = nil
	for _, th := range things {
		o.from = append(o.from, th.from...)
		o.lost = o.lost || th.lost
	}
	slices.Sort(o.from)
	o.from = slices.Compact(o.from)
	return o
}

// link is a stage with one input and one output.
func (w *worksheet) link(i int, in flow) flow {
	v := &w.vertices[i]
	switch v.kind {
	case "filter":
		return w.each(i, in, func(th *thing) []*thing {
			if !v.keeps(th.parcel) {
				return nil
			}
			return []*thing{th}
		})
	case "flatmap", "streaming":
		return w.each(i, in, func(th *thing) (out []*thing) {
			for _, p := range v.outputs(th.parcel) {
				out = append(out, th.with(p))
			}
			return out
		})
	case "thin":
		return w.each(i, in, func(th *thing) []*thing { return []*thing{th.with(v.thin(th.parcel))} })
	case "unpack":
		return w.each(i, in, func(th *thing) (out []*thing) {
			for _, t := range th.parcel {
				out = append(out, th.with(parcel{t}))
			}
			return out
		})
	case "pairs":
		return flow{{w.pairs(i, in.things()), true}}
	case "pack", "rebatch", "aggregate", "bykey", "regroup", "bysize", "resize":
		if !w.settled[i] { // not lost in number, but nobody knows with whom they share their fate
			w.vague = true
			out := w.each(i, in, func(th *thing) []*thing {
				o := th.with(th.parcel)
				o.lost = true
				return []*thing{o}
			})
			for k := range out {
				out[k].ordered = out[k].ordered && v.kind != "regroup" // key by key
			}
			return out
		}
		if v.holds() {
			return flow{{w.hold(i, in.things()), true}}
		}
		return flow{{w.batches(v, w.left(i, in.things())), true}}
	}
	return w.each(i, in, func(th *thing) []*thing { return []*thing{th.with(v.change(th.parcel, 0))} })
}

func (w *worksheet) batches(v *vertex, in []*thing) (out []*thing) {
	for batch := range slices.Chunk(in, v.size) {
		if len(batch) < v.size && v.last == stages.DropLast {
			break
		}
		var all parcel
		for _, th := range batch {
			all = append(all, th.parcel...)
		}
		whole := made(all, batch)
		if len(batch) < v.size {
			whole = whole.late()
		}
		if v.kind == "pack" {
			out = append(out, whole)
			continue
		}
		for _, th := range batch {
			out = append(out, whole.with(th.parcel))
		}
	}
	return out
}

func (w *worksheet) pairs(i int, in []*thing) (out []*thing) {
	v := &w.vertices[i]
	var held *thing
	for _, th := range in {
		switch {
		case w.fails(i, th):
		case held == nil:
			held = th
		case v.pairs(held.parcel, th.parcel):
			out = append(out, made(held.parcel, []*thing{held, th}))
			held = nil
		default: // it stands where it is let go of
			o := made(held.parcel, []*thing{held, th})
			o.from = held.from
			out = append(out, o)
			held = th
		}
	}
	if held != nil {
		out = append(out, held.late())
	}
	return out
}

// fork gives each item its place, and deals it out.
func (w *worksheet) fork(i int, in flow) []flow {
	v := &w.vertices[i]
	out := make([]flow, v.outs)
	row := 0
	for _, s := range in {
		ordered := s.ordered && w.ordered[i]
		branches := make([]strand, v.outs)
		for at, th := range s.things {
			if w.fails(i, th) {
				continue
			}
			o := th.with(th.parcel)
			o.place = append(slices.Clone(th.place), place{i, row, at})
			if v.kind == "routebatch" {
				w.deal(i, row, o, th, branches)
			} else {
				for _, b := range v.branches(th.parcel) {
					branches[b].things = append(branches[b].things, o)
				}
			}
			if !ordered {
				row++
			}
		}
		row++
		for b := range out {
			branches[b].ordered = ordered
			out[b] = append(out[b], branches[b])
		}
	}
	return out
}

func (w *worksheet) deal(i, row int, o, whole *thing, branches []strand) {
	d := &deal{fork: i, whole: whole, row: row, to: w.vertices[i].deal(whole.parcel)}
	w.deals[i] = append(w.deals[i], d)
	for b := range branches {
		var part parcel
		for e, to := range d.to {
			if to == b {
				part = append(part, whole.parcel[e])
			}
		}
		if part != nil {
			p := o.with(part)
			if w.rejoined(i) {
				p.share = append(slices.Clone(o.share), portion{d, b, numbers(len(part))})
			}
			branches[b].things = append(branches[b].things, p)
		}
	}
}

// rejoined reports whether the parts of a routebatch are put together again.
func (w *worksheet) rejoined(i int) bool {
	return slices.ContainsFunc(w.vertices, func(v vertex) bool { return v.kind == "rejoin" && v.fork == i })
}

// numbers returns 0, 1, ... n-1.
func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// rejoin puts elements where they were. Those of parts that are missing, or are missing in a part, are missing.
func (w *worksheet) rejoin(i int, in []flow) (out flow) {
	parts := map[*deal][]*thing{}
	for _, f := range in {
		for _, th := range f.things() {
			d := th.share[len(th.share)-1]
			if parts[d.deal] == nil {
				parts[d.deal] = make([]*thing, len(in))
			}
			parts[d.deal][d.branch] = th
		}
	}
	rows := map[int]*strand{}
	for _, d := range w.deals[w.vertices[i].fork] {
		if parts[d] == nil {
			continue
		}
		var all parcel
		var kept []int
		at := make([]int, len(in))
		for e, b := range d.to {
			if th := parts[d][b]; th != nil {
				if k := slices.Index(th.share[len(th.share)-1].kept, at[b]); k >= 0 {
					all, kept = append(all, th.parcel[k]), append(kept, e)
				}
			}
			at[b]++
		}
		row(rows, d.row).things = append(row(rows, d.row).things, d.whole.less(all, kept))
	}
	return inRows(rows, true)
}

// less returns a batch of which these elements are left.
func (th *thing) less(all parcel, kept []int) *thing {
	o := th.with(all)
	if n := len(th.share); n > 0 {
		last := th.share[n-1]
		var left []int
		for _, e := range kept {
			left = append(left, last.kept[e])
		}
		last.kept = left
		o.share = append(slices.Clone(th.share[:n-1]), last)
	}
	return o
}

func row(rows map[int]*strand, r int) *strand {
	if rows[r] == nil {
		rows[r] = &strand{}
	}
	return rows[r]
}

// inRows returns a strand for each row.
func inRows(rows map[int]*strand, ordered bool) (out flow) {
	for _, r := range slices.Sorted(maps.Keys(rows)) {
		rows[r].ordered = ordered
		out = append(out, *rows[r])
	}
	return out
}

func (w *worksheet) merge(i, epoch int, in []flow) (out flow) {
	v := &w.vertices[i]
	switch {
	case len(in) == 1:
		return in[0]
	case v.how == "inputorder":
		return w.restore(w.forkOf(i), in)
	case v.how != "arrival" && w.settled[i]:
		heads := make([][]*thing, len(in))
		for k, f := range in {
			heads[k] = f.things()
		}
		taken, left := inTurn(v, epoch, heads)
		for _, th := range left {
			w.settle(th, filtered)
		}
		return flow{{taken, true}}
	}
	for _, f := range in {
		out = append(out, f...)
	}
	return out
}

// restore brings items into the order that they had at a fork.
func (w *worksheet) restore(fork int, in []flow) flow {
	type spot struct{ at, input int }
	known, spots, rows := true, map[*thing]spot{}, map[int]*strand{}
	for k, f := range in {
		for _, th := range f.things() {
			known = known && !th.lost
			n := slices.IndexFunc(th.place, func(p place) bool { return p.fork == fork })
			p := th.place[n]
			th = th.with(th.parcel) // it may come by several inputs
			spots[th] = spot{p.at, k}
			row(rows, p.row).things = append(row(rows, p.row).things, th)
		}
	}
	for _, r := range rows {
		slices.SortStableFunc(r.things, func(a, b *thing) int {
			if d := spots[a].at - spots[b].at; d != 0 {
				return d
			}
			return spots[a].input - spots[b].input
		})
	}
	return inRows(rows, known)
}
