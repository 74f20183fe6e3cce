package actors

import (
	"context"
	"io"
	"sync"

	"github.com/weirflow/weir/internal/plan"
)

// An Outlet is the one door by which items leave a graph. A consumer calls Next and, when it is through with the chunk,
// Done.
type Outlet struct {
	run *Run

	mu      sync.Mutex
	q       []plan.Chunk // guarded by mu; bounded by the credit
	waiting bool         // guarded by mu: a caller of Next is parked, or about to
	ended   bool         // guarded by mu: nothing comes any more
	shut    bool         // guarded by mu: nothing is given any more
	wake    chan struct{}

	mine []plan.Chunk // taken out of q at once; owned by the caller of Next
	i    int

	doneMu sync.Mutex
	edge   *edge      // guarded by doneMu
	win    window     // guarded by doneMu
	taken  uint64     // guarded by doneMu: places
	tally  plan.Tally // guarded by doneMu
}

func newOutlet(r *Run, e *edge) *Outlet {
	o := &Outlet{run: r, wake: make(chan struct{}, 1), edge: e, win: newWindow(r.graph.OutletWindow(), r.clock)}
	r.watch(&o.tally)
	e.limit.Store(o.win.granted)
	return o
}

// put is called by the last stage.
func (o *Outlet) put(c plan.Chunk) {
	o.mu.Lock()
	if o.shut {
		o.mu.Unlock()
		c.Free()
		return
	}
	o.q = append(o.q, c)
	o.release()
}

// finish is called by the last stage, behind its last chunk.
func (o *Outlet) finish() {
	if o.run.hooks == nil { // else they say when nothing comes any more: an error may
		o.end()
	}
	o.run.conclude()
}

// end says that nothing comes any more.
func (o *Outlet) end() {
	o.mu.Lock()
	o.ended = true
	o.release()
}

// close ends the outlet now: what waits in it is dropped.
func (o *Outlet) close() {
	o.mu.Lock()
	o.shut, o.q = true, nil
	o.release()
}

// release is called with mu held, and wakes who waits.
func (o *Outlet) release() {
	w := o.waiting
	o.waiting = false
	o.mu.Unlock()
	if w {
		o.wake <- struct{}{} // one place, one waiter: never blocks
	}
}

// Next returns the next chunk; it may be empty, if it ends an epoch. It blocks until there is one. It returns io.EOF
// when the graph has ended, completely or not, or the run was stopped, and ctx's error when that ends first; then
// nothing is consumed. One goroutine may call it at a time.
func (o *Outlet) Next(ctx context.Context) (plan.Chunk, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.i < len(o.mine) {
			if o.stopped() {
				return nil, io.EOF
			}
			c := o.mine[o.i]
			o.mine[o.i] = nil
			o.i++
			return c, nil
		}
		o.mu.Lock()
		switch {
		case len(o.q) > 0:
			o.mine, o.q, o.i = o.q, o.mine[:0], 0
			o.mu.Unlock()
			continue
		case o.ended || o.shut:
			o.mu.Unlock()
			return nil, io.EOF
		}
		o.waiting = true
		o.mu.Unlock()
		select {
		case <-o.wake:
		case <-ctx.Done():
			o.mu.Lock()
			woken := !o.waiting
			o.waiting = false
			o.mu.Unlock()
			if woken { // the wake-up is under way
				<-o.wake
			}
		}
	}
}

func (o *Outlet) stopped() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shut
}

// Done says that n items of c have been handed to the consumer, and gives the chunk back. Items that have not are in
// flight for good. It may be called by any goroutine.
func (o *Outlet) Done(c plan.Chunk, n int) { o.DoneBut(c, n, nil, plan.Delivered) }

// DoneBut is Done where some of the items, in order, have failed at the consumer. The others have that fate.
func (o *Outlet) DoneBut(c plan.Chunk, n int, failed []int, fate plan.Fate) {
	o.doneMu.Lock()
	defer o.doneMu.Unlock()
	from := 0
	for _, i := range failed {
		o.tally.Settle(&c.Head().IDs, from, i, fate)
		o.tally.Settle(&c.Head().IDs, i, i+1, plan.Failed)
		from = i + 1
	}
	o.tally.Settle(&c.Head().IDs, from, n, fate)
	o.run.settle(&o.tally)
	o.run.outputs.Add(int64(n))
	o.win.weigh(c.Bytes(), c.Len())
	o.taken += uint64(plan.Places(c))
	c.Free()
	if limit, ok := o.win.next(o.taken); ok {
		o.edge.grant(limit)
	}
}

// Drop says that the consumer does not want the items of c from from on: they count as filtered. Done is still to be
// called.
func (o *Outlet) Drop(c plan.Chunk, from int) {
	o.doneMu.Lock()
	defer o.doneMu.Unlock()
	o.tally.Settle(&c.Head().IDs, from, c.Len(), plan.Filtered)
	o.run.settle(&o.tally)
}
