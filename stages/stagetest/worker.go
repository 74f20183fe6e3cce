package stagetest

import (
	"context"
	"fmt"

	"github.com/weirflow/weir/internal/plan"
)

// A worker is one incarnation of a station's worker: a kernel in a thread of its own.
type worker struct {
	s      *station
	kernel plan.Kernel // nil: it is not open
	thread *thread     // nil: it has died
	work   plan.Work
	tally  plan.Tally
	ctx    context.Context // of the incarnation: user code may keep it beyond a call, and must then see its end
	cancel context.CancelFunc
}

// An outcome is what came of a parcel.
type outcome struct {
	done      bool // all items are done with, but for what is held of them
	out       plan.Chunk
	outs      []plan.Chunk // instead of out, where the stage forks
	begun     *plan.OpenRound
	held      int      // latest items that are held, if the stage has no groups
	gone      []uint64 // numbers of the items that are not held any more, if it has
	open      plan.Partial
	err       error
	flushing  bool // err is that of a flush
	unopened  bool // err is that of opening the worker
	died      bool // err cost the worker
	spoiled   bool // but the item has had its attempt
	fatal     bool
	retryable bool // err is worth another attempt
}

// blame notes an error of user code, which is asked.
func (o *outcome) blame(err error, s *plan.Stage) {
	what := plan.Examine(err, s.Retry.If)
	o.err, o.fatal, o.retryable = what.Err, what.Fatal, what.Retryable
}

func newWorker(s *station) *worker {
	a := &worker{s: s, thread: newThread()}
	a.work.Place = plan.Place{Graph: s.w.graph, Stage: s.spec, Incarnation: s.lives}
	a.work.Tally, a.work.Watch = &a.tally, s.w.watch
	if s.spec.Streaming {
		a.work.Parts = a
	}
	ctx, cancel := context.WithCancel(s.w.ctx)
	a.ctx, a.cancel = plan.Bind(ctx, &a.work), cancel
	return a
}

// do runs user code over a parcel.
func (a *worker) do(p *parcel) (o outcome) {
	w := &a.work
	w.In, w.Next, w.First, w.To = nil, 0, 0, 0
	w.Attempt, w.Replays, w.Resume, w.Flush, w.Until = p.attempt+1, p.replays, p.resume, p.flush, plan.All
	w.Err, w.Flushing, w.Dropped, w.Open, w.Held, w.Gone, w.Round = nil, false, 0, plan.Partial{}, 0, nil, nil
	if a.kernel == nil && !a.open(&o) {
		o.open = p.resume
		return o
	}
	if p.item != nil {
		w.In, w.Next, w.First, w.To, w.Number = p.item, p.from, p.from, p.item.Len(), p.number
	}
	if a.s.spec.Fork != nil {
		w.Outs = make([]plan.Chunk, a.s.spec.Outs)
	} else if a.s.spec.Pool != nil {
		w.Out = a.s.spec.Pool.Get(1)
	}
	d := a.thread.do(func() {
		a.kernel.Run(a.ctx, w)
		o.blame(w.Err, a.s.spec)
	})
	if d != nil {
		a.rescue(d, &o)
	}
	p.from = w.Next
	o.done = w.In != nil && w.Next == w.To
	o.out, o.outs, o.begun, o.open, o.flushing = w.Out, w.Outs, w.Round, w.Open, w.Flushing
	o.held, o.gone = w.Held, w.Gone
	a.closeFailed(w.CloseErr)
	w.CloseErr = nil
	w.In, w.Out, w.Outs, w.Round = nil, nil, nil, nil
	return o
}

// open makes the kernel, and reports whether there is one.
func (a *worker) open(o *outcome) bool {
	var err error
	d := a.thread.do(func() {
		var k plan.Kernel
		if k, err = a.s.spec.Open(a.ctx); err == nil {
			a.kernel = k
			return
		}
		o.blame(err, a.s.spec)
		err = o.err
	})
	switch {
	case d != nil:
		a.thread = nil
		o.err = d.error(a.s.spec.Name)
	case err != nil:
		o.err = fmt.Errorf("open: %w", err)
	default:
		return true
	}
	o.died, o.unopened = true, true
	return false
}

// rescue completes a parcel that user code has not returned from.
func (a *worker) rescue(d *death, o *outcome) {
	w := &a.work
	a.thread = nil
	a.kernel.Rescue(w)
	o.died = true
	if spoiled, ok := d.recovered.(*plan.Spoiled); ok {
		o.spoiled = true
		o.blame(spoiled.Err, a.s.spec)
		return
	}
	e := d.error(a.s.spec.Name)
	if w.In != nil && w.Next < w.To && !w.Flushing {
		e.Item = a.s.itemOf(w.In)
	}
	o.err, o.retryable = e, true
}

// Wanted implements plan.Parts: each output is handed on at once.
func (a *worker) Wanted() bool { return true }

// Hand implements plan.Parts.
func (a *worker) Hand(ctx context.Context, w *plan.Work) bool {
	p := a.s.at
	a.s.w.account.Add(w.Tally)
	p.resume = w.Open
	out := w.Out
	w.Dropped = 0
	w.Out = a.s.spec.Pool.Get(1)
	a.s.emit(p, outcome{out: out})
	return !a.s.w.over() && ctx.Err() == nil
}

// close ends the worker's state. It may be called twice.
func (a *worker) close() {
	a.cancel()
	if a.thread != nil {
		a.thread.end()
		a.thread = nil
	}
	k := a.kernel
	if a.kernel = nil; k == nil {
		return
	}
	var err error
	if d := apart(func() { err = k.Close() }); d != nil {
		err = d.error(a.s.spec.Name)
	}
	a.closeFailed(err)
}

// closeFailed tells of an error that nothing follows from.
func (a *worker) closeFailed(err error) {
	if err != nil {
		a.s.w.log("stage %q: Close: %v", a.s.spec.Name, err)
	}
}
