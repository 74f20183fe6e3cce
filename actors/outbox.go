package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
)

// An outbox is the producer's end of an edge: results that wait for credit, in the order in which they go. A stage has
// one per output.
type outbox struct {
	edge  *edge
	pool  plan.Pool
	stats *stageStats
	next  *actor.PID // the consumer; nil for the outlet
	in    int        // which of the consumer's inputs this is
	last  *Outlet

	q      fifo[out]
	sent   uint64 // places taken
	closed bool   // the run has failed, and the consumer wants nothing more
	left   func(places int)
	cx     actor.Context
}

// An out is a result, or the part of one that goes by this outbox, and how many places of the input leave the stage with
// it.
type out struct {
	chunk  plan.Chunk // nil: nothing came of the inputs
	pos    int        // items sent
	inputs int
	single bool    // each item is one input, which leaves with it
	shared *shared // of a result that goes by several outboxes
	door   *door   // to be opened when it has left
}

// A shared is a result that goes by several outboxes: its inputs leave with the last part of it.
type shared struct{ inputs, open int }

// start is called in Started: before anything is sent that could be answered with credit.
func (o *outbox) start(c actor.Context) { o.cx, o.edge.up = c, c.Self() }

func (o *outbox) empty() bool { return o.q.len() == 0 }

// push adds a result. Small chunks are joined.
func (o *outbox) push(r out) {
	if r.chunk != nil && r.chunk.Len() == 0 && !r.chunk.Head().Marked() {
		r.chunk.Free()
		r.chunk = nil
	}
	switch {
	case o.closed:
		o.discard(&r)
	case r.chunk == nil && r.door == nil && r.shared == nil:
		if o.empty() {
			o.left(r.inputs)
		} else {
			o.q.back().inputs += r.inputs
		}
	case !o.empty() && o.mark(&r):
	case o.empty() || !o.join(&r):
		o.q.push(r)
	}
}

// mark has a mark that is all of a result take the place of one of the same fork at the end of the queue: with nothing
// between them, their order means nothing. So marks do not pile up, of however many forks.
func (o *outbox) mark(r *out) bool {
	if r.chunk == nil || r.chunk.Len() > 0 || r.chunk.Head().Last {
		return false
	}
	q := o.q.waiting()
	for i := len(q) - 1; i >= 0; i-- {
		l := &q[i]
		if l.chunk == nil || l.chunk.Len() > 0 || l.chunk.Head().Last || l.pos > 0 || l.shared != nil || l.door != nil {
			return false
		}
		if l.chunk.Head().Round.Fork == r.chunk.Head().Round.Fork {
			l.chunk.Head().Round.Upto = max(l.chunk.Head().Round.Upto, r.chunk.Head().Round.Upto)
			l.inputs += r.inputs
			r.chunk.Free()
			return true
		}
	}
	return false
}

// join adds a small result to the last one that waits.
func (o *outbox) join(r *out) bool {
	l := o.q.back()
	if r.chunk == nil || l.chunk == nil || r.door != nil || r.shared != nil || r.chunk.Len() > 64 {
		return false
	}
	h, g := l.chunk.Head(), r.chunk.Head()
	switch {
	case h.Last || h.Epoch != g.Epoch || h.Round.Fork != 0 && h.Round.Fork != g.Round.Fork:
		return false
	case r.chunk.Len() == 0 && !g.Last: // only the mark of a round, which may stand behind anything
	case l.door != nil || l.shared != nil || l.pos != 0 || l.chunk.Room() < r.chunk.Len():
		return false
	}
	l.chunk.Append(r.chunk, 0, r.chunk.Len())
	h.Last, h.Round = g.Last, plan.Round{Fork: g.Round.Fork, Upto: max(h.Round.Upto, g.Round.Upto)}
	l.inputs += r.inputs
	r.chunk.Free()
	return true
}

// flush sends what the credit allows. A whole chunk changes hands; a part of one is copied.
func (o *outbox) flush() {
	for !o.empty() {
		r := o.q.front()
		if r.chunk != nil && !o.send(r) {
			return
		}
		gone := *r
		o.q.pop()
		o.gone(&gone)
	}
}

// gone lets go of what a result stood for.
func (o *outbox) gone(r *out) {
	o.left(r.inputs)
	if s := r.shared; s != nil {
		if s.open--; s.open == 0 {
			o.left(s.inputs)
		}
	}
	if r.door != nil {
		r.door.open()
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
		n := min(places, credit)
		o.deliver(o.cut(r, n), n)
		if n == places {
			r.chunk.Free()
			return true
		}
	}
}

// cut takes n places off the front of r.
func (o *outbox) cut(r *out, n int) plan.Chunk {
	h := r.chunk.Head()
	items := min(n, r.chunk.Len()-r.pos)
	c := o.pool.Get(items)
	c.Append(r.chunk, r.pos, r.pos+items)
	c.Head().Epoch = h.Epoch
	r.pos += items
	n -= items
	if r.single {
		r.inputs -= items
		o.left(items)
	}
	if n > 0 && h.Round.Fork != 0 {
		c.Head().Round, h.Round = h.Round, plan.Round{}
		n--
	}
	if n > 0 && h.Last {
		c.Head().Last, h.Last = true, false
	}
	return c
}

func (o *outbox) deliver(c plan.Chunk, places int) {
	o.sent += uint64(places)
	o.stats.out.Add(int64(c.Len()))
	if o.next == nil {
		o.last.put(c)
	} else {
		c.Head().In = o.in
		o.cx.Send(o.next, c)
	}
}

// close is called when the consumer wants nothing more: what waits, and what comes, is let go of. It stays in flight for
// good.
func (o *outbox) close() {
	o.closed = true
	for !o.empty() {
		r := *o.q.front()
		o.q.pop()
		o.discard(&r)
	}
}

func (o *outbox) discard(r *out) {
	if r.chunk != nil {
		r.chunk.Free()
	}
	o.gone(r)
}

// end sends the end of the stream, behind everything else.
func (o *outbox) end(failed bool) {
	switch {
	case o.closed:
	case o.next == nil:
		o.last.run.streamEnded()
	default:
		o.cx.Send(o.next, &eos{in: o.in, failed: failed})
	}
}
