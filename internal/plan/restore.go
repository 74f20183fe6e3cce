package plan

import "math"

// What becomes of the identities of items that a join has brought back into the order of their fork.

// pick appends those of o that are at the places of r.
func (s *IDs) pick(o *IDs, r Run) {
	if r.gap == 0 {
		s.Range(o, int(r.sub), int(r.sub)+int(r.n))
		return
	}
	if p := o.runs[0]; len(o.runs) == 1 && r.step()*p.step() <= math.MaxUint8+1 {
		one := p.from(int(r.sub), 1)
		one.n, one.gap = r.n, uint8(r.step()*p.step()-1)
		s.add(one)
		return
	}
	for i := range int(r.n) {
		s.add(o.at(int(r.sub) + i*r.step()))
	}
}

// Restore is Gather for identities that go on as they were before fork parted them: see Unsplit. Neighbours there are
// taken in one go.
func (s *IDs) Restore(from []*Cursor, order []int, fork int) {
	var of *Family
	first, end := 0, 0
	for _, i := range order {
		c := from[i]
		r := &c.ids.runs[c.k]
		if f := r.fam; f != nil && f == of || f.split().isOf(fork) && f.split().slots == nil {
			at := int(r.sub) + c.i*r.step()
			if f != of || at != end {
				if of != nil {
					s.Range(&of.parents, first, end)
				}
				of, first = f, at
			}
			end = at + 1
			c.step(1)
			continue
		}
		if of != nil {
			s.Range(&of.parents, first, end)
			of = nil
		}
		s.add(c.Next())
	}
	if of != nil {
		s.Range(&of.parents, first, end)
	}
}

// Unsplit appends the items up to item to to dst, as they were before fork parted them, as far as each is alone in what
// it became: where items have been restored to the order of the fork, its mark on them has served.
func (c *Cursor) Unsplit(dst *IDs, to, fork int) {
	for c.at < to {
		r := &c.ids.runs[c.k]
		m := min(to-c.at, int(r.n)-c.i)
		if f := r.fam; f != nil && f.split().isOf(fork) && f.split().slots == nil {
			dst.pick(&f.parents, r.from(c.i, m))
		} else {
			dst.add(r.from(c.i, m))
		}
		c.step(m)
	}
}
