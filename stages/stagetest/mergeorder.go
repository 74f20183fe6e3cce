package stagetest

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// place is where the item at the front of an inlet stands in the order of fork.
func (in *inlet) place(fork int) uint64 {
	ids := in.q[0].Head().IDs.From(0)
	at, _, _, ok := ids.Position(fork)
	if !ok || at < in.low { // what an aggregate has held back stands where it is let go of
		return in.low
	}
	return at
}

// first returns the input whose item stands first, and where: -1 if another may still come before it. Of one place, the
// earlier input comes first.
func (m *merge) first() (best int, at uint64) {
	best, blocked, low := -1, -1, uint64(0)
	for i := range m.ins {
		in := &m.ins[i]
		switch {
		case in.ready():
			if p := in.place(m.mix.Fork); best < 0 || p < at {
				best, at = i, p
			}
		case !in.parked && (blocked < 0 || in.low < low):
			blocked, low = i, in.low
		}
	}
	if best < 0 || blocked >= 0 && (low < at || low == at && blocked < best) {
		return -1, 0
	}
	return best, at
}

// inOrder takes the item that stands first.
func (m *merge) inOrder() int {
	i, at := m.first()
	if i >= 0 {
		m.ins[i].low = at
	}
	return i
}

// rejoin makes one batch whole.
func (m *merge) rejoin() bool {
	first, at := m.first()
	if first < 0 {
		return false
	}
	parts := make([]plan.Part, len(m.ins))
	var to *plan.Deal
	fits := true
	for k := range m.ins {
		in := &m.ins[k]
		switch {
		case !in.ready():
			if !in.parked && in.low <= at {
				return false // its part may still come
			}
		case in.place(m.mix.Fork) == at:
			ids := in.q[0].Head().IDs.From(0)
			of, kept := ids.DealOf(m.mix.Fork)
			fits = fits && of != nil && (to == nil || to == of) && of != m.whole
			parts[k], to = plan.Part{Chunk: in.q[0], Kept: kept}, of
		}
	}
	if !fits { // something has come back twice, or was never a part
		m.misfit(parts, first, m.mix.Stray)
		return false
	}
	d := m.spec.Pool.Get(1)
	kept, branch, err := m.mix.Join(d, parts, to.To)
	if err != nil {
		m.misfit(parts, branch, err)
		return false
	}
	var ids plan.IDs
	for k, p := range parts {
		if p.Chunk == nil {
			continue
		}
		ids.Range(&p.Chunk.Head().IDs, 0, 1)
		m.ins[k].low = at + 1
		m.pop(k)
		m.settle(k)
	}
	m.whole = to
	to.Join(&d.Head().IDs, &ids, kept)
	m.give(d)
	return true
}

// misfit fails the run with the batch that is at hand: the part of input i does not fit.
func (m *merge) misfit(parts []plan.Part, i int, err error) {
	item := &stages.ItemError{Stage: m.spec.Name, Item: stages.IDOf(m.w.graph, m.ins[i].q[0].Head().IDs.At(0)), Attempts: 1, Err: err}
	for _, p := range parts {
		if p.Chunk != nil {
			m.w.settle(p.Chunk, plan.Failed)
		}
	}
	m.w.failed = append(m.w.failed, item)
	m.fail(item)
}
