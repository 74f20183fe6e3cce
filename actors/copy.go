package actors

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A copyActor is a worker of a stage that stands for a region: it has a session with a process where the region's stages are. It
// encodes tasks and decodes what comes of them, which is user code.
type copyActor struct {
	s    *stage // only what never changes
	box  *mailbox
	i    int
	self *actor.PID
	up   *actor.PID

	session Session
	life    int
	ready   bool
	ending  bool
	pieces  []*piece // that it has
	tally   plan.Tally
	paths   []string      // of the outputs of one item
	lastAt  time.Duration // when a piece was last complete
}

// told is what a session has said.
type told struct {
	quiet
	life int
	what any
}

func (*told) control() {}

func (s *stage) newCopy(i int) func(*mailbox) actor.Actor {
	return func(box *mailbox) actor.Actor { return &copyActor{s: s, box: box, i: i} }
}

func (a *copyActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *piece:
		if !m.state.CompareAndSwap(queued, taken) {
			return
		}
		m.sent = false
		if a.pieces = append(a.pieces, m); a.ready {
			a.send(m)
		}
	case *told:
		if m.life == a.life {
			a.hear(m.what)
		}
	case *openCopy:
		a.open(m.life)
	case *endCopy:
		a.end()
	case *actor.Started:
		a.self, a.up = c.Self(), c.Parent()
	case *actor.Stopping:
		a.stop()
	case *actor.Stopped:
		a.box.close()
	}
}

func (a *copyActor) tell(m any) { a.s.run.send(a.up, m) }

func (a *copyActor) open(life int) {
	if a.ending {
		a.tell(&copyEnded{worker: a.i})
		return
	}
	a.life = life
	far := a.s.spec.Far
	run, self := a.s.run, a.self
	o := wire.Open{Incarnation: life, Window: a.s.copyWindow().Most()}
	a.session = run.cfg.Nodes.Start(far.Region, a.i, o, func(what any) {
		run.send(self, &told{life: life, what: what})
	})
}

// end lets the session end when it has nothing any more.
func (a *copyActor) end() {
	a.ending = true
	switch {
	case a.ready:
		a.session.Send(&wire.End{})
	case a.session != nil:
		a.stop()
		a.tell(&copyEnded{worker: a.i})
	}
}

func (a *copyActor) stop() {
	if a.session != nil {
		a.session.Stop()
		a.session, a.ready = nil, false
		a.life = 0
	}
}

func (a *copyActor) hear(what any) {
	switch m := what.(type) {
	case *wire.Ready:
		a.ready = true
		a.tell(&copyReady{worker: a.i})
		for _, p := range a.pieces {
			a.send(p)
		}
	case *wire.Result:
		a.accept(m)
	case *wire.End:
		a.stop()
		a.tell(&copyEnded{worker: a.i})
	case *wire.Abort: // its last word
		err := stages.DecodeError(a.s.run.graph, m.Error)
		if err == nil {
			err = errors.New("a node has given up, without a text")
		}
		a.tell(&copyFailed{worker: a.i, err: err})
		a.lost(&Lost{Err: err, Final: true})
	case *Lost:
		a.lost(m)
	}
}

// send sends what a piece needs that has not been accepted.
func (a *copyActor) send(p *piece) {
	p.sent, p.missing = true, 0
	p.sentAt = a.s.run.clock()
	t := wire.Task{Isolated: p.suspect}
	ids := p.lot.chunk.Head().IDs.From(p.from)
	size := 0
	for i := p.from; i < p.to; i++ {
		id := ids.Next().ID()
		e := &p.lot.entries[i]
		if e.accepted {
			continue
		}
		payload, err := a.session.Pack(p.lot.chunk, i)
		if err != nil {
			*e = a.refused(a.s.spec.Far.Region.From, id, err)
			continue
		}
		p.missing++
		if size += len(payload.Bytes); size > messageBytes && len(t.Items) > 0 {
			a.session.Send(&t)
			t.Items, size = t.Items[:0], len(payload.Bytes)
		}
		t.Items = append(t.Items, wire.Item{
			ID: p.lot.first + uint64(i), Attempt: p.lostTimes, Payload: payload,
			Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
		})
	}
	if len(t.Items) > 0 {
		a.session.Send(&t)
	}
	a.session.Packed()
	if p.missing == 0 {
		a.giveBack(p)
	}
}

// messageBytes is how much of payloads goes in one message; the payload of an item goes in one, whatever its size.
const messageBytes = 256 << 10

// refused is the outcome of an item that cannot cross.
func (a *copyActor) refused(stage int, id plan.ID, err error) outcome {
	return outcome{accepted: true, failures: []wire.Failure{{
		Stage: stage, Attempts: 1, Error: stages.EncodeError(a.s.run.graph, err),
		Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
	}}}
}

// accept takes what has come of tasks into the ledger: of those that this session has, and of each once.
func (a *copyActor) accept(r *wire.Result) {
	k := 0
	for i := range r.Entries {
		e := &r.Entries[i]
		for n := 0; n < len(a.pieces) && !a.pieces[k].has(e.ID); n++ {
			k = (k + 1) % len(a.pieces)
		}
		if len(a.pieces) == 0 || !a.pieces[k].has(e.ID) {
			continue
		}
		p := a.pieces[k]
		to := &p.lot.entries[int(e.ID-p.lot.first)]
		if to.accepted || !p.sent {
			continue
		}
		*to = outcome{from: a.session, outputs: e.Outputs, failures: e.Failures, accepted: true}
		if p.missing--; p.missing == 0 {
			a.giveBack(p)
			k = 0
		}
	}
}

