package supervisor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A gather collects what comes of each input of a keyed region, and sends it when nothing of the input is alive any more.
type gather struct {
	t *tenancy

	mu      sync.Mutex
	inputs  map[uint64]*input    // guarded by mu: those of which something is alive, by id
	payload map[letterKey][]byte // guarded by mu: items of dead letters
	packed  []packed             // of the sender
}

// An input is one that is worked on, and what has come of it so far.
type input struct {
	identity wire.Identity
	tried    int // times, by nodes that are gone
	entry    wire.Entry
	size     extent         // of the entry
	large    bool           // it cannot be sent, and has failed
	lent     payload.Ref    // the input itself, if it lies in shared memory
	one      [1]wire.Output // memory for the usual case
}

type letterKey struct {
	stage string
	item  stages.ID
}

func newGather(t *tenancy) *gather {
	return &gather{t: t, inputs: map[uint64]*input{}, payload: map[letterKey][]byte{}}
}

// take hands the inputs of a message to the region.
func (g *gather) take(m *wire.Task) {
	c, source := g.t.actors.Inputs(len(m.Items))
	ids := &c.Head().IDs
	all := make([]input, len(m.Items))
	g.mu.Lock()
	for i := range m.Items {
		in := &all[i]
		in.identity, in.tried = m.Items[i].Identity, m.Items[i].Attempt
		in.entry.ID, in.entry.Outputs = m.Items[i].ID, in.one[:0]
		g.inputs[in.entry.ID] = in
	}
	g.mu.Unlock()
	var refused []wire.Entry
	refuse := func(i int, err error) {
		refused = append(refused, wire.Entry{ID: m.Items[i].ID, Failures: []wire.Failure{{
			Stage: g.t.region.From, Identity: m.Items[i].Identity, Attempts: 1, Error: stages.EncodeError(g.t.graph, err),
		}}})
	}
	plan.ApartEach(len(m.Items), func(i int) {
		if err := c.Unpack(g.t.shared.unpacker, m.Items[i].Payload); err != nil {
			refuse(i, err)
			return
		}
		all[i].lent = c.Lent(c.Len() - 1)
		ids.Source(source, 0, int64(m.Items[i].ID), 1)
	}, func(i int) { refuse(i, errGoexit) })
	if len(refused) > 0 {
		g.mu.Lock()
		for i := range refused {
			delete(g.inputs, refused[i].ID)
		}
		g.mu.Unlock()
		g.t.peer.Send(&wire.Result{Entries: refused})
	}
	if c.Len() == 0 {
		c.Free()
		return
	}
	g.t.actors.Put(c)
}

// errGoexit is what is wrong with an item of which the methods have ended their goroutine.
var errGoexit = errors.New("its methods called runtime.Goexit")

// add takes what has come out.
func (g *gather) add(c plan.Chunk) {
	n := c.Len()
	g.packed = g.packed[:0]
	plan.ApartEach(n, func(i int) {
		g.t.shared.packer.Leave()
		p, err := g.t.shared.pack(c, i)
		g.packed = append(g.packed, packed{p, err})
	}, func(int) { g.packed = append(g.packed, packed{err: errGoexit}) })
	at := c.Head().IDs.From(0)
	g.mu.Lock()
	for i := range n {
		id := at.Next().ID()
		in := g.inputs[uint64(id.Index)]
		if err := g.packed[i].err; err != nil {
			g.fail(in, wire.Failure{Stage: g.t.region.To, Identity: in.named(id.Path), Attempts: 1, Error: stages.EncodeError(g.t.graph, err)})
			continue
		}
		g.put(in, wire.Output{Path: id.Path, Payload: g.packed[i].payload})
	}
	g.mu.Unlock()
	clear(g.packed)
	g.t.actors.Outlet().Done(c, n) // over is called in here
}

// A packed is an output that is to be noted with its input.
type packed struct {
	payload wire.Payload
	err     error
}

// named is the name, in the run, of what has come of the input.
func (in *input) named(path string) wire.Identity {
	w := in.identity
	w.Path += path
	return w
}

// over sends what has come of inputs of which nothing is alive any more.
func (g *gather) over(ends []plan.End) {
	var over []*input
	g.mu.Lock()
	for _, e := range ends {
		for i := range e.N {
			id := uint64(e.Index + i*e.Step)
			over = append(over, g.inputs[id])
			delete(g.inputs, id)
		}
	}
	g.mu.Unlock()
	slices.SortFunc(over, func(a, b *input) int { return cmp.Compare(a.entry.ID, b.entry.ID) })
	g.t.sendStatsAtTimes()
	for _, in := range over {
		in.lent.Release()
	}
	g.send(over)
}

// failed notes an item of the region that has failed for good.
func (g *gather) failed(f actors.Fault) {
	w := wire.Failure{Stage: f.Stage.Index, Attempts: f.Err.Attempts, Fatal: f.Fatal, Hung: f.Hung, Finished: f.Finished, Error: stages.EncodeError(g.t.graph, f.Err.Err)}
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.Letter {
		key := letterKey{f.Err.Stage, f.Err.Item}
		w.Lettered, w.Letter = true, wire.Payload{Bytes: g.payload[key]}
		delete(g.payload, key)
	}
	in := g.inputs[uint64(f.Root.Index)]
	w.Identity = in.named(f.Root.Path)
	g.fail(in, w)
}

// rename gives items the names that they have in the run.
func (g *gather) rename(id plan.ID) plan.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	in := g.inputs[uint64(id.Index)]
	if in == nil {
		return id // a function asks that its stage has gone on without
	}
	w := in.named(id.Path)
	return plan.ID{Source: w.Source, Epoch: w.Epoch, Index: w.Index, Path: w.Path}
}

// tried returns how often an item has been tried by nodes that are gone.
func (g *gather) tried(_ int, id plan.ID) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if in := g.inputs[uint64(id.Index)]; in != nil {
		return in.tried
	}
	return 0
}

// A keeper is a dead-letter sink that keeps the items for failed.
type keeper struct{ g *gather }

// Write implements stages.LetterWriter.
func (k keeper) Write(_ context.Context, l stages.Letter) error {
	k.g.mu.Lock()
	defer k.g.mu.Unlock()
	k.g.payload[letterKey{l.Stage, l.Item}] = append([]byte(nil), l.Payload...)
	return nil
}

// Sync implements stages.LetterWriter: failed sends.
func (keeper) Sync() error { return nil }

// Close implements stages.LetterWriter.
func (keeper) Close() error { return nil }
