package stages

import (
	"slices"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// Options are values with types of their own; which kind of stage takes which is said by these interfaces, so that an
// option where it means nothing does not compile. They are sealed.
type (
	// Option suits stages that call a function for each item: Map, MapWith, Filter, Route, RouteBatch, Fork, Sink and
	// foreign kinds like them.
	// [Mailbox] [Buffer] [Ordered] [Unordered] [OnError] [Retry] [Restart] [Timeout]
	Option interface {
		FlatMapOption
		work(*draft)
	}
	// FlatMapOption is any Option, and [Streaming].
	FlatMapOption interface{ flatMap(*draft) }
	// SerialOption suits stages that see one item at a time, in order: Batch, Aggregate and foreign kinds like them.
	// [Buffer] [OnError] [Restart] [MaxWait] [MaxHeld] [DropLast] [Groups]
	SerialOption interface{ serial(*draft) }
	// SourceOption suits sources. [Buffer] [OnError] [Restart] [Epochs] [Forever]
	SourceOption interface{ source(*draft) }
	// AnyOption suits all of them.
	AnyOption interface {
		Option
		SerialOption
		SourceOption
	}
)

// Mailbox sets how many items the stage works on at once: its number of workers, and with it the credit its producers
// get. It is exact. It must be at least 1; the default is 1.
type Mailbox int

func (n Mailbox) work(d *draft) { n.flatMap(d) }
func (n Mailbox) flatMap(d *draft) {
	d.once("Mailbox")
	d.check("mailbox %d", int(n), 1, maxSize)
	d.Mailbox = int(n)
}

// Buffer sets how many more items may wait in front of the stage (a source: behind it). It must be at least 0.
// Without it the waiting room follows the flow (half of it should last about 0.5 ms): a few places for slow items, up
// to 1024 for fast ones. Set it to smooth out bursts, or to 0 to hold as little as possible.
type Buffer int

func (n Buffer) work(d *draft)    { n.set(d) }
func (n Buffer) flatMap(d *draft) { n.set(d) }
func (n Buffer) serial(d *draft)  { n.set(d) }
func (n Buffer) source(d *draft)  { n.set(d) }
func (n Buffer) set(d *draft) {
	d.once("Buffer")
	most := maxSize
	if d.Kind == sourceKind {
		most = maxRing // its places are allocated
	}
	d.check("buffer %d", int(n), 0, most)
	d.Stage.Buffer = int(n)
}

// modest is that of stages that take no Buffer: no more waits before them than before what is before them.
type modest struct{}

func (m modest) work(d *draft)  { m.flatMap(d) }
func (modest) flatMap(d *draft) { d.modest = true }

// Order says in which order a stage with several workers hands on its results.
type Order int

const (
	// Ordered hands results on in the order of their inputs, whatever happens to the workers. A slow item holds back
	// the results, not the work, of others, as far as the stage's mailbox and waiting room reach. It is the default for
	// one worker.
	Ordered Order = iota + 1
	// Unordered hands results on as they are ready, epoch by epoch: the default for several workers. With one worker
	// it is the same as Ordered.
	Unordered
)

func (o Order) work(d *draft) { o.flatMap(d) }
func (o Order) flatMap(d *draft) {
	d.once("Ordered or Unordered")
	if o != Ordered && o != Unordered {
		d.refuse("order %d, want Ordered or Unordered", int(o))
	}
	d.order = o
}

// Timeout bounds one attempt at one item: its context ends with context.DeadlineExceeded. An error that the function then
// returns fails the attempt as any error does; if it returns none, it has succeeded. One that has not returned
// supervisor.Config.Grace later hangs: its item has failed, with a *[HungError], and is not tried again; the stage goes on
// with another worker. As many that hang at once as the stage has workers, and two where it has one, fail the run. Less than
// a microsecond is refused: it is a unit forgotten. An item of a stage with a Timeout costs about a microsecond more.
type Timeout time.Duration

func (t Timeout) work(d *draft) { t.flatMap(d) }
func (t Timeout) flatMap(d *draft) {
	d.once("Timeout")
	if time.Duration(t) < time.Microsecond {
		d.refuse("timeout %v, want at least 1µs: is the unit missing?", time.Duration(t))
	}
	d.Timeout = time.Duration(t)
}

// MaxWait bounds how long a stage that holds items back may hold one before it emits what it has (AggregateByKey: what the
// item's group has). Without it, it waits for the end of the epoch. Less than a microsecond is refused.
type MaxWait time.Duration

func (t MaxWait) serial(d *draft) {
	d.once("MaxWait")
	if time.Duration(t) < time.Microsecond {
		d.refuse("wait of at most %v, want at least 1µs: is the unit missing?", time.Duration(t))
	}
	d.needsHolds("MaxWait")
	d.MaxWait = time.Duration(t)
}

// MaxHeld bounds how many items a stage that holds items back may hold: at that many the runtime calls Flush (that of
// AggregateByKey's group that has waited longest). It must be at least 1; the default is 1024 (a Batch: its size). Memory
// bounds and credits are computed from it.
type MaxHeld int

func (n MaxHeld) serial(d *draft) {
	d.once("MaxHeld")
	d.check("at most %d items held", int(n), 1, maxSize)
	d.needsHolds("MaxHeld")
	d.Stage.MaxHeld = int(n)
}

// Groups bounds how many aggregators AggregateByKey keeps open. It must be at least 1; the default is 1024.
type Groups int

func (n Groups) serial(d *draft) {
	d.once("Groups")
	if d.check("%d groups", int(n), 1, maxSize); d.Stage.Groups == 0 {
		d.refuse("Groups means nothing to a stage of kind %q, which has none", d.Kind)
		return
	}
	d.Stage.Groups = int(n)
}

// Last says what becomes of what a stage still holds at the end of an epoch.
type Last int

const (
	// KeepLast emits it: the default.
	KeepLast Last = iota
	// DropLast counts it as filtered, so that all batches are full.
	DropLast
)

func (l Last) serial(d *draft) {
	d.once("DropLast or KeepLast")
	d.needsHolds("DropLast")
	d.Stage.DropLast = l == DropLast
}

// Sizes beyond these are a mistake, and would overflow sums of them.
const (
	maxSize = 1 << 30
	maxRing = 1 << 20
)

// check refuses a size that is out of range.
func (d *draft) check(what string, n, least, most int) {
	switch {
	case n < least:
		d.refuse(what+", want at least %d", n, least)
	case n > most:
		d.refuse(what+", want at most %d", n, most)
	}
}

// once refuses an option that is given again: which of the two is meant, nobody can know.
func (d *draft) once(option string) {
	if slices.Contains(d.given, option) {
		d.refuse("%s is given twice", option)
	}
	d.given = append(d.given, option)
}

func (d *draft) needsHolds(option string) {
	if !d.Holds {
		d.refuse("%s means nothing to a %s, which holds no items back", option, d.Kind)
	}
}

// Epochs is how many times a source is run through: at least 1, the default. The pipeline stays warm in between; see
// supervisor.Run.Epochs.
type Epochs int

// Forever opens the source again and again until the run is stopped.
const Forever Epochs = plan.Forever

func (n Epochs) source(d *draft) {
	d.once("Epochs")
	switch {
	case n < 1 && n != Forever:
		d.refuse("%d epochs, want at least 1, or Forever", int(n))
	case n != 1 && d.Local:
		d.refuse("a channel has one epoch: it cannot be opened again")
	}
	d.Stage.Epochs = int(n)
}

// Emission is when the outputs of one input become visible.
type Emission int

// Streaming hands on each output of a FlatMap at once, without limit on their number. It is a promise of the caller
// that f yields the same outputs in the same order for the same input: after a panic the input is run again and
// what had been handed on is dropped, unseen. An attempt that then yields less than that fails the run with
// [ErrNotDeterministic], whatever the policy. So it is with an error that is to be tried again: see [Retry]. Any other error,
// and that of the last attempt, fails the input: what had been handed on stays, and up to 512 outputs that had not are
// withdrawn. A [Timeout] does not go with it.
const Streaming Emission = 1

func (e Emission) flatMap(d *draft) { d.Streaming = e == Streaming }