// has reports whether the item of an id is one of p that is not done.
func (p *piece) has(id uint64) bool {
	return id >= p.lot.first+uint64(p.from) && id < p.lot.first+uint64(p.to)
}

// giveBack returns a piece that is complete.
func (a *copyActor) giveBack(p *piece) {
	for k, q := range a.pieces {
		if q == p {
			a.pieces = append(a.pieces[:k], a.pieces[k+1:]...)
			break
		}
	}
	a.complete(p)
	a.tell(p)
}

// lost gives everything back: what has been accepted is done.
func (a *copyActor) lost(m *Lost) {
	var charged []uint64
	if m.Blames {
		if charged = m.Executing; charged == nil {
			charged = a.outstanding()
		}
	}
	a.session.Stop()
	a.session, a.ready, a.life = nil, false, 0
	a.tell(&copyLost{worker: a.i, why: m, charged: charged})
	pieces := a.pieces
	a.pieces = nil
	for _, p := range pieces {
		if p.sent {
			p.lostTimes++
		}
		a.complete(p)
		a.tell(p)
	}
}

// outstanding returns the tasks of which nothing has been heard.
func (a *copyActor) outstanding() (ids []uint64) {
	for _, p := range a.pieces {
		for i := p.from; p.sent && i < p.to; i++ {
			if !p.lot.entries[i].accepted {
				ids = append(ids, p.lot.first+uint64(i))
			}
		}
	}
	return ids
}

// complete writes into a piece what has been accepted of it, up to the first item that has not been, or of which something has
// failed.
func (a *copyActor) complete(p *piece) {
	n := 0
	for i := p.from; i < p.to; i++ {
		n += len(p.lot.entries[i].outputs)
	}
	out := a.s.spec.Pool.Get(max(n, 1))
	ids, from := &out.Head().IDs, p.lot.chunk.Head().IDs.From(p.from)
	p.reached = p.to
	for i := p.from; i < p.to; i++ {
		e := &p.lot.entries[i]
		if !e.accepted {
			p.reached = i
			break
		}
		made, faults := a.unpack(out, p, i, e)
		if a.s.spec.Far.Lends && faults == nil {
			p.lot.chunk.Lent(i).Release()
		}
		if made == 1 && faults == nil && a.paths[0] == "" {
			continue
		}
		from.CopyTo(ids, i)
		parent := from.Next()
		switch {
		case faults != nil:
			if made > 0 {
				var parents plan.IDs
				parents.Append(parent)
				f := plan.NewForeign(&parents, a.paths)
				f.Grow(1) // what has failed
				ids.Members(f, 0, made)
				p.open = plan.Partial{Family: f, Outputs: made}
			}
			p.faults, p.Err = faults, faults[0].item
		case made == 0:
			p.dropped++
			a.tally.SettleOne(parent, plan.Filtered)
		default:
			ids.Foreign(&a.tally, parent, a.paths)
		}
		if faults != nil {
			p.reached = i
			break
		}
		*e = outcome{accepted: true}
	}
	from.CopyTo(ids, p.reached)
	p.out = out
	now := a.s.run.clock()
	if p.sent && p.reached > p.from {
		p.busy = now - max(p.sentAt, a.lastAt)
		a.lastAt = now
	}
	a.s.run.settle(&a.tally)
}

// unpack appends the outputs of an item, and returns how many there are and what of it has failed.
func (a *copyActor) unpack(out plan.Chunk, p *piece, i int, e *outcome) (made int, faults []fault) {
	g := a.s.run.graph
	a.paths = a.paths[:0]
	for k := range e.outputs {
		if err := e.from.Unpack(out, e.outputs[k].Payload); err != nil {
			spec := a.s.spec.Far.Of
			id := stages.IDOf(g, p.lot.chunk.Head().IDs.At(i))
			id.Path += e.outputs[k].Path
			faults = append(faults, fault{spec: spec, item: &stages.ItemError{Stage: spec.Name, Item: id, Attempts: 1, Err: err}})
			continue
		}
		made++
		a.paths = append(a.paths, e.outputs[k].Path)
	}
	for k := range e.failures {
		f := &e.failures[k]
		if f.Stage < 0 || f.Stage >= len(g.Stages) {
			f.Stage = a.s.spec.Far.Region.From
		}
		spec := g.Stages[f.Stage]
		if spec.Far != nil {
			spec = spec.Far.Of
		}
		id := plan.ID{Source: f.Identity.Source, Epoch: f.Identity.Epoch, Index: f.Identity.Index, Path: f.Identity.Path}
		if id.Source < 0 || id.Source >= len(g.Stages) {
			id = p.lot.chunk.Head().IDs.At(i)
		}
		err := stages.DecodeError(g, f.Error)
		if err == nil {
			err = errors.New("an error without a text")
		}
		faults = append(faults, fault{
			spec: spec, item: &stages.ItemError{Stage: spec.Name, Item: stages.IDOf(g, id), Attempts: f.Attempts, Err: err},
			fatal: f.Fatal, hung: f.Hung, letter: f.Letter.Bytes, lettered: f.Lettered && spec.Policy.Letters != nil,
		})
	}
	return made, faults
}
