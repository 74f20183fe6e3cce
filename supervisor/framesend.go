package supervisor

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// add takes what has come out, and sends what is complete.
func (f *frames) add(c plan.Chunk) {
	all, refused := f.pack(c)
	h := c.Head()
	f.mu.Lock()
	for i := range all {
		f.queue.push(all[i])
	}
	if h.Last {
		f.queue.push(waiting{ends: true, epoch: h.Epoch})
	}
	f.busy = true
	f.mu.Unlock()
	fate := plan.Delivered
	if r := f.t.region; r.Several || r.Parts {
		fate = plan.Filtered // what comes of its outputs is not known here: delivered is only what a sink has got
	}
	f.t.actors.Outlet().DoneBut(c, c.Len(), refused, fate) // ended is called in here
	f.mu.Lock()
	f.busy = false
	f.flush()
	f.mu.Unlock()
	f.t.sendStatsAtTimes()
}

// pack makes outputs of a chunk, and tells which of its items cannot be encoded: they have failed.
func (f *frames) pack(c plan.Chunk) (all []waiting, refused []int) {
	h := c.Head()
	at := h.IDs.From(0)
	n := c.Len()
	outs := make([]wire.FrameOutput, n)
	parts := f.t.region.Parts
	rows := !parts && !f.t.region.Several
	var before plan.Run
	for i := range n {
		run := at.Next()
		o := &outs[i]
		o.Epoch = h.Epoch
		f.t.shared.packer.Leave()
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

// flush sends what is complete, if there is anything; outputs only as far as they may be sent. It is called with mu held, so that
// frames leave in order.
func (f *frames) flush() {
	for f.sendFrame() {
	}
}

// sendFrame sends one frame, and reports whether there may be more to send.
func (f *frames) sendFrame() (more bool) {
	m := &wire.Frame{Seq: f.seq}
	if f.sent < f.allowed || f.queue.all {
		if len(f.units) > 0 {
			f.release()
		}
		more = f.take(m)
	}
	m.Done = f.takeOver()
	m.Failed = f.takeFailed(m.Done)
	if len(m.Outputs) == 0 && len(m.Epochs) == 0 && len(m.Done) == 0 && len(m.Failed) == 0 && len(f.yielded) == 0 {
		return false
	}
	m.Yielded = f.takeYielded()
	f.pending = 0
	f.urgent = false
	f.seq++
	if len(m.Outputs) > 0 {
		f.sent++
	}
	f.t.peer.Send(m)
	return more
}

// take moves what is complete from the queue to a frame, and reports whether the frame is full.
func (f *frames) take(m *wire.Frame) (full bool) {
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
		slab := make([]wire.Member, k)
		for i := range slab {
			slab[i] = wire.Member{Source: r.Source, Epoch: r.Epoch, Index: r.Index + int64(i)*r.Step, N: 1}
			w.outs[i].Members = slab[i : i+1 : i+1]
		}
	}
	for i := range w.outs[:k] {
		bytes += len(w.outs[i].Payload.Bytes)
	}
	m.Outputs = append(m.Outputs, w.outs[:k]...)
	return bytes
}

// made notes what an output was made of.
func (f *frames) made(w *waiting, r plan.Run) {
	if !f.t.region.Parts {
		w.roots = r.Roots(nil)
		return
	}
	w.leaves = r.Leaves(nil)
	for _, l := range w.leaves {
		n := l.N
		if l.Path != "" {
			n = 1
		}
		w.roots = append(w.roots, plan.Root{Source: l.Source, Epoch: l.Epoch, Index: l.Index, N: n, Step: 1})
	}
}

// join has an output wait for those that were made together with it.
func (f *frames) join(w *waiting, r plan.Run) {
	key, n := r.Together()
	if key == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.groups[key] == nil {
		f.groups[key] = &siblings{left: n}
	}
	w.group = f.groups[key]
	if w.group.left--; w.group.left == 0 {
		delete(f.groups, key)
	}
}
