package actors

// roundRobin takes one item of each input in turn, in each epoch beginning with the first.
type roundRobin struct {
	picks
	next int // the input whose turn it is
}

func (r *roundRobin) newEpoch() { r.next = 0 }

func (r *roundRobin) step(credit int) (bool, int) {
	m := r.m
	most := min(credit, mostTaken)
	d := m.spec.Pool.Get(most)
	for r.begin(); d.Len()+len(r.order) < most; {
		i := r.next
		for k := 0; m.ins[i].through() && k < len(m.ins); k++ {
			i = (i + 1) % len(m.ins)
		}
		r.next = i
		if !m.ins[i].ready() {
			return r.gather(d), i
		}
		r.pick(d, i)
		r.next = (i + 1) % len(m.ins)
	}
	return r.gather(d), -1
}
