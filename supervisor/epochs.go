package supervisor

import (
	"context"
	"io"
	"iter"

	"github.com/weirflow/weir/internal/plan"
)

// Epochs returns the epochs of a run whose sources have several, each with a loop over its items. Leaving an inner
// loop early by break throws the rest of that epoch away and has the sources go on to the next one; its items count as
// filtered. Leaving the outer loop stops the run. An error is the last turn of the inner loop, and then the outer loop
// ends as well. Epochs are numbered from 0.
//
//	for epoch, batches := range run.Epochs(ctx) {
//		for batch, err := range batches {
//
// An inner loop belongs to its turn of the outer one, and runs once.
func (r *Run[Out]) Epochs(ctx context.Context) iter.Seq2[int, iter.Seq2[Out, error]] {
	return func(yield func(int, iter.Seq2[Out, error]) bool) {
		complete := false
		defer func() {
			if !complete {
				r.stop(ErrStopped)
			}
		}()
		for next := 0; ; next++ {
			e := &epoch[Out]{run: r, ctx: ctx, number: next}
			if e.fetch() {
				e.number = e.chunk.Head().Epoch
				next = e.number
				if !yield(e.number, e.items) {
					e.giveBack()
					return
				}
				e.skip()
			}
			if e.over {
				complete = true
				if e.err != nil && !e.told { // so that it is seen: an epoch of nothing but the error
					e.begun = false
					yield(e.number, e.items)
				}
				return
			}
		}
	}
}

// An epoch is one turn of the loop over Epochs. It belongs to the goroutine of that loop.
type epoch[Out any] struct {
	run    *Run[Out]
	ctx    context.Context // of the loop, which it does not outlive
	number int
	chunk  *plan.Of[Out] // nil: none at hand
	pos    int
	begun  bool
	ended  bool  // all of it has been taken
	over   bool  // and nothing comes behind it
	err    error // why
	told   bool  // the loop has been given err
}

// fetch gets the epoch's next chunk. Without one, the epoch is over, and so is the run.
func (e *epoch[Out]) fetch() bool {
	c, pos, err := e.run.take(e.ctx)
	switch {
	case err == io.EOF:
		e.err = e.run.complete()
	case err != nil:
		e.err = e.run.abandon(context.Cause(e.ctx))
	}
	e.chunk, e.pos, e.over = c, pos, err != nil
	return err == nil
}

// giveBack is done with the chunk. What of it was not handed out is in flight for good: the run is being stopped.
func (e *epoch[Out]) giveBack() {
	c := e.chunk
	if c == nil {
		return
	}
	e.chunk = nil
	e.ended = c.Head().Last && e.pos == len(c.Items)
	e.run.done(c, e.pos)
}

// abandon is done with the chunk, of which the rest is not wanted.
func (e *epoch[Out]) abandon() {
	c := e.chunk
	if c == nil {
		return
	}
	e.chunk = nil
	e.ended = c.Head().Last
	e.run.actors.Outlet().Drop(c, e.pos)
	e.run.done(c, e.pos)
}

// items is the inner loop.
func (e *epoch[Out]) items(yield func(Out, error) bool) {
	if e.begun {
		return
	}
	e.begun = true
	defer e.abandon()
	for !e.ended {
		if e.chunk == nil && (e.over || !e.fetch()) {
			break
		}
		for e.pos < len(e.chunk.Items) {
			if e.ctx.Err() != nil || e.run.stopping.Load() {
				break
			}
			e.pos++
			if !yield(e.chunk.Items[e.pos-1], nil) {
				return
			}
		}
		e.giveBack() // if the run was stopped, fetch finds the same
	}
	if e.err != nil {
		var zero Out
		e.told = true
		yield(zero, e.err)
	}
}

// skip throws the rest of the epoch away.
func (e *epoch[Out]) skip() {
	if e.ended || e.over {
		return
	}
	e.run.actors.SkipEpoch(e.number)
	for !e.ended && (e.chunk != nil || e.fetch()) {
		e.abandon()
	}
}
