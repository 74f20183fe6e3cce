package supervisor

import (
	"cmp"
	"slices"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// How frames are made.

// pack makes outputs of a chunk, and tells which of its items cannot be encoded: they have failed.
func (f *frames) pack(c plan.Chunk) (all []waiting, refused []int) {
	h := c.Head()
	at := h.IDs.From(0)
	n := c.Len()
	outs, again := f.memory(n)
	var before plan.Run
	for i := range n {
		run := at.Next()
		o := &outs[i]
		o.Epoch = h.Epoch
		if !again {
			f.t.shared.packer.Leave()
		}
		var err error
		if o.Payload, err = f.t.shared.pack(c, i); err != nil {
			f.refused(run, err)
			refused = append(refused, i)
			before = plan.Run{}
			continue
		}
		src, plain := run.Plain()
		var last *waiting // that the output may belong to
		if k := len(all) - 1; k >= 0 && all[k].first+len(all[k].outs) == i {
			last = &all[k]
		}
		switch {
		case plain && last != nil && last.row && last.follows(src):
			last.outs = outs[last.first : i+1]
			last.root.N++
		case plain:
			src.N = 1
			all = append(all, waiting{outs: outs[i : i+1], first: i, row: true, root: src, epoch: h.Epoch})
		case last != nil && !last.row && (last.groups != nil && run.Sibling(before) || last.single && run.Follows(before)):
			o.Path, o.Sibling = run.ID().Path, true
			last.outs = outs[last.first : i+1]
			if last.single {
				last.leaves[0].N++
			}
		default:
			o.Path = run.ID().Path
			w := waiting{outs: outs[i : i+1], first: i, leaves: run.Leaves(nil), groups: run.Groups(nil), epoch: h.Epoch}
			w.single = w.groups == nil && len(w.leaves) == 1 && w.leaves[0].Path != ""
			all = append(all, w)
		}
		before = run
	}
	return all, refused
}

// memory returns room for n outputs. As long as none waits it is always the same, and so is that of what they are encoded to: what was
// sent is in messages.
func (f *frames) memory(n int) (outs []wire.FrameOutput, again bool) {
	f.mu.Lock()
	again = len(f.queue.list) == 0
	f.mu.Unlock()
	if again {
		clear(f.outs)
		f.t.shared.packer.Reset()
	}
	if !again || cap(f.outs) < n {
		f.outs = make([]wire.FrameOutput, n)
	}
	f.outs = f.outs[:n]
	return f.outs, again
}

// refused notes an output that cannot be encoded.
func (f *frames) refused(r plan.Run, err error) {
	id := r.ID()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(r, failure{of: actors.EpochOf{Source: id.Source, Epoch: id.Epoch}, at: id.Index, rec: wire.Failure{
		Stage: f.t.region.To, Attempts: 1, Error: stages.EncodeError(f.t.graph, err),
		Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
	}})
}

// fill moves what may leave from the queue to a frame, and reports whether there is more of it.
func (f *frames) fill(m *wire.Frame) (more bool) {
	q := &f.queue
	n := f.ready()
	bytes := 0
	for upto := 0; n > 0; {
		w := q.list[0]
		if bytes >= maxFrame && w.at >= upto { // nothing here must leave with what is in the frame
			return true
		}
		if w.ends {
			if !q.all && !f.epochIsOver(w.epoch) {
				return false
			}
			m.Epochs = append(m.Epochs, wire.EpochEnd{Epoch: w.epoch, After: len(m.Outputs)})
			q.pop(0)
			n--
			continue
		}
		for _, g := range w.groups {
			upto = max(upto, q.groups[g].last+1)
		}
		fit := len(w.outs)
		if w.at >= upto {
			fit = w.fit(maxFrame - bytes)
		}
		k := min(f.complete(w), fit)
		if w.rec != nil {
			m.Failed = append(m.Failed, w.rec.rec)
		}
		bytes += f.move(m, w, k)
		if q.pop(k); k < len(w.outs) {
			return k == fit
		}
		n--
	}
	return false
}

// move puts the first k outputs of w into a frame, and returns their bytes.
func (f *frames) move(m *wire.Frame, w *waiting, k int) (bytes int) {
	if w.row {
		f.members = slices.Grow(f.members, k)
		for i := range k {
			f.members = append(f.members, wire.Member{Source: w.root.Source, Epoch: w.root.Epoch, Index: w.root.Index + int64(i)*w.root.Step, N: 1})
			at := len(f.members)
			w.outs[i].Members = f.members[at-1 : at : at]
		}
	} else {
		w.outs[0].Members, w.outs[0].Sibling = w.members(), false
		if w.single {
			w.outs[0].Members[0].N = int64(k)
		}
	}
	for i := range w.outs[:k] {
		bytes += len(w.outs[i].Payload.Bytes)
	}
	if m.Outputs == nil {
		m.Outputs = w.outs[:k:k]
	} else {
		m.Outputs = append(m.Outputs, w.outs[:k]...)
	}
	return bytes
}

// takeOver returns what is done: what is over, and of which no output waits.
func (f *frames) takeOver() (all []wire.Span) {
	for at, set := range f.over {
		wait, last, behind := f.queue.wait[at], f.last[at], f.behind[at]
		var keep *overSet
		for fate := range set {
			for _, s := range set[fate].All() {
				for from := s.From; from < s.To; {
					to, held := s.To, false
					if wait != nil || last != nil || behind != nil {
						to = min(to, wait.Border(from), last.Border(from), behind.Border(from))
						held = wait.Has(from) || last.Has(from) || behind.Has(from)
					}
					if !held {
						all = append(all, wire.Span{Source: at.Source, Epoch: at.Epoch, From: from, To: to, Fate: uint8(fate)})
					} else {
						if keep == nil {
							keep = &overSet{}
						}
						keep[fate].Add(from, to)
					}
					from = to
				}
			}
		}
		if delete(f.over, at); keep != nil {
			f.over[at] = keep
		}
	}
	slices.SortFunc(all, func(a, b wire.Span) int {
		return cmp.Or(a.Source-b.Source, a.Epoch-b.Epoch, cmp.Compare(a.From, b.From))
	})
	return all
}

// epochIsOver reports whether nothing of an epoch is alive, not even on the way to a sink: those behind do not wait for it.
func (f *frames) epochIsOver(epoch int) bool {
	if !f.t.region.Epochs || f.fed != nil {
		return true
	}
	for at, p := range f.epochs {
		if at.Epoch == epoch && p.over.First() < p.upto {
			return false
		}
	}
	for at := range f.epochs {
		if at.Epoch <= epoch {
			delete(f.epochs, at)
		}
	}
	return true
}
