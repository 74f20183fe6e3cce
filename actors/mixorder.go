package actors

import (
	"fmt"
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
	pos, run, step, ok := in.look.Position(m.mix.Fork)
	if !ok || pos < in.low { // what an aggregate has held back stands where it is let go of
		pos, step = in.low, 0
	}
	in.known, in.pos, in.run, in.step = true, pos, run, uint64(step)
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

// manyInOrder is how many items of one input are copied at once, rather than picked one by one.
const manyInOrder = 16

// inOrder takes items in the order of their positions.
func (m *mixer) inOrder(credit int) (bool, int) {
	most := min(credit, mostTaken)
	d := m.spec.Pool.Get(most)
	for m.begin(); d.Len()+len(m.order) < most; {
		i, limit, of := m.first()
		if i < 0 {
			return m.gather(d), of
		}
		in := &m.ins[i]
		n := min(in.run, most-d.Len()-len(m.order))
		if of >= 0 {
			last := limit // the last position that may go
			if i > of {
				last--
			}
			if in.pos > last {
				return m.gather(d), of
			}
			if in.step > 0 {
				n = int(min(uint64(n), (last-in.pos)/in.step+1))
			}
		}
		in.pass(n)
		if n >= manyInOrder {
			m.copyPicked(d)
			m.takeInOrder(d, i, n)
			m.begin()
			continue
		}
		for range n {
			m.pick(d, i)
		}
	}
	return m.gather(d), -1
}

// takeInOrder appends the next n items of input i to d.
func (m *mixer) takeInOrder(d plan.Chunk, i, n int) {
	in := &m.ins[i]
	d.Copy(*in.q.front(), in.at, in.at+n)
	if m.keeps {
		in.ids.CopyTo(&d.Head().IDs, in.at+n)
	} else {
		in.ids.Unsplit(&d.Head().IDs, in.at+n, m.mix.Fork)
	}
	m.taken(i, n)
}

// rejoin makes batches whole.
func (m *mixer) rejoin(credit int) (bool, int) {
	most := min(credit, mostTaken)
	d := m.spec.Pool.Get(most)
	for d.Len() < most {
		if ok, blocked := m.rejoinOne(d); m.over {
			return true, -1
		} else if !ok {
			return m.give(d), blocked
		}
	}
	return m.give(d), -1
}

// rejoinOne makes one batch whole, and appends it to d. It returns false if it cannot, and the input that it waits for.
func (m *mixer) rejoinOne(d plan.Chunk) (bool, int) {
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
				fits = fits && of != nil && (to == nil || to == of) && of != m.whole
				part, to = plan.Part{Chunk: *in.q.front(), At: in.at, Kept: kept}, of
			}
		}
		m.joined = append(m.joined, part)
	}
	if !fits { // something has come back twice, or was never a part
		m.misfit(d, i, -1)
		return false, -1
	}
	kept, branch, ok := m.mix.Join(d, m.joined, to.To)
	if !ok {
		m.misfit(d, branch, branch)
		return false, -1
	}
	for k, p := range m.joined {
		if p.Chunk != nil {
			in := &m.ins[k]
			in.ids.CopyTo(&m.ids, in.at+1)
			in.pass(1)
			in.low++ // it had one part of the batch
			in.known = false
			m.taken(k, 1)
		}
	}
	m.whole = to
	to.Join(&d.Head().IDs, &m.ids, kept)
	return true, -1
}

// misfit hands on d, and fails the run with the batch that is at hand: the part of input i, and branch, does not fit; a
// negative branch says that it is no part at all.
func (m *mixer) misfit(d plan.Chunk, i, branch int) {
	m.give(d)
	h := (*m.ins[i].q.front()).Head()
	err := fmt.Errorf("that of branch %d has not as many elements as it had: %w", branch, stages.ErrRejoin)
	if branch < 0 {
		err = fmt.Errorf("it is no part of the batch, or comes twice: %w", stages.ErrRejoin)
	}
	item := &stages.ItemError{Stage: m.spec.Name, Item: stages.IDOf(m.run.graph, h.IDs.At(m.ins[i].at)), Attempts: 1, Err: err}
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
