package plan

import "time"

// An attempt that has a Timeout can be taken away from the worker that is at it: by the stage, when its function has not
// returned a good while after that. Who ends it is decided by one word, which both write: the function that returns too
// late finds that nothing of the work is its own any more, and the stage finds everything as it was when the attempt began.

// abandoned stands for the time at which an attempt is due that has been taken away.
const abandoned = -1

// Begin says that an attempt begins which should be over at deadline.
func (w *Work) Begin(deadline time.Time) { w.due.Store(int64(max(deadline.Sub(w.Base), 1))) }

// End ends the attempt, if there is one. It returns false if the work was taken away: whoever gets that must not touch it,
// nor what belongs to it, and unwinds to the worker by panicking with [Abandoned].
func (w *Work) End() bool {
	due := w.due.Load()
	return due == 0 || due != abandoned && w.due.CompareAndSwap(due, 0)
}

// Abandoned is what a function panics with that has returned when its work had been taken away.
type Abandoned struct{}

// Due returns when the attempt at hand should be over, since Base; 0 if there is none.
func (w *Work) Due() time.Duration { return time.Duration(max(w.due.Load(), 0)) }

// Abandon takes away the attempt that is due at due, and reports whether it was still the one at hand.
func (w *Work) Abandon(due time.Duration) bool {
	w.asking.Lock()
	defer w.asking.Unlock()
	if !w.due.CompareAndSwap(int64(due), abandoned) {
		return false
	}
	w.last = w.In.Head().IDs.At(w.Next)
	return true
}

// Item returns the identity of the item at hand. The function of an attempt that is taken away may ask for it all the
// same, when what it was made of is gone.
func (w *Work) Item() ID {
	if w.Place.Stage.Timeout > 0 {
		w.asking.Lock()
		defer w.asking.Unlock()
		if w.due.Load() == abandoned {
			return w.last
		}
	}
	return w.In.Head().IDs.At(w.Next)
}

// Taken returns what the stage has of a work that it has taken away, for Rescue. The work itself stays as it is: the
// function that hangs may still ask it for the item it is at.
func (w *Work) Taken() *Work {
	return &Work{
		Place: w.Place, Kernel: w.Kernel, In: w.In, Number: w.Number, Next: w.Next, To: w.To, First: w.First,
		Tally: w.Tally, Out: w.Out, Outs: w.Outs, Round: w.Round, Dropped: w.Dropped, CloseErr: w.CloseErr,
	}
}
