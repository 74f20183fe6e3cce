package actors

import (
	"strconv"
	"strings"

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

// begin says that inputs leave by parts, and notes the parts that have failed.
func (b *builder) begin() {
	b.parts = true
	for i := range b.m.Failed {
		id := b.m.Failed[i].Identity
		fam := b.family(inputOf{EpochOf{id.Source, id.Epoch}, id.Index}, false)
		fam.Grow(1)
		b.f.partly = append(b.f.partly, fam)
	}
}

// family returns that of an input: a new one if nothing of it has come, for an input that comes out whole if whole says so.
func (b *builder) family(in inputOf, whole bool) *plan.Family {
	whole = whole || !b.a.s.spec.Far.Region.Parts
	fam := b.a.live[in]
	if fam == nil {
		var one plan.IDs
		b.a.sources(&one, in.EpochOf, in.index, 1)
		at := one.From(0)
		if fam = plan.NewFamily(&b.a.tally, at.Peek(), 1); whole {
			fam = plan.NewForeign(&one, []string{""}) // which goes on under its own name
		}
		b.a.live[in] = fam
	}
	return fam
}

// finish notes inputs that are done, and returns how many have not failed. Outputs in this frame come first.
func (b *builder) finish(s wire.Span) (finished int64) {
	for i := s.From; i < s.To; i++ {
		in := inputOf{EpochOf{s.Source, s.Epoch}, i}
		b.ended = append(b.ended, endedInput{in, b.family(in, false), plan.Fate(s.Fate)})
		if plan.Fate(s.Fate)&plan.Failed == 0 {
			finished++
		}
	}
	return finished
}

// partOf appends the parts of an input that an output was made of.
func (b *builder) partOf(p *plan.IDs, k wire.Member) {
	if k.Path == "" {
		for n := range k.N {
			fam := b.family(inputOf{EpochOf{k.Source, k.Epoch}, k.Index + n}, true)
			fam.Grow(1)
			p.Members(fam, 0, 1)
		}
		return
	}
	fam := b.family(inputOf{EpochOf{k.Source, k.Epoch}, k.Index}, false)
	fam.Grow(int(k.N))
	p.Members(fam, lastNumber(k.Path), int(k.N))
}

// lastNumber is the last number of a path.
func lastNumber(path string) int {
	n, _ := strconv.Atoi(path[strings.LastIndexByte(path, '.')+1:])
	return n
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
