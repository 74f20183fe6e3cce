package actors

import (
	"math/rand/v2"
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// The ways to mix that look at no item. Each takes what it can, up to credit items, and reports whether it took
// anything and, if not, which input it waits for (-1: any).

// mostTaken is the largest chunk that is made of items of several inputs.
const mostTaken = 512

// arrival passes chunks on as they are, one of each input in turn: an input that always has something cannot starve the
// others.
func (m *mixer) arrival(credit int) (bool, int) {
	for k := range m.ins {
		i := (m.next + k) % len(m.ins)
		in := &m.ins[i]
		if !in.ready() {
			continue
		}
		m.next = (i + 1) % len(m.ins)
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
		m.take(d, i, n)
		return m.give(d), -1
	}
	return false, m.stuck() // nothing can come of what failed
}

// stuck returns an input that gives nothing more although it is not complete, or -1.
func (m *mixer) stuck() int {
	return slices.IndexFunc(m.ins, func(in inlet) bool { return in.stuck() })
}

// take appends the next n items of input i to d.
func (m *mixer) take(d plan.Chunk, i, n int) {
	in := &m.ins[i]
	d.Copy(*in.q.front(), in.at, in.at+n)
	in.ids.CopyTo(&d.Head().IDs, in.at+n)
	m.taken(i, n)
}

// roundRobin takes one item of each input in turn.
func (m *mixer) roundRobin(credit int) (bool, int) {
	most := min(credit, mostTaken)
	d := m.spec.Pool.Get(most)
	for m.begin(); d.Len()+len(m.order) < most; {
		i := m.next
		for k := 0; m.ins[i].through() && k < len(m.ins); k++ {
			i = (i + 1) % len(m.ins)
		}
		m.next = i
		if !m.ins[i].ready() {
			return m.gather(d), i
		}
		m.pick(d, i)
		m.next = (i + 1) % len(m.ins)
	}
	return m.gather(d), -1
}

// begin, pick and gather take items one by one: what is picked is copied in one go, when an input has no more at hand.
func (m *mixer) begin() {
	m.order, m.rest = m.order[:0], m.rest[:0]
	for i := range m.ins {
		in := &m.ins[i]
		n := 0
		if in.ready() {
			n = (*in.q.front()).Len() - in.at
		}
		m.rest = append(m.rest, n)
	}
}

// pick takes one item of input i, which is ready.
func (m *mixer) pick(d plan.Chunk, i int) {
	m.order = append(m.order, i)
	if m.rest[i]--; m.rest[i] == 0 {
		m.copyPicked(d)
		m.begin()
	}
}

func (m *mixer) copyPicked(d plan.Chunk) {
	if len(m.order) == 0 {
		return
	}
	m.parts, m.places, m.cursors = m.parts[:0], m.places[:0], m.cursors[:0]
	for i := range m.ins {
		in := &m.ins[i]
		var c plan.Chunk
		if in.ready() {
			c = *in.q.front()
		}
		m.parts, m.places, m.cursors = append(m.parts, c), append(m.places, in.at), append(m.cursors, &in.ids)
	}
	d.Gather(m.parts, m.places, m.order)
	if m.mix.How == plan.InputOrder && !m.keeps {
		d.Head().IDs.Restore(m.cursors, m.order, m.mix.Fork)
	} else {
		d.Head().IDs.Gather(m.cursors, m.order)
	}
	for i := range m.ins {
		if n := m.places[i] - m.ins[i].at; n > 0 {
			m.taken(i, n)
		}
	}
}

// gather hands on what has been picked.
func (m *mixer) gather(d plan.Chunk) bool {
	m.copyPicked(d)
	return m.give(d)
}

// weigh begins the draws of an epoch.
func (m *mixer) weigh() {
	if m.mix.How == plan.Weighted {
		m.random = rand.NewPCG(m.mix.Seed, uint64(m.epoch))
		m.draws.fill(m.mix.Weights)
	}
}

// weighted takes from the input that is drawn, and waits for it. An input that is found to be through has no weight for
// the rest of the epoch, so the order follows from the data, not from when it comes.
func (m *mixer) weighted(credit int) (bool, int) {
	if m.ending {
		return false, m.stuck() // the inputs end by themselves
	}
	most := min(credit, mostTaken)
	if n := m.mix.EpochItems; n > 0 {
		if m.count >= n {
			m.mark(m.epoch)
			m.newEpoch()
			return true, -1
		}
		most = int(min(int64(most), n-m.count))
	}
	d := m.spec.Pool.Get(most)
	for m.begin(); d.Len()+len(m.order) < most; {
		if m.drawn < 0 {
			m.drawn = m.draws.draw(m.random.Uint64())
		}
		i := m.drawn
		in := &m.ins[i]
		if in.ready() {
			m.pick(d, i)
			m.drawn = -1
			m.count++
			continue
		}
		if !in.through() {
			return m.gather(d), i
		}
		if m.mix.UntilFirstEnd {
			moved := m.gather(d)
			return m.firstEnd(i) || moved, m.stuck()
		}
		m.drawn = -1
		m.draws.remove(i)
		if m.allThrough() {
			break
		}
	}
	return m.gather(d), -1
}

func (m *mixer) allThrough() bool {
	for i := range m.ins {
		if !m.ins[i].through() {
			return false
		}
	}
	return true
}

// firstEnd ends the epoch because input i has: what the others have left of theirs is dropped. If it has ended for good,
// so does the stream.
func (m *mixer) firstEnd(i int) bool {
	if !m.ins[i].parked {
		m.ending = true
		for k := range m.ins {
			m.ins[k].parked = false
			m.settle(k)
		}
		for _, t := range m.taps {
			t.gate.Drain()
			t.cancel()
		}
		return true
	}
	moved := false
	for _, t := range m.taps {
		t.gate.Skip(m.epoch)
	}
	for k := range m.ins {
		in := &m.ins[k]
		if !in.through() && !in.dropped {
			in.dropped, moved = true, true
			m.settle(k)
		}
	}
	return moved
}
