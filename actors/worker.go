package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A worker is one incarnation of a worker actor: a kernel and the work it is at. It runs user code, and nothing else
// does.
type worker struct {
	s      *stage // only what never changes
	box    *mailbox
	door   *door
	kernel plan.Kernel // nil until the first piece
	work   plan.Work
	tally  plan.Tally
	ctx    context.Context // of the incarnation: user code may keep it beyond a call, and must then see its end
	cancel context.CancelFunc
	job    *job
	lives  *int // of the actor

	worked, made int // inputs and outputs of the last piece, unless the stage is Streaming

	self, parent *actor.PID
	piece        *piece
	inside       bool          // it has entered the gate of care
	alone        bool          // at a suspect
	waited       time.Duration // of the piece's time, for room
	stalled      bool          // a piece was not finished: what is queued behind it is out of turn
}

// newWorker returns what makes the incarnations of worker i, from number life on. All of them share the actor's mailbox.
func (s *stage) newWorker(i, life int, d *door) func(*mailbox) actor.Actor {
	life--
	return func(box *mailbox) actor.Actor {
		life++
		a := &worker{s: s, box: box, door: d, lives: &life}
		a.work.Place = plan.Place{Graph: s.run.graph, Stage: s.spec, Worker: i, Incarnation: life}
		a.work.Base = s.run.base
		a.work.Slot = s.run.cfg.Box.Take()
		s.run.watch(&a.tally)
		a.work.Tally = &a.tally
		if r := s.run.cfg.Resume; r != nil && r.Settled.Len() > 0 {
			a.work.Settled = &r.Settled
		}
		if d != nil {
			a.work.Parts = a
		}
		return a
	}
}

func (a *worker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *piece:
		if a.stalled && !m.fresh {
			m.state.CompareAndSwap(queued, revoked)
			return
		}
		a.stalled = false
		if !m.state.CompareAndSwap(queued, taken) {
			return // a husk: somebody else has it
		}
		a.self, a.parent = c.Self(), c.Parent()
		switch {
		case a.do(m):
			c.Send(c.Parent(), m)
		case !a.box.stopped:
			panic(errGoexit) // the panic was of nil, which GODEBUG can make unrecognizable
		}
	case *retire:
		a.close()
		*a.lives++
		a.work.Place.Incarnation = *a.lives
		m.from = c.Self()
		c.Send(c.Parent(), m)
	case *actor.Restarting, *actor.Stopping:
		a.close()
		a.away()
	case *actor.Stopped:
		a.box.close()
	}
}

// do runs user code over a piece. When that does not return, the piece is completed all the same, and the panic goes
// on to the mailbox, which tells the stage. It returns false if the stage has gone on without this worker.
func (a *worker) do(p *piece) (mine bool) {
	w := &a.work
	w.In, w.Next, w.First, w.To = nil, p.from, p.from, p.to
	w.Attempt, w.Replays, w.Resume, w.Flush, w.Until, w.Alone = p.attempt+1, p.replays, p.resume, p.flush, p.until, p.alone
	w.Ends = p.mark
	w.Err, w.Flushing, w.Dropped, w.Gone, w.Unsure, w.Open = nil, false, 0, p.gone[:0], 0, plan.Partial{}
	a.piece = p
	p.unopened = a.kernel == nil
	begun := a.s.run.clock()
	a.waited = 0
	ran := false // the kernel has returned
	defer func() {
		if mine {
			return
		}
		r := recover()
		if !w.End() {
			a.leave()
			return
		}
		if !ran && a.kernel != nil {
			a.kernel.Rescue(w)
		}
		a.rescue(p, r)
		p.busy = a.s.run.clock() - begun - a.waited
		a.report(p)
		if r != nil {
			panic(r)
		}
	}()
	if a.kernel == nil {
		w.Slot.Note(plan.DoesOpen, a.s.spec.Index)
		a.s.run.Apart(a.open)
		p.unopened = false
	}
	if p.lot != nil {
		w.In, w.Number = p.lot.chunk, p.lot.first
	}
	poison := a.enter()
	if poison {
		w.To, w.Flush = w.Next, plan.NoFlush // as far as it goes: nothing of the item
	}
	if a.s.spec.Fork != nil {
		w.Outs = p.branches
	} else if a.s.spec.Pool != nil {
		w.Out = a.s.spec.Pool.Get(a.room(p.items()))
	}
	w.Yield.Store(false)
	p.work.Store(w)
	a.kernel.Run(a.ctx, w)
	ran = true
	if w.Parts == nil && w.Out != nil {
		a.worked, a.made = w.Next-p.from, w.Out.Len()
	}
	p.busy = a.s.run.clock() - begun - a.waited
	if p.Verdict = plan.Examine(w.Err, a.s.spec.Retry.If); poison && w.Err == nil {
		p.Verdict = plan.Verdict{Err: ErrPoison}
	}
	a.report(p)
	return true
}

