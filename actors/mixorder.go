package actors

import (
	"math"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// The ways to mix that restore the order of a fork. Items of one input come in the order of their positions; marks say
// how far an input has come that gives nothing.

// locate finds where the next item of input i stands.
func (m *mixer) locate(in *inlet) {
	if in.known {
		return
	}
	pos, run, rising, ok := in.ids.Position(m.mix.Fork)
	if !ok || pos < in.low { // what an aggregate has held back stands where it is let go of
		pos, rising = in.low, false
	}
	in.known, in.pos, in.run, in.rising = true, pos, run, rising
}

// first returns the input whose next item stands first, and before which position it has to stop, on behalf of which
// other input. An item stands before another of the same position if its input comes first.
func (m *mixer) first() (best int, limit uint64, of int) {
	best, of, limit = -1, -1, math.MaxUint64
	var at uint64
	for i := range m.ins {
		in := &m.ins[i]
		low := in.low
		switch {
		case in.ready():
			m.locate(in)
			if low = in.pos; best < 0 || low < at {
				if best >= 0 && (at < limit || at == limit && best < of) {
					limit, of = at, best
				}
				best, at = i, low
				continue
			}
		case in.through():
			continue
		}
		if of < 0 || low < limit {
			limit, of = low, i
		}
	}
	return best, limit, of
}

// inOrder takes items in the order of their positions.
func (m *mixer) inOrder(credit int) (bool, int) {
	most := min(credit, mostTaken)
	d := m.spec.Pool.Get(most)
	for d.Len() < most {
		i, limit, of := m.first()
		if i < 0 {
			return m.give(d), of
		}
		in := &m.ins[i]
		n := min(in.run, most-d.Len())
		if of >= 0 {
			k := uint64(math.MaxUint64) // items that may go
			switch {
			case in.rising && i < of:
				k = limit - min(limit, in.pos) + 1
				if in.pos > limit {
					k = 0
				}
			case in.rising:
				k = limit - min(limit, in.pos)
			case in.pos > limit || in.pos == limit && i > of:
				k = 0
			}
			if k == 0 {
				return m.give(d), of
			}
			n = int(min(uint64(n), k))
		}
		m.takeInOrder(d, i, n)
	}
	return m.give(d), -1
}

// takeInOrder appends the next n items of input i, of one run, to d.
func (m *mixer) takeInOrder(d plan.Chunk, i, n int) {
	in := &m.ins[i]
	d.Copy(*in.q.front(), in.at, in.at+n)
	if !m.keeps {
		in.ids.Unsplit(&d.Head().IDs, in.at+n, m.mix.Fork)
	} else {
		in.ids.CopyTo(&d.Head().IDs, in.at+n)
	}
	in.low = in.pos
	if in.rising {
		in.low += uint64(n - 1)
	}
	if in.run -= n; in.run > 0 {
		if in.rising {
			in.pos += uint64(n)
		}
	} else {
		in.known = false
	}
	m.taken(i, n)
}

// rejoin makes one batch whole.
func (m *mixer) rejoin() (bool, int) {
	i, limit, of := m.first()
	if i < 0 {
		return false, of
	}
	at := m.ins[i].pos
	if of >= 0 && limit <= at && !m.ins[of].ready() {
		return false, of // its part may still come
	}
	m.joined = m.joined[:0]
	var to *plan.Shares
	fits := true
	for k := range m.ins {
		in := &m.ins[k]
		var part plan.Part
		switch {
		case !in.ready():
			if !in.through() && in.low <= at {
				return false, k
			}
		default:
			if m.locate(in); in.pos == at {
				of, kept := in.ids.ShareOf(m.mix.Fork)
				fits = fits && of != nil && (to == nil || to == of) && !of.Joined
				part, to = plan.Part{Chunk: *in.q.front(), At: in.at, Kept: kept}, of
			}
		}
		m.joined = append(m.joined, part)
	}
	if !fits { // something has come back twice, or was never a part
		m.misfit(i, -1)
		return false, -1
	}
	d := m.spec.Pool.Get(1)
	kept, branch, ok := m.mix.Join(d, m.joined, to.To)
	if !ok {
		d.Free()
		m.misfit(branch, branch)
		return false, -1
	}
	for k, p := range m.joined {
		if p.Chunk != nil {
			in := &m.ins[k]
			in.ids.CopyTo(&m.ids, in.at+1)
			in.low = in.pos + 1
			in.known = false
			m.taken(k, 1)
		}
	}
	to.Joined = true
	to.Join(&d.Head().IDs, &m.ids, kept)
	return m.give(d), -1
}

// misfit fails the run with the batch that is at hand: the part of input i does not fit.
func (m *mixer) misfit(i, branch int) {
	h := (*m.ins[i].q.front()).Head()
	item := &stages.ItemError{Stage: m.spec.Name, Item: stages.IDOf(m.run.graph, h.IDs.At(m.ins[i].at)), Attempts: 1, Err: stages.Misfit(branch)}
	m.stats.failed.Add(1)
	var t plan.Tally
	for _, p := range m.joined {
		if p.Chunk != nil {
			t.Settle(&p.Chunk.Head().IDs, p.At, p.At+1, plan.Failed)
		}
	}
	m.run.account.Add(&t)
	m.run.event(Failed{Err: item, Budget: 1})
	m.run.fail(m.spec, item)
	m.end(true)
}
