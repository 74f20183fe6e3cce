package actors

import "github.com/weirflow/weir/internal/plan"

// arrival passes chunks on as they are, one of each input in turn: an input that always has something cannot starve the
// others.
type arrival struct {
	m    *mixer
	next int // the input whose turn it is
}

func (*arrival) newEpoch() {} // turns go on

func (a *arrival) step(credit int) (bool, int) {
	m := a.m
	for k := range m.ins {
		i := (a.next + k) % len(m.ins)
		in := &m.ins[i]
		if !in.ready() {
			continue
		}
		a.next = (i + 1) % len(m.ins)
		c := *in.q.front()
		if n := c.Len(); in.at == 0 && n <= credit {
			h := c.Head()
			m.marks(in, h)
			h.Last, h.Round = false, plan.Round{}
			in.left += uint64(n)
			in.pop()
			return m.give(c), -1
		}
		n := min(c.Len()-in.at, credit)
		d := m.spec.Pool.Get(n)
		d.Copy(c, in.at, in.at+n)
		in.ids.CopyTo(&d.Head().IDs, in.at+n)
		m.taken(i, n)
		return m.give(d), -1
	}
	return false, m.stuck() // nothing can come of what failed
}