// leave ends an actor that its stage has forgotten: nobody supervises it, and nobody waits for it.
func (a *worker) leave() {
	a.box.close()
	a.s.run.sys.ProcessRegistry.Remove(a.self)
	a.box.ended = func() {} // it has been counted out already
	a.exit()
	a.away()
	a.s.stats.hanging.Add(-1)
	a.close()
}

// room is how many outputs are to be expected of n items. A chunk that has to grow is not pooled again.
func (a *worker) room(n int) int {
	if a.worked > 0 {
		n = (n*a.made + a.worked - 1) / a.worked
	}
	return max(n, 1)
}

// An openError is the reason of an incarnation that could not be opened.
type openError struct{ err error }

func (a *worker) open() {
	r, at := a.s.run, a.work.Place.Worker
	ctx, cancel := context.WithCancel(a.s.ctx)
	life := a.work.Place.Incarnation
	a.ctx, a.cancel = plan.Bind(r.label(ctx, a.s.spec.Name, at, life), &a.work), cancel
	a.job = r.jobs.enter(a.s.spec.Name, at, life)
	k, err := a.s.spec.Open(a.ctx)
	if err != nil {
		panic(&openError{err})
	}
	a.kernel, a.work.Kernel = k, k
}

// rescue completes a piece that user code has not returned from.
func (a *worker) rescue(p *piece, r any) {
	w := &a.work
	p.died = true
	if spoiled, ok := r.(*plan.Spoiled); ok {
		p.spoiled = true
		p.Verdict = plan.ExamineApart(spoiled.Err, a.s.spec.Retry.If)
		return
	}
	if open, ok := r.(*openError); ok {
		p.Verdict = plan.ExamineApart(open.err, nil)
		p.Err = fmt.Errorf("open: %w", p.Err)
		return
	}
	e := panicked(a.s.spec, r)
	p.Verdict = plan.Verdict{Err: e, Retryable: true}
	switch {
	case w.In == nil || w.Next >= w.To || w.Flushing || p.unopened: // no item's
	case w.Unsure > w.Next+1:
		p.unsure = w.Unsure
	default:
		e.Item = stages.IDOf(a.s.run.graph, w.In.Head().IDs.At(w.Next))
	}
}

// report writes the result into the piece, which then belongs to the stage again.
func (a *worker) report(p *piece) {
	w := &a.work
	a.exit()
	p.fill(w)
	w.In, w.Out, w.Outs, w.Round, w.Gone = nil, nil, nil, nil, nil
	if err := w.CloseErr; err != nil {
		w.CloseErr = nil
		a.s.run.closeFailed(a, err)
	}
	a.stalled = a.s.spec.OneByOne() && (p.Err != nil || p.reached < p.to)
	a.s.run.settle(&a.tally)
	a.piece = nil
}

// fill writes the result of a work into the piece that it was about.
func (p *piece) fill(w *plan.Work) {
	p.work.Store(nil)
	p.reached, p.held, p.gone, p.dropped, p.open, p.flushing = w.Next, w.Held, w.Gone, w.Dropped, w.Open, w.Flushing
	p.out, p.begun = w.Out, w.Round
}

// close ends the worker's state. A panic in here would revive the actor.
func (a *worker) close() {
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
		defer a.s.run.jobs.leave(a.job)
	}
	k := a.kernel
	if a.kernel = nil; k == nil {
		return
	}
	ended := make(chan error)
	// Owner: the worker. Ends when the user's Close does, also by Goexit, which would take the actor along. The worker
	// waits for it.
	go func() {
		var err error
		returned := false
		defer func() {
			if !returned {
				err = panicked(a.s.spec, recover())
			}
			ended <- err
		}()
		err = plan.Examine(k.Close(), nil).Err
		returned = true
	}()
	if err := <-ended; err != nil {
		a.s.run.closeFailed(a, err)
	}
}
