package actors

import "github.com/weirflow/weir/internal/plan"

// picks are items taken one by one: begin, pick, pick, ..., gather. They are copied in one go, when an input has no more
// at hand. They are the first field of a way, so that what is read for each item lies together: BenchmarkWeighted notices.
type picks struct {
	m       *mixer
	unsplit int          // the fork behind which items get back their identities; 0: they keep those that they have
	order   []int        // inputs that have been picked, and not copied
	rest    []int        // items that they have at hand besides
	parts   []plan.Chunk // this and the following are scratch
	places  []int
	cursors []*plan.Cursor
}

// begin looks at what is at hand.
func (p *picks) begin() {
	p.order, p.rest = p.order[:0], p.rest[:0]
	for i := range p.m.ins {
		in := &p.m.ins[i]
		n := 0
		if in.ready() {
			n = (*in.q.front()).Len() - in.at
		}
		p.rest = append(p.rest, n)
	}
}

// pick takes one item of input i, which is ready.
func (p *picks) pick(d plan.Chunk, i int) {
	p.order = append(p.order, i)
	if p.rest[i]--; p.rest[i] == 0 {
		p.copyPicked(d)
		p.begin()
	}
}

// copyPicked appends to d what has been picked.
func (p *picks) copyPicked(d plan.Chunk) {
	if len(p.order) == 0 {
		return
	}
	p.parts, p.places, p.cursors = p.parts[:0], p.places[:0], p.cursors[:0]
	for i := range p.m.ins {
		in := &p.m.ins[i]
		var c plan.Chunk
		if in.ready() {
			c = *in.q.front()
		}
		p.parts, p.places, p.cursors = append(p.parts, c), append(p.places, in.at), append(p.cursors, &in.ids)
	}
	d.Gather(p.parts, p.places, p.order)
	if p.unsplit != 0 {
		d.Head().IDs.Restore(p.cursors, p.order, p.unsplit)
	} else {
		d.Head().IDs.Gather(p.cursors, p.order)
	}
	for i := range p.m.ins {
		if n := p.places[i] - p.m.ins[i].at; n > 0 {
			p.m.taken(i, n)
		}
	}
}

// gather hands on what has been picked.
func (p *picks) gather(d plan.Chunk) bool {
	p.copyPicked(d)
	return p.m.give(d)
}
