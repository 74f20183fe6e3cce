package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
)

// An outbox is the producer's end of an edge: results that wait for credit, in the order in which they go.
type outbox struct {
	edge  *edge
	pool  plan.Pool
	stats *stageStats
	next  *actor.PID // the consumer; nil for the outlet
	last  *Outlet

	q    []out
	i    int    // first that has not gone
	sent uint64 // places taken
	left func(places int)
	cx   actor.Context
}

// start is called in Started: before anything is sent that could be answered with credit.
func (o *outbox) start(c actor.Context) { o.cx, o.edge.up = c, c.Self() }

func (o *outbox) empty() bool { return o.i == len(o.q) }

// push adds a result. Small chunks are joined.
func (o *outbox) push(r out) {
	if r.chunk == nil || r.chunk.Len() == 0 && !r.chunk.Head().Last {
		if r.chunk != nil {
			r.chunk.Free()
			r.chunk = nil
		}
		if k := len(o.q); k > o.i && r.door == nil {
			o.q[k-1].inputs += r.inputs
			return
		}
		if o.empty() && r.door == nil {
			o.left(r.inputs)
			return
		}
	} else if k := len(o.q); k > o.i && r.door == nil && r.chunk.Len() <= 64 {
		l := &o.q[k-1]
		if l.door == nil && l.chunk != nil && l.pos == 0 && !l.chunk.Head().Last && l.chunk.Head().Epoch == r.chunk.Head().Epoch && l.chunk.Room() >= r.chunk.Len() {
			l.chunk.Append(r.chunk, 0, r.chunk.Len())
			l.chunk.Head().Last = r.chunk.Head().Last
			l.inputs += r.inputs
			r.chunk.Free()
			return
		}
	}
	if len(o.q) == cap(o.q) && o.i > 0 { // what has gone makes room
		o.q, o.i = slices.Delete(o.q, 0, o.i), 0
	}
	o.q = append(o.q, r)
}

// flush sends what the credit allows. A whole chunk changes hands; a part of one is copied.
func (o *outbox) flush() {
	for o.i < len(o.q) {
		r := &o.q[o.i]
		if r.chunk != nil && !o.send(r) {
			return
		}
		inputs, d := r.inputs, r.door
		o.q[o.i] = out{}
		if o.i++; o.i == len(o.q) {
			o.q, o.i = o.q[:0], 0
		}
		o.left(inputs)
		if d != nil {
			d.open()
		}
	}
}

// send reports whether all of r has gone.
func (o *outbox) send(r *out) bool {
	for {
		places := plan.Places(r.chunk) - r.pos
		credit := o.edge.credit(o.sent)
		if credit <= 0 {
			return false
		}
		if places <= credit && r.pos == 0 {
			o.deliver(r.chunk, places)
			return true
		}
		h := r.chunk.Head()
		n := min(places, credit)
		items := min(n, r.chunk.Len()-r.pos)
		c := o.pool.Get(items)
		c.Append(r.chunk, r.pos, r.pos+items)
		c.Head().Epoch, c.Head().Last = h.Epoch, h.Last && n == places
		r.pos += items
		o.deliver(c, n)
		if n == places {
			r.chunk.Free()
			return true
		}
	}
}

func (o *outbox) deliver(c plan.Chunk, places int) {
	o.sent += uint64(places)
	o.stats.out.Add(int64(c.Len()))
	if o.next == nil {
		o.last.put(c)
	} else {
		o.cx.Send(o.next, c)
	}
}

// end sends the end of the stream, behind everything else.
func (o *outbox) end(failed bool) {
	if o.next == nil {
		o.last.finish()
	} else {
		o.cx.Send(o.next, &eos{failed: failed})
	}
}
