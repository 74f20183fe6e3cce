package actors

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// Inputs that leave a region by parts, in several frames. Each is a family from its first part on, and itself a member of it
// until it is done; so its fate is that of all of it, whichever node has made which part.

// An endedInput is one that is done, and what has become of the rest of it.
type endedInput struct {
	in   inputOf
	of   *plan.Family
	fate plan.Fate
}

// family returns that of an input: a new one if nothing of it has come. It goes on under the input's own name.
func (b *builder) family(in inputOf) *plan.Family {
	fam := b.a.live[in]
	if fam == nil {
		var one plan.IDs
		b.a.sources(&one, in.EpochOf, in.index, 1)
		fam = plan.NewForeign(&one, []string{""})
		b.a.live[in] = fam
	}
	return fam
}

// finish notes inputs that are done, and returns how many have not failed. Outputs in this frame come first.
func (b *builder) finish(s wire.Span) (finished int64) {
	for i := s.From; i < s.To; i++ {
		in := inputOf{EpochOf{s.Source, s.Epoch}, i}
		b.ended = append(b.ended, endedInput{in, b.family(in), plan.Fate(s.Fate)})
		if plan.Fate(s.Fate)&plan.Failed == 0 {
			finished++
		}
	}
	return finished
}

// partOf appends inputs, or one of which it is parts: those share their fate with what they are in.
func (b *builder) partOf(p *plan.IDs, k wire.Member) {
	n := k.N
	if k.Path != "" {
		n = 1
	}
	for i := range n {
		fam := b.family(inputOf{EpochOf{k.Source, k.Epoch}, k.Index + i})
		fam.Grow(1)
		p.Members(fam, 0, 1)
	}
}

// over settles the inputs that are done: their outputs are alive.
func (b *builder) over() {
	for _, e := range b.ended {
		delete(b.a.live, e.in)
		if e.fate&plan.Failed != 0 {
			b.f.partly = append(b.f.partly, e.of) // behind its failures
		} else {
			e.of.Settle(&b.a.tally, e.fate) // delivered: to a sink
		}
	}
}
