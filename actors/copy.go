package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
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
	items   []wire.Item // memory for a message
	counted counted
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
	return func(box *mailbox) actor.Actor {
		return &copyActor{s: s, box: box, i: i, counted: newCounted(s.run, s.spec.Far.Region)}
	}
}

func (a *copyActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *piece:
		if !m.state.CompareAndSwap(queued, taken) {
			return
		}
		if !a.ready { // the session was lost, and another one may be long in coming, or never come
			a.complete(m)
			a.tell(m)
			return
		}
		a.pieces = append(a.pieces, m)
		a.send(m)
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
	a.counted.renew()
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
	if a.ready {
		a.session.Send(&wire.End{})
		return
	}
	a.stop()
	a.tell(&copyEnded{worker: a.i})
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
	case *wire.Result:
		a.counted.add(a.s.run, m.Finished)
		a.accept(m)
	case *Counted:
		a.counted.told = m.Finished
	case *wire.End:
		a.s.run.addCounted(a.s.spec.Far.Region, a.counted.rest())
		a.stop()
		a.tell(&copyEnded{worker: a.i})
	case *wire.Abort: // its last word
		err := a.s.run.nodeError(m.Error)
		a.tell(&copyFailed{err: err})
		a.lost(&Lost{Err: err, Final: true})
	case *Lost:
		a.lost(m)
	}
}

// send sends what a piece needs that has not been accepted.
func (a *copyActor) send(p *piece) {
	p.sent, p.missing = true, 0
	p.sentAt = a.s.run.clock()
	t := wire.Task{Isolated: p.suspect, Items: a.items[:0]}
	ids := p.lot.chunk.Head().IDs.From(p.from)
	size := 0
	pack := func(k int) {
		i := p.from + k
		id := ids.Next().ID()
		e := &p.lot.entries[i]
		if e.accepted {
			return
		}
		payload, err := a.session.Pack(p.lot.chunk, i)
		if err != nil {
			*e = outcome{refused: err, accepted: true}
			return
		}
		p.missing++
		if size += len(payload.Bytes); size > messageBytes && len(t.Items) > 0 {
			a.session.Send(&t)
			t.Items, size = t.Items[:0], len(payload.Bytes)
		}
		item := wire.Item{
			ID: p.lot.first + uint64(i), Attempt: p.lostTimes, Payload: payload,
			Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
		}
		t.Items = append(t.Items, item)
	}
	plan.ApartEach(p.items(), pack, func(k int) {
		p.lot.entries[p.from+k] = outcome{refused: errGoexit, accepted: true}
	})
	if len(t.Items) > 0 {
		a.session.Send(&t)
	}
	a.session.Packed()
	clear(t.Items[:cap(t.Items)])
	a.items = t.Items[:0]
	if p.missing == 0 {
		a.giveBack(p)
	}
}

// messageBytes is how much of payloads goes in one message; the payload of an item goes in one, whatever its size.
const messageBytes = 256 << 10

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
		charged = a.outstanding()
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
	u := unpack(a, p)
	ids, from := &u.out.Head().IDs, p.lot.chunk.Head().IDs.From(p.from)
	p.reached = p.to
	for i := p.from; i < p.to; i++ {
		e := &p.lot.entries[i]
		if !e.accepted {
			p.reached = i
			break
		}
		u.look(i, e)
		*e = outcome{accepted: true}
		if a.s.spec.Far.Lends && u.faults == nil {
			p.lot.chunk.Lent(i).Release()
		}
		made := len(u.paths)
		if made == 1 && u.faults == nil && u.paths[0] == "" {
			continue
		}
		from.CopyTo(ids, i)
		parent := from.Next()
		switch {
		case u.faults != nil:
			if made > 0 {
				var parents plan.IDs
				parents.Append(parent)
				f := plan.NewForeign(&parents, u.paths)
				f.Grow(1) // what has failed
				ids.Members(f, 0, made)
				p.open = plan.Partial{Family: f, Outputs: made}
			}
			p.faults, p.Err = u.faults, u.faults[0].item
		case made == 0:
			p.dropped++
			a.tally.SettleOne(parent, plan.Filtered)
		default:
			ids.Foreign(&a.tally, parent, u.paths)
		}
		if u.faults != nil {
			p.reached = i
			break
		}
	}
	from.CopyTo(ids, p.reached)
	p.out = u.out
	now := a.s.run.clock()
	if p.sent && p.reached > p.from {
		p.busy = now - max(p.sentAt, a.lastAt)
		a.lastAt = now
	}
	a.s.run.settle(&a.tally)
}
