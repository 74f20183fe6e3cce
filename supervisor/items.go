package supervisor

import (
	"context"
	"io"
	"iter"

	"github.com/weirflow/weir/internal/plan"
)

// A Run is a deployed pipeline: Deploy makes it. The zero Run cannot be used.
type Run[Out any] struct {
	*run
	// turn is held by the one who takes from the outlet, and guards the rest. It is a channel, not a mutex, because
	// waiting for it must end with a context.
	turn  chan struct{}
	chunk *plan.Of[Out] // begun by Next
	pos   int           // what of it has been handed out
}

func newTyped[Out any](r *run) *Run[Out] { return &Run[Out]{run: r, turn: make(chan struct{}, 1)} }

// Events yields the run's events: the last 1000 so far, then each as it happens, until the run or ctx ends.
func (r *Run[Out]) Events(ctx context.Context) iter.Seq[Event] { return r.journal.events(ctx) }

// Items returns what comes out, in a loop. It ends after the last item; if the run fails, with one last turn that has
// the error and no item. An error is therefore always the last turn, and the only place to look.
//
// Leaving the loop early, by break, return or panic, stops the run, as does the end of ctx; the call of Stop that
// waits for that is still the caller's. Items does not start over, and two loops at the same time share the items. To
// look at one item first, without ending everything, there is Next.
func (r *Run[Out]) Items(ctx context.Context) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		complete := false
		defer func() {
			if !complete {
				r.stop(ErrStopped)
			}
		}()
		for {
			c, from, err := r.take(ctx)
			if err != nil {
				complete = true
				r.last(ctx, err, yield)
				return
			}
			if !r.hand(ctx, c, from, yield) {
				return
			}
		}
	}
}

// hand gives the items of c from from on to the loop's body, and reports whether it wants more.
//
// HOT PATH: per item a call of the body, a look at the context and one at the run.
func (r *Run[Out]) hand(ctx context.Context, c *plan.Of[Out], from int, yield func(Out, error) bool) bool {
	n := from
	defer func() { r.done(c, n) }()
	for _, v := range c.Items[from:] {
		if ctx.Err() != nil || r.stopping.Load() {
			return true // take will find the same
		}
		n++
		if !yield(v, nil) {
			return false
		}
	}
	return true
}

// last is a loop's last turn, if it has one.
func (r *Run[Out]) last(ctx context.Context, err error, yield func(Out, error) bool) {
	if err == io.EOF {
		err = r.complete()
	} else {
		err = r.abandon(context.Cause(ctx))
	}
	if err != nil {
		var zero Out
		yield(zero, err)
	}
}

// Next returns one item. It blocks until there is one, and returns io.EOF after the last, the run's error if it has
// failed, ErrStopped after Stop, or ctx's error; then no item is consumed, and the run goes on. Several goroutines
// may share a run through Next: each item goes to one of them.
func (r *Run[Out]) Next(ctx context.Context) (Out, error) {
	var zero Out
	for {
		c, from, err := r.takeTurn(ctx)
		if err == io.EOF {
			if err = r.complete(); err == nil {
				err = io.EOF
			}
		}
		if err != nil {
			return zero, err
		}
		if from == len(c.Items) { // an epoch's end
			r.endTurn(nil, 0)
			r.done(c, from)
			continue
		}
		v := c.Items[from]
		if from++; from < len(c.Items) {
			r.endTurn(c, from)
		} else {
			r.endTurn(nil, 0)
			r.done(c, from)
		}
		return v, nil
	}
}

// take returns a chunk that is the caller's alone, and the first item of it that nobody has had.
func (r *Run[Out]) take(ctx context.Context) (*plan.Of[Out], int, error) {
	c, from, err := r.takeTurn(ctx)
	if err == nil {
		r.endTurn(nil, 0)
	}
	return c, from, err
}

// takeTurn is take without end of turn, unless there is an error.
func (r *Run[Out]) takeTurn(ctx context.Context) (*plan.Of[Out], int, error) {
	select {
	case r.turn <- struct{}{}:
	default:
		select {
		case r.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	if r.stopping.Load() { // nothing behind a gap is given
		r.endTurn(r.chunk, r.pos)
		return nil, 0, io.EOF
	}
	if c := r.chunk; c != nil && ctx.Err() == nil {
		return c, r.pos, nil
	}
	c, err := r.actors.Outlet().Next(ctx)
	if err != nil {
		r.endTurn(r.chunk, r.pos)
		return nil, 0, err
	}
	r.takeHand()
	return c.(*plan.Of[Out]), 0, nil
}

// endTurn leaves what is left of a chunk to the next one.
func (r *Run[Out]) endTurn(c *plan.Of[Out], pos int) {
	r.chunk, r.pos = c, pos
	<-r.turn
}

// done gives a chunk back of which n items were handed out.
func (r *Run[Out]) done(c *plan.Of[Out], n int) {
	h := c.Head()
	ended, epoch := h.Last && n == len(c.Items), h.Epoch
	r.actors.Outlet().Done(c, n)
	if ended && !r.isEnded() { // RunEnded is the last event
		r.event(EpochEnded{r.info(), epoch})
	}
	r.dropHand()
}
