package actors

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// rejoin makes batches whole, in the order in which they were split.
type rejoin struct {
	m      *mixer
	last   *plan.Deal  // the batch that was joined last: a part of it that comes now comes twice
	joined []plan.Part // this and the following are scratch
	ids    plan.IDs
}

func (*rejoin) newEpoch() {} // no batch stands across the end of one

func (r *rejoin) step(credit int) (bool, int) {
	m := r.m
	most := min(credit, mostTaken)
	d := m.spec.Pool.Get(most)
	for d.Len() < most {
		if ok, blocked := r.one(d); m.over {
			return true, -1
		} else if !ok {
			return m.give(d), blocked
		}
	}
	return m.give(d), -1
}

// one makes one batch whole, and appends it to d. It returns false if it cannot, and the input that it waits for.
func (r *rejoin) one(d plan.Chunk) (bool, int) {
	m := r.m
	i, limit, of := m.first()
	if i < 0 {
		return false, of
	}
	at := m.ins[i].pos
	if of >= 0 && limit <= at && !m.ins[of].ready() {
		return false, of // its part may still come
	}
	r.joined = r.joined[:0]
	var whole *plan.Deal
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
				batch, kept := in.ids.DealOf(m.mix.Fork)
				fits = fits && batch != nil && (whole == nil || whole == batch) && batch != r.last
				part, whole = plan.Part{Chunk: *in.q.front(), At: in.at, Kept: kept}, batch
			}
		}
		r.joined = append(r.joined, part)
	}
	if !fits { // something has come back twice, or was never a part
		r.misfit(d, i, m.mix.Stray)
		return false, -1
	}
	kept, branch, err := m.mix.Join(d, r.joined, whole.To)
	if err != nil {
		r.misfit(d, branch, err)
		return false, -1
	}
	for k, p := range r.joined {
		if p.Chunk != nil {
			in := &m.ins[k]
			in.ids.CopyTo(&r.ids, in.at+1)
			in.pass(1)
			in.low++ // it had one part of the batch
			in.known = false
			m.taken(k, 1)
		}
	}
	r.last = whole
	whole.Join(&d.Head().IDs, &r.ids, kept)
	return true, -1
}

// misfit hands on d, and fails the run with the batch that is at hand: the part of input i does not fit.
func (r *rejoin) misfit(d plan.Chunk, i int, err error) {
	m := r.m
	m.give(d)
	h := (*m.ins[i].q.front()).Head()
	item := &stages.ItemError{Stage: m.spec.Name, Item: stages.IDOf(m.run.graph, h.IDs.At(m.ins[i].at)), Attempts: 1, Err: err}
	m.run.lastFailed.Store(item)
	var t plan.Tally
	m.run.watch(&t)
	for _, p := range r.joined {
		if p.Chunk != nil {
			t.Settle(&p.Chunk.Head().IDs, p.At, p.At+1, plan.Failed)
		}
	}
	m.run.settle(&t)
	m.run.fail(m.spec, m.run.failedForGood(m.spec, item, false, false))
	m.end(true)
}
