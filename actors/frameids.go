package actors

import (
	"errors"
	"fmt"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// The identities of what comes out of a stream region: what was made of which items of its sources.

// An inputOf is one item of a source.
type inputOf struct {
	EpochOf
	index int64
}

// identities decodes the outputs of a frame into its parts, and says in the account what was filtered. It returns how many items
// are done and have not failed.
func (a *framer) identities(m *wire.Frame, f *framed) (finished int64) {
	f.faults = a.faultsOf(m)
	r := a.s.spec.Far.Region
	b := &builder{a: a, m: m, f: f, ordered: r.Ordered, parts: r.Parts}
	var span plan.IDs
	for _, s := range m.Done {
		if b.parts {
			break
		}
		switch plan.Fate(s.Fate) {
		case plan.Filtered:
			span.Reset()
			a.sources(&span, EpochOf{s.Source, s.Epoch}, s.From, s.To-s.From)
			a.tally.Settle(&span, 0, span.Len(), plan.Filtered)
		case plan.Failed:
			a.sources(&f.failed, EpochOf{s.Source, s.Epoch}, s.From, s.To-s.From)
			continue
		}
		finished += s.To - s.From
	}
	b.build()
	finished -= b.counted
	if b.parts {
		for _, s := range m.Done {
			finished += b.finish(s)
		}
		b.over()
	}
	return finished
}

// whole refuses a frame in which inputs are in parts, or done without their outputs, where that is not possible.
func (a *framer) whole(m *wire.Frame) error {
	if a.s.spec.Far.Region.Parts {
		return nil
	}
	done, named := map[EpochOf]*plan.Spans{}, int64(0)
	for _, s := range m.Done {
		switch at := (EpochOf{s.Source, s.Epoch}); plan.Fate(s.Fate) {
		case plan.Delivered:
			if done[at] == nil {
				done[at] = &plan.Spans{}
			}
			done[at].Add(s.From, s.To)
			named -= s.To - s.From
		case plan.Delivered | plan.Failed:
			return fmt.Errorf("the node speaks of input %d as failed in part", s.From)
		}
	}
	var of EpochOf
	var d *plan.Spans // of it
	for i := range m.Outputs {
		for _, k := range m.Outputs[i].Members {
			if at := (EpochOf{k.Source, k.Epoch}); d == nil || at != of {
				of, d = at, done[at]
			}
			if k.Path != "" || d == nil || d.From(k.Index, k.N) < k.N {
				return fmt.Errorf("the node speaks of a part of input %d", k.Index)
			}
			named += k.N
		}
	}
	if named != 0 {
		return errors.New("the node does not say what has become of its inputs")
	}
	return nil
}

// A builder makes the parts of a frame.
type builder struct {
	a       *framer
	m       *wire.Frame
	f       *framed
	part    plan.Chunk
	ends    int          // of epochs that stand in the parts
	ordered bool         // failures have their places between outputs
	counted int64        // items of the sources that the steps count
	here    int64        // and of those the ones in part
	parts   bool         // inputs leave by parts: all of them are families
	ended   []endedInput // of those: what is done
}

func (b *builder) build() {
	outs := b.m.Outputs
	for i := 0; i < len(outs); {
		n := 1 // with siblings
		for i+n < len(outs) && outs[i+n].Sibling {
			n++
		}
		b.end(i)
		b.group(outs[i : i+n])
		i += n
	}
	b.end(len(outs))
	b.flush()
	b.fails()
}

// end puts the ends of epochs that stand behind the first n outputs.
func (b *builder) end(n int) {
	for ; b.ends < len(b.m.Epochs) && b.m.Epochs[b.ends].After <= n; b.ends++ {
		e := b.m.Epochs[b.ends].Epoch
		b.at(e)
		b.part.Head().Last = true
		b.flush()
	}
}

// at sees to a part of that epoch.
func (b *builder) at(epoch int) {
	if b.part != nil && b.part.Head().Epoch != epoch {
		b.flush()
	}
	if b.part == nil {
		b.part = b.a.s.spec.Pool.Get(len(b.m.Outputs))
		b.part.Head().Epoch = epoch
	}
}

func (b *builder) flush() {
	if b.part != nil {
		b.f.steps = append(b.f.steps, step{part: b.part, finished: b.here})
		b.part, b.here = nil, 0
	}
}

// before puts the failures of items that come before an output in their places.
func (b *builder) before(members []wire.Member) {
	if len(b.f.faults) == 0 || !b.ordered || len(members) == 0 {
		return
	}
	last := members[len(members)-1]
	n := 0
	for _, k := range b.f.faults {
		switch at := last.Index + last.N - 1; {
		case k.id.Source != last.Source || k.id.Epoch > last.Epoch || k.id.Epoch == last.Epoch && k.id.Index >= at:
			b.f.faults[n] = k
			n++
		default:
			b.flush()
			b.f.steps = append(b.f.steps, step{fault: k})
		}
	}
	b.f.faults = b.f.faults[:n]
}

// fails puts the failures that have no place between outputs behind them.
func (b *builder) fails() {
	for _, k := range b.f.faults {
		b.f.steps = append(b.f.steps, step{fault: k})
	}
	b.f.faults = nil
}

// group adds outputs that were made of the same items.
func (b *builder) group(outs []wire.FrameOutput) {
	b.before(outs[0].Members)
	if outs[0].Failed {
		lost := b.parents(outs[0].Members)
		b.f.failed.Range(&lost, 0, lost.Len())
		return
	}
	b.at(outs[0].Epoch)
	var paths []string
	for i := range outs {
		if err := b.a.session.Unpack(b.part, outs[i].Payload); err != nil {
			b.refused(&outs[0], &outs[i], err)
			continue
		}
		paths = append(paths, outs[i].Path)
	}
	ids := &b.part.Head().IDs
	if first := outs[0].Members; !b.parts && len(first) == 1 && first[0].N == 1 && len(paths) == 1 && paths[0] == "" {
		b.a.sources(ids, EpochOf{first[0].Source, first[0].Epoch}, first[0].Index, 1)
		b.counted++
		b.here++
		return
	}
	parents := b.parents(outs[0].Members)
	switch {
	case len(paths) == 0:
		b.a.tally.Settle(&parents, 0, parents.Len(), plan.Failed)
		return
	case parents.Len() == 0: // made of nothing: it is nobody's
		var at plan.IDs
		at.Source(b.a.s.spec.Far.Region.From, outs[0].Epoch, 0, 1)
		c := at.From(0)
		ids.Merged(&b.a.tally, &parents, c.Peek(), len(paths))
		return
	}
	fam := plan.NewForeign(&parents, paths)
	if len(paths) < len(outs) {
		fam.Grow(1)
		b.f.partly = append(b.f.partly, fam)
	}
	ids.Members(fam, 0, len(paths))
}

// parents are the items that an output was made of.
func (b *builder) parents(members []wire.Member) (p plan.IDs) {
	for _, k := range members {
		if b.parts {
			b.partOf(&p, k)
		} else {
			b.a.sources(&p, EpochOf{k.Source, k.Epoch}, k.Index, k.N)
		}
	}
	return p
}

// refused notes an output that cannot be decoded.
func (b *builder) refused(first, o *wire.FrameOutput, err error) {
	spec := b.a.s.spec.Far.Of
	id := plan.ID{Source: b.a.s.spec.Far.Region.From, Path: o.Path}
	if len(first.Members) > 0 {
		k := first.Members[0]
		id.Source, id.Epoch, id.Index = k.Source, k.Epoch, k.Index
	}
	b.f.faults = append(b.f.faults, &fault{
		id: id, spec: spec, item: &stages.ItemError{Stage: spec.Name, Item: stages.IDOf(b.a.s.run.graph, b.a.named(id)), Attempts: 1, Err: err},
	})
}
