package stages

import (
	"github.com/weirflow/weir/internal/plan"
)

// OnError sets what becomes of an item that has failed for good: its function returned an error, or panicked three
// times. The default is Fail.
func OnError(p Policy) AnyOption { return onError{p} }

type onError struct{ p Policy }

func (o onError) work(d *draft)    { o.set(d) }
func (o onError) flatMap(d *draft) { o.set(d) }
func (o onError) serial(d *draft)  { o.set(d) }
func (o onError) source(d *draft)  { o.set(d) }
func (o onError) set(d *draft) {
	d.once("OnError")
	if o.p.count < 0 {
		d.refuse("a budget of %d failures, want at least 0", o.p.count)
	}
	if o.p.byFraction && !(o.p.fraction > 0 && o.p.fraction <= 1) { // so that NaN is refused
		d.refuse("a budget of a fraction of %v, want more than 0 and at most 1", float64(o.p.fraction))
	}
	d.Policy = plan.Policy{Count: int64(o.p.count), Fraction: float64(o.p.fraction)}
}

// A Policy is made by Fail or Skip. The zero Policy is Fail.
type Policy struct {
	count      int
	fraction   Fraction
	byFraction bool
}

// A Budget is how much may fail: so many items, or such a fraction of them. A bare 0.01 does not compile, and 100 is
// a count: the two cannot be confused. More than the budget fails the run, the budget itself does not.
type Budget interface{ int | Fraction }

// Fraction is a part of the items that the stage has finished, in (0, 1]. It is judged once a hundred items are
// through, and again at the end.
type Fraction float64

// Fail ends the run with the item's error: the default.
func Fail() Policy { return Policy{} }

// Skip drops the item, counts it as failed and reports it (supervisor.ItemFailed), as long as the budget of this
// stage lasts. The failure that exceeds it ends the run with ErrBudget and that item's error. Skip(0) is Fail.
func Skip[B Budget](max B) Policy {
	switch max := any(max).(type) {
	case Fraction:
		return Policy{fraction: max, byFraction: true}
	case int:
		return Policy{count: max}
	}
	panic("stages: unreachable: Budget has no other types")
}

// ErrFatal marks errors that no policy may skip, for errors.Is.
var ErrFatal = plan.ErrFatal

// Fatal marks err as one that no policy may skip: the run fails with it. errors.Is and As see through it. Fatal(nil)
// is nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return marked{err, ErrFatal}
}

type marked struct{ err, as error }

func (m marked) Error() string   { return m.err.Error() }
func (m marked) Unwrap() []error { return []error{m.err, m.as} }
