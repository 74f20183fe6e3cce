package stages

import (
	"github.com/weirflow/weir/internal/plan"
)

// OnError sets what becomes of an item that has failed for good: its function returned an error that is not to be
// retried, panicked, ran out of attempts, or does not return. The default is Fail.
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
	if o.p.letters && o.p.sink == nil {
		d.refuse("its dead letters have no sink: it is nil")
	}
	d.Policy = plan.Policy{Count: int64(o.p.count), Fraction: float64(o.p.fraction)}
	if o.p.sink != nil {
		d.Policy.Letters = o.p.sink
	}
}

// A Policy is made by Fail, Skip or DeadLetter. The zero Policy is Fail.
type Policy struct {
	count      int
	fraction   Fraction
	byFraction bool
	letters    bool
	sink       LetterSink
}

// A Budget is how much may fail: so many items, or such a fraction of them. A bare 0.01 does not compile, and 100 is
// a count: the two cannot be confused. More than the budget fails the run, the budget itself does not.
type Budget interface{ int | Fraction }

// Fraction is a part of the items that the stage has finished, in (0, 1]. It is judged once a hundred items are
// through (supervisor.Config.Probation), and again at the end.
type Fraction float64

// Fail ends the run with the item's error: the default.
func Fail() Policy { return Policy{} }

// Skip drops the item, counts it as failed and reports it (supervisor.ItemFailed), as long as the budget of this
// stage lasts. The failure that exceeds it ends the run with ErrBudget and that item's error. Skip(0) is Fail;
// Skip(Fraction(1)) tolerates any number.
func Skip[B Budget](max B) Policy {
	switch max := any(max).(type) {
	case Fraction:
		return Policy{fraction: max, byFraction: true}
	case int:
		return Policy{count: max}
	}
	panic("stages: unreachable: Budget has no other types")
}

// DeadLetter is Skip, with the item handed to sink first, the one that exceeds the budget included. It counts as handed
// over when the sink's Write and Sync have returned, and only then as failed. A sink that fails ends the run: nothing is
// dropped. The stage's input must be of a type that can be encoded (codecs.ErrNotEncodable; package codecs/msgpack says
// which can): Deploy checks it. An error marked [Fatal] ends the run, as ever, and is not handed over. When the run ends, for
// whatever reason, the sink may hold a few letters more than have been counted: those that were under way.
func DeadLetter[B Budget](sink LetterSink, max B) Policy {
	p := Skip(max)
	p.letters, p.sink = true, sink
	return p
}

// Marks of errors, for errors.Is: see [Retryable] and [Fatal].
var (
	ErrRetryable = plan.ErrRetryable
	ErrFatal     = plan.ErrFatal
)

// Retryable marks err as worth another attempt at the same item: see [Retry]. errors.Is and As see through it.
// Retryable(nil) is nil.
func Retryable(err error) error { return mark(err, ErrRetryable) }

// Fatal marks err as one that no policy may skip, nor try again: the run fails with it. errors.Is and As see through it.
// Fatal(nil) is nil.
func Fatal(err error) error { return mark(err, ErrFatal) }

func mark(err, as error) error {
	if err == nil {
		return nil
	}
	return marked{err, as}
}

type marked struct{ err, as error }

func (m marked) Error() string   { return m.err.Error() }
func (m marked) Unwrap() []error { return []error{m.err, m.as} }
