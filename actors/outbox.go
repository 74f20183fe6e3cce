package actors

import (
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

	q    fifo[out]
	sent uint64 // places taken
	left func(places int)
	cx   actor.Context
}

// start is called in Started: before anything is sent that could be answered with credit.
func (o *outbox) start(c actor.Context) { o.cx, o.edge.up = c, c.Self() }

func (o *outbox) empty() bool { return o.q.len() == 0 }

// push adds a result. Small chunks are joined.
func (o *outbox) push(r out) {
	if r.chunk == nil || r.chunk.Len() == 0 && !r.chunk.Head().Last {
		if r.chunk != nil {
			r.chunk.Free()
			r.chunk = nil
		}
		if !o.empty() && r.door == nil {
			o.q.back().inputs += r.inputs
			return
		}
		if o.empty() && r.door == nil {
			o.left(r.inputs)
			return
		}
	} else if !o.empty() && r.door == nil && r.chunk.Len() <= 64 {
		l := o.q.back()
		if l.door == nil && l.chunk != nil && l.pos == 0 && !l.chunk.Head().Last && l.chunk.Head().Epoch == r.chunk.Head().Epoch && l.chunk.Room() >= r.chunk.Len() {
			l.chunk.Append(r.chunk, 0, r.chunk.Len())
			l.chunk.Head().Last = r.chunk.Head().Last
			l.inputs += r.inputs
			r.chunk.Free()
			return
		}
	}
	o.q.push(r)
}

// flush sends what the credit allows. A whole chunk changes hands; a part of one is copied.
func (o *outbox) flush() {
	for !o.empty() {
		r := o.q.front()
		if r.chunk != nil && !o.send(r) {
			return
		}
		inputs, d := r.inputs, r.door
		o.q.pop()
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
