package supervisor

import (
	"slices"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// pack makes outputs of a chunk, and tells which of its items cannot be encoded: they have failed.
func (f *frames) pack(c plan.Chunk) (all []waiting, refused []int) {
	h := c.Head()
	at := h.IDs.From(0)
	n := c.Len()
	outs, again := f.memory(n)
	parts := f.t.region.Parts
	rows := !parts && !f.t.region.Several
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
			f.refused(run.ID(), err)
			refused = append(refused, i)
			before = plan.Run{}
			continue
		}
		src, plain := run.Plain()
		k := len(all) - 1
		switch {
		case plain && rows && k >= 0 && all[k].row && all[k].first+len(all[k].outs) == i && all[k].follows(src):
			all[k].outs = outs[all[k].first : i+1]
			all[k].roots[0].N++
		case plain && rows:
			src.N = 1
			all = append(all, waiting{outs: outs[i : i+1], first: i, row: true, roots: []plan.Root{src}, epoch: h.Epoch})
		case k >= 0 && all[k].first+len(all[k].outs) == i && run.Sibling(before):
			o.Path, o.Sibling = run.ID().Path, true
			all[k].outs = outs[all[k].first : i+1]
		default:
			o.Path = run.ID().Path
			w := waiting{outs: outs[i : i+1], first: i, epoch: h.Epoch}
			f.made(&w, run)
			all = append(all, w)
		}
		if parts {
			f.join(&all[len(all)-1], run)
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
func (f *frames) refused(id plan.ID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, failure{of: actors.EpochOf{Source: id.Source, Epoch: id.Epoch}, at: id.Index, rec: wire.Failure{
		Stage: f.t.region.To, Attempts: 1, Error: stages.EncodeError(f.t.graph, err),
		Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
	}})
}

// fill moves what is complete from the queue to a frame, and reports whether the frame is full.
func (f *frames) fill(m *wire.Frame) (full bool) {
	n := f.together()
	bytes := 0
	for n > 0 && len(f.queue.list) > 0 && bytes < maxFrame {
		w := f.queue.front()
		if w.ends {
			if !f.queue.all && !f.epochIsOver(w.epoch) {
				return false
			}
			m.Epochs = append(m.Epochs, wire.EpochEnd{Epoch: w.epoch, After: len(m.Outputs)})
			f.queue.pop()
			n--
			continue
		}
		k := f.complete(w)
		if k == 0 {
			return false
		}
		fit := w.fit(maxFrame - bytes)
		k = min(k, fit)
		set, ok := f.queue.closure(f)
		if !ok {
			return false
		}
		for _, w := range set {
			bytes += f.send1(m, w, k)
		}
		if k < len(w.outs) {
			f.queue.cut(k)
			return k == fit
		}
		f.queue.popFront()
		n--
	}
	return n > 0 && len(f.queue.list) > 0
}

// send1 adds the first k outputs of w to a frame, or all of them if they belong together, and returns their bytes.
func (f *frames) send1(m *wire.Frame, w *waiting, k int) (bytes int) {
	if !w.row {
		k = len(w.outs)
		w.outs[0].Members = w.members()
	} else {
		r := w.roots[0]
		f.members = slices.Grow(f.members, k)
		for i := range k {
			f.members = append(f.members, wire.Member{Source: r.Source, Epoch: r.Epoch, Index: r.Index + int64(i)*r.Step, N: 1})
			at := len(f.members)
			w.outs[i].Members = f.members[at-1 : at : at]
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
