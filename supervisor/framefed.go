package supervisor

import (
	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// The inputs of a stream region that is fed by the coordinator: items of one more source, of which the index is the id.

// A fedItem is an input of which something is alive.
type fedItem struct {
	identity wire.Identity
	lent     payload.Ref // it lies in shared memory
}

// inputs hands the inputs of a message to the region, and the ends of epochs among them.
func (f *frames) inputs(m *wire.Task) {
	at := 0
	for _, e := range m.Ends {
		f.put(m.Items[at:e.After], true)
		at = e.After
		f.mu.Lock()
		f.epoch++
		f.mu.Unlock()
	}
	if at < len(m.Items) {
		f.put(m.Items[at:], false)
	}
}

func (f *frames) put(items []wire.Item, last bool) {
	c, source := f.t.actors.Inputs(len(items))
	h := c.Head()
	f.mu.Lock()
	h.Epoch, h.Last = f.epoch, last
	for i := range items {
		if len(f.fed) == 0 || items[i].ID < f.low {
			f.low = items[i].ID
		}
		f.fed[items[i].ID] = &fedItem{identity: items[i].Identity}
	}
	f.mu.Unlock()
	for i := range items {
		it := &items[i]
		var err error
		if f.t.actors.Apart(func() { err = c.Unpack(f.t.shared.unpacker, it.Payload) }); err != nil {
			f.refuse(source, it, err)
			continue
		}
		f.mu.Lock()
		f.fed[it.ID].lent = c.Lent(c.Len() - 1)
		f.mu.Unlock()
		h.IDs.Source(source, 0, int64(it.ID), 1)
	}
	f.t.actors.Put(c)
}

// refuse notes an input that cannot be decoded.
func (f *frames) refuse(source int, it *wire.Item, err error) {
	f.mu.Lock()
	f.failed = append(f.failed, failure{of: actors.EpochOf{Source: source}, at: int64(it.ID), rec: wire.Failure{
		Stage: f.t.region.From, Attempts: 1, Error: stages.EncodeError(f.t.graph, err),
		Identity: wire.Identity{Source: source, Index: int64(it.ID)},
	}})
	f.mu.Unlock()
	f.ended([]plan.End{{Source: source, Index: int64(it.ID), N: 1, Step: 1, Fate: plan.Failed}})
}

// leave lets go of the names of inputs. It is called with mu held.
func (f *frames) leave(e plan.End) {
	if f.fed == nil {
		return
	}
	for i := range e.N {
		id := uint64(e.Index + i*e.Step)
		if in := f.fed[id]; in != nil {
			in.lent.Release()
			delete(f.fed, id)
		}
	}
}

// first reports whether no input before id is alive. It is called with mu held.
func (f *frames) first(id int64) bool {
	for ; f.low < uint64(id) && f.fed[f.low] == nil; f.low++ {
	}
	return f.low >= uint64(id)
}

// rename gives items the names that they have in the run.
func (f *frames) rename(id plan.ID) plan.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := f.fed[uint64(id.Index)]
	if in == nil {
		return id // a function asks that its stage has gone on without
	}
	w := in.identity
	return plan.ID{Source: w.Source, Epoch: w.Epoch, Index: w.Index, Path: w.Path + id.Path}
}
