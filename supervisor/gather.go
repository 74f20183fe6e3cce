package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/link"
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
	buf     []byte               // of the sender: payloads that have not been sent lie in it, or in one before
}

// An input is one that is worked on, and what has come of it so far.
type input struct {
	identity wire.Identity
	tried    int // times, by nodes that are gone
	entry    wire.Entry
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
		if err := c.Decode(g.t.graph.Codec, m.Items[i].Payload.Bytes); err != nil {
			refuse(i, err)
			return
		}
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
	ids := &c.Head().IDs
	n := c.Len()
	if len(g.buf) > 32<<10 {
		g.buf = make([]byte, 0, 64<<10) // the one before belongs to what lies in it
	}
	made := make([]encoded, n)
	plan.ApartEach(n, func(i int) {
		begin := len(g.buf)
		var err error
		if g.buf, err = encode(g.t.graph.Codec, g.buf, c, i); err != nil {
			made[i].err = err
			return
		}
		made[i].bytes = g.buf[begin:len(g.buf):len(g.buf)]
	}, func(i int) { made[i].err = errGoexit })
	at := ids.From(0)
	g.mu.Lock()
	for i := range made {
		id := at.Next().ID()
		in := g.inputs[uint64(id.Index)]
		if err := made[i].err; err != nil {
			in.fail(wire.Failure{Stage: g.t.region.To, Identity: in.named(id.Path), Attempts: 1, Error: stages.EncodeError(g.t.graph, err)})
			continue
		}
		in.entry.Outputs = append(in.entry.Outputs, wire.Output{Path: id.Path, Payload: wire.Payload{Bytes: made[i].bytes}})
	}
	g.mu.Unlock()
	g.t.actors.Outlet().Done(c, n) // over is called in here
}

// An encoded is an output that has been encoded, or could not be.
type encoded struct {
	bytes []byte
	err   error
}

// encode appends the encoding of item i of c to buf, and returns buf as it was if that cannot be. It runs user code.
func encode(codec codecs.Codec, buf []byte, c plan.Chunk, i int) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			value, stack := plan.Panicked(r)
			out, err = buf, fmt.Errorf("encoding it panicked: %v\n%s", value, stack)
		}
	}()
	out, err = c.Encode(codec, buf, i)
	if n := len(out) - len(buf); err == nil && n > wire.MaxPayload {
		err = fmt.Errorf("%w: %d bytes encoded, more than %d", codecs.ErrTooLarge, n, wire.MaxPayload)
	}
	if err != nil {
		return buf, err
	}
	return out, nil
}

func (in *input) fail(f wire.Failure) { in.entry.Failures = append(in.entry.Failures, f) }

// named is the name, in the run, of what has come of the input.
func (in *input) named(path string) wire.Identity {
	w := in.identity
	w.Path += path
	return w
}

// over sends what has come of inputs of which nothing is alive any more.
func (g *gather) over(ends []plan.End) {
	var all []*input
	g.mu.Lock()
	for _, e := range ends {
		for i := range e.N {
			id := uint64(e.Index + i*e.Step)
			all = append(all, g.inputs[id])
			delete(g.inputs, id)
		}
	}
	g.mu.Unlock()
	slices.SortFunc(all, func(a, b *input) int { return cmp.Compare(a.entry.ID, b.entry.ID) })
	g.t.sendStatsAtTimes()
	g.send(all)
}

// messageBytes is how many bytes of payloads a message has, about: who waits for its first entry waits for all of it.
const messageBytes = 256 << 10

// send sends what has come of inputs, in one message or several.
func (g *gather) send(all []*input) {
	var r wire.Result
	size := 0
	for i, in := range all {
		r.Entries = append(r.Entries, in.entry)
		if size += in.size(); size < messageBytes && i < len(all)-1 {
			continue
		}
		if !g.sent(&r) {
			for _, in := range all[i+1-len(r.Entries) : i+1] {
				g.sendAlone(in)
			}
		}
		r.Entries, size = r.Entries[:0], 0
	}
}

// size is how many bytes have come of the input.
func (in *input) size() (n int) {
	for k := range in.entry.Outputs {
		n += len(in.entry.Outputs[k].Payload.Bytes)
	}
	for k := range in.entry.Failures {
		n += len(in.entry.Failures[k].Letter.Bytes)
	}
	return n
}

// sent sends r, and reports whether it is not too large for that.
func (g *gather) sent(r *wire.Result) bool {
	_, large := errors.AsType[*link.TooLargeError](g.t.peer.Send(r))
	return !large
}

// sendAlone sends what has come of an input, which was too large together with others. If it still is, the input has failed.
func (g *gather) sendAlone(in *input) {
	if g.sent(&wire.Result{Entries: []wire.Entry{in.entry}}) {
		return
	}
	err := fmt.Errorf("%w: what came of one item has %d bytes, more than %d", codecs.ErrTooLarge, in.size(), link.MaxMessageBytes)
	in.entry.Outputs, in.entry.Failures = nil, nil
	in.fail(wire.Failure{Stage: g.t.region.To, Identity: in.identity, Attempts: 1, Error: stages.EncodeError(g.t.graph, err)})
	g.t.peer.Send(&wire.Result{Entries: []wire.Entry{in.entry}})
}

// failed notes an item of the region that has failed for good.
func (g *gather) failed(f actors.Fault) {
	w := wire.Failure{Stage: f.Stage.Index, Attempts: f.Err.Attempts, Fatal: f.Fatal, Hung: f.Hung, Error: stages.EncodeError(g.t.graph, f.Err.Err)}
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.Letter {
		key := letterKey{f.Err.Stage, f.Err.Item}
		w.Lettered, w.Letter = true, wire.Payload{Bytes: g.payload[key]}
		delete(g.payload, key)
	}
	in := g.inputs[uint64(f.Root.Index)]
	w.Identity = in.named(f.Root.Path)
	in.fail(w)
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
func (g *gather) tried(id plan.ID) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if in := g.inputs[uint64(id.Index)]; in != nil {
		return in.tried
	}
	return 0
}

// letters have the region's stages keep the items that have failed for good, to be sent with their failure.
func (g *gather) letters() (all []actors.Letters) {
	var with []int
	for _, i := range g.t.region.Stages {
		if g.t.graph.Stages[i].Policy.Letters != nil {
			with = append(with, i)
		}
	}
	if with == nil {
		return nil
	}
	return []actors.Letters{{Stages: with, To: keeper{g}}}
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
