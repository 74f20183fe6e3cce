package actors

import (
	"math"

	"github.com/weirflow/weir/internal/plan"
)

// inOrder takes items in the order of their positions, which restores that of a fork.
type inOrder struct{ picks }

func newInOrder(m *mixer) *inOrder {
	o := &inOrder{picks: picks{m: m, unsplit: m.mix.Fork}}
	if m.spec.Marks(0, m.mix.Fork) {
		o.unsplit = 0 // the order is asked for again, below
	}
	return o
}

func (*inOrder) newEpoch() {} // no item stands across the end of one

// manyInOrder is how many items of one input are copied at once, rather than picked one by one.
const manyInOrder = 16

func (o *inOrder) step(credit int) (bool, int) {
	m := o.m
	most := min(credit, mostTaken)
	d := m.spec.Pool.Get(most)
	for o.begin(); d.Len()+len(o.order) < most; {
		i, limit, of := m.first()
		if i < 0 {
			return o.gather(d), of
		}
		in := &m.ins[i]
		n := min(in.run, most-d.Len()-len(o.order))
		if of >= 0 {
			last := limit // the last position that may go
			if i > of {
				last--
			}
			if in.pos > last {
				return o.gather(d), of
			}
			switch d := last - in.pos; {
			case in.step == 0:
			case d < in.step: // the usual case where items alternate; a division takes as long as all the rest
				n = 1
			default:
				n = int(min(uint64(n), d/in.step+1))
			}
		}
		if n < manyInOrder && of >= 0 && m.ins[of].ready() {
			o.alternate(d, i, of, most)
			continue
		}
		in.pass(n)
		if n >= manyInOrder {
			o.copyPicked(d)
			o.takeRun(d, i, n)
			o.begin()
			continue
		}
		for range n {
			o.pick(d, i)
		}
	}
	return o.gather(d), -1
}

// alternate picks items of inputs a and b, as long as both have some at hand and no other input can stand before them.
// There is at least one to pick.
func (o *inOrder) alternate(d plan.Chunk, a, b, most int) {
	m := o.m
	bound := uint64(math.MaxUint64)
	for k := range m.ins {
		in := &m.ins[k]
		switch {
		case k == a, k == b:
		case in.ready():
			m.locate(in)
			bound = min(bound, in.pos)
		case !in.through():
			bound = min(bound, in.low)
		}
	}
	x, y := &m.ins[a], &m.ins[b]
	for first := true; first || x.pos < bound && y.pos < bound && d.Len()+len(o.order) < most; first = false {
		i, in := a, x
		if y.pos < x.pos || y.pos == x.pos && b < a {
			i, in = b, y
		}
		in.pass(1)
		o.order = append(o.order, i)
		if o.rest[i]--; o.rest[i] == 0 {
			o.copyPicked(d)
			o.begin()
			return
		}
		m.locate(in)
	}
}

// takeRun appends the next n items of input i to d.
func (o *inOrder) takeRun(d plan.Chunk, i, n int) {
	in := &o.m.ins[i]
	d.Copy(*in.q.front(), in.at, in.at+n)
	if o.unsplit != 0 {
		in.ids.Unsplit(&d.Head().IDs, in.at+n, o.unsplit)
	} else {
		in.ids.CopyTo(&d.Head().IDs, in.at+n)
	}
	o.m.taken(i, n)
}
