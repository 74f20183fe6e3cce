package stages

import (
	"context"
	"iter"
	"reflect"

	"github.com/weirflow/weir/internal/plan"
)

// An Origin is where a source gets its items: one of the From functions makes it of whatever the program has. It may
// be opened many times, at any position, in any process. The zero Origin is a *DefinitionError.
type Origin[T any] struct {
	open  func(ctx context.Context, from Position) iter.Seq2[T, error]
	local bool   // cannot be opened again, nor leave the deploying process
	fault string // a mistake in what it was made of
	// content describes what it was made of, to be compared with what it is made of in another process: see contentOf.
	content func() string
}

// Plan returns what o is made of: for the packages of this module.
func (o Origin[T]) Plan() plan.Origin[T] {
	p := plan.Origin[T]{Local: o.local, Fault: o.fault}
	if o.open != nil {
		p.Open = func(ctx context.Context, epoch int, index int64) iter.Seq2[T, error] {
			return o.open(ctx, Position{epoch, index})
		}
	}
	return p
}

// A Position is a place in a source. The zero value is its beginning.
type Position struct {
	Epoch int   // passes over the source that lie behind
	Index int64 // items of this epoch that lie behind
}

// Source starts a stream. Items are pulled one at a time by one goroutine, only when there is room for them.
//
// A pair with an error is a failed item, subject to the stage's [OnError]; iteration goes on behind it. A source that
// cannot go on yields its error, wrapped by [Fatal] so that no policy may skip it, and returns.
//
// An iterator that panics is opened again where it was: at once, then after pauses. The eleventh time in a row, without an
// item in between, fails the run with a *[RestartError]; [Restart] says otherwise.
func Source[T any](g *Graph, name string, from Origin[T], opts ...SourceOption) Stream[T] {
	if g.replay != nil {
		from.open = func(context.Context, Position) iter.Seq2[T, error] { return func(func(T, error) bool) {} }
	}
	return source(g, name, from, opts...)
}

func source[T any](g *Graph, name string, from Origin[T], opts ...SourceOption) Stream[T] {
	d := newDraft(name, sourceKind, reflect.TypeFor[T]())
	d.Local, d.Stage.Ordered = from.local, true
	for _, o := range opts {
		o.source(d)
	}
	if from.fault != "" {
		d.refuse("%s", from.fault)
	} else if from.open == nil {
		d.refuse("its origin is empty: make one with FromSlice, Shuffled, FromSeq, FromFunc, FromChan or FromFiles")
	}
	s := d.Stage
	if g.replay != nil {
		s.Epochs = 1
	}
	if s.Content = from.content; s.Content == nil {
		s.Content = func() string { return "a function" }
	}
	pool := plan.NewPool[T]()
	s.Pool = pool
	s.Feed = func() plan.Feed { return &feed[T]{open: from.open, stage: s, pool: pool} }
	return Stream[T]{g, g.add(d)}
}

// sourceKind is the Kind of a source.
const sourceKind = "source"

// FromSlice yields the elements of s, which must not change any more.
//
// A pipeline that runs in other processes is built there again, so s must be the same there: not a package variable that
// main fills, for one. The deployment fails if it is not, of types that can be encoded: their elements are compared.
func FromSlice[T any](s []T) Origin[T] {
	from := FromFunc(func(_ context.Context, from Position) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for _, v := range s[min(from.Index, int64(len(s))):] {
				if !yield(v, nil) {
					return
				}
			}
		}
	})
	from.content = func() string { return contentOf(s) }
	return from
}

// FromSeq calls seq for every epoch, and again after a failure; it gets to a position by throwing away what lies
// before. seq must yield the same items in the same order each time. ctx ends when nobody wants more: a source that
// blocks must watch it. Clean up with defer inside the iterator: it is always run to its end or broken off, never
// abandoned.
func FromSeq[T any](seq func(ctx context.Context) iter.Seq2[T, error]) Origin[T] {
	if seq == nil {
		return Origin[T]{fault: "FromSeq was given a nil function"}
	}
	return FromFunc(func(ctx context.Context, from Position) iter.Seq2[T, error] {
		if from.Index == 0 {
			return seq(ctx)
		}
		return func(yield func(T, error) bool) {
			skip := from.Index
			for v, err := range seq(ctx) {
				if skip > 0 {
					skip--
				} else if !yield(v, err) {
					return
				}
			}
		}
	})
}

// FromFunc is FromSeq for sources that can seek, or differ by epoch: open(ctx, Position{Epoch: e, Index: i}) yields
// what comes after the first i items of epoch e, the same each time it is asked. stagetest.Origin checks that.
func FromFunc[T any](open func(ctx context.Context, from Position) iter.Seq2[T, error]) Origin[T] {
	if open == nil {
		return Origin[T]{fault: "FromFunc was given a nil function"}
	}
	return Origin[T]{open: open}
}

// FromChan yields what arrives on c until it is closed. A channel cannot be opened again or taken to another process:
// the stage runs in the deploying process, and has one epoch. An item that was received before Drain comes out.
func FromChan[T any](c <-chan T) Origin[T] {
	if c == nil {
		return Origin[T]{fault: "FromChan was given a nil channel"}
	}
	return Origin[T]{local: true, content: func() string { return "a channel" }, open: func(ctx context.Context, _ Position) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for {
				select {
				case v, ok := <-c:
					if !ok || !yield(v, nil) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}
	}}
}

// A feed is the ring between a source's iterator, in the worker, and the stage actor, which makes chunks of what is in
// it.
type feed[T any] struct {
	open  func(ctx context.Context, from Position) iter.Seq2[T, error]
	stage *plan.Stage
	pool  *plan.PoolOf[T]
	gate  *plan.Gate
	flat  bool // T has no pointers
	ring  []T  // written at [tail] by the worker, read below it by the actor

	// Owned by the worker.
	at    Position // where the iterator is
	ended bool     // the epoch has come to its end: a cleanup that panics does not open it again
	done  bool     // there is nothing more
	begun bool     // it has been opened
	over  bool     // it has been started behind its last epoch
}

func (f *feed[T]) Bind(g *plan.Gate) {
	f.gate, f.ring, f.flat = g, make([]T, f.stage.RingSize()), plan.Flat(reflect.TypeFor[T]())
}

// Start implements plan.Feed. Behind the last epoch there is nothing but the end.
func (f *feed[T]) Start(epoch int, index int64) {
	f.at = Position{Epoch: epoch, Index: index}
	f.over = f.stage.Epochs != plan.Forever && epoch >= f.stage.Epochs
}

// Run is called again after a panic: it goes on where the iterator was.
func (f *feed[T]) Run(ctx context.Context) {
	if f.over {
		f.gate.Mark(plan.Mark{Ends: true})
		return
	}
	again := f.begun // after a panic: it is not opened again for a run that is being drained
	f.begun = true
	for !f.done && (!again || f.gate.Open()) {
		if !f.ended && !f.epoch(ctx) {
			break
		}
		if f.at.Index == 0 && f.stage.Epochs == plan.Forever && f.gate.Open() {
			f.gate.Mark(plan.Mark{Err: ErrEmptyEpoch, Fatal: true})
			break
		}
		f.at, f.ended = Position{Epoch: f.at.Epoch + 1}, false
		if f.stage.Epochs != plan.Forever && f.at.Epoch >= f.stage.Epochs || !f.gate.Open() {
			break
		}
		f.gate.Mark(plan.Mark{Epoch: true})
	}
	f.done = true
	f.gate.Mark(plan.Mark{Epoch: true, Ends: true})
}

// epoch runs the iterator once, and reports whether it came to its end.
//
// HOT PATH: the loop's body runs for every item of the source.
func (f *feed[T]) epoch(ctx context.Context) bool {
	g, ring := f.gate, f.ring
	mask := uint64(len(ring) - 1)
	t := g.Tail()
	limit := uint64(0) // looked up when the last one seen is used up
	for v, err := range f.open(ctx, f.at) {
		if err != nil {
			what := plan.Examine(err, nil)
			if what.Canceled && !g.Open() {
				return false // it says that it was told to end
			}
			f.at.Index++
			if !g.Mark(plan.Mark{Err: what.Err, Fatal: what.Fatal}) {
				if !f.stay() {
					return f.ended
				}
			}
			continue
		}
		if t >= limit {
			if limit = g.Room(t); limit == 0 {
				return false
			}
		}
		ring[t&mask] = v
		t++
		f.at.Index++
		if !g.Put(t - 1) {
			if !f.stay() {
				return f.ended
			}
		}
	}
	f.ended = true
	return true
}

// stay is asked when the gate has told the iterator to end: it reports whether it should go on after all, and notes if
// only this epoch is over.
func (f *feed[T]) stay() bool {
	on, skip := f.gate.Stay(f.at.Epoch)
	f.ended = skip
	return on
}

// Take copies n items out of the ring: at most two memmoves.
func (f *feed[T]) Take(from uint64, n int) plan.Chunk {
	c := f.pool.Of(n)
	a := int(from & uint64(len(f.ring)-1))
	b := min(a+n, len(f.ring))
	c.Items = append(c.Items, f.ring[a:b]...)
	f.forget(f.ring[a:b])
	if rest := n - (b - a); rest > 0 {
		c.Items = append(c.Items, f.ring[:rest]...)
		f.forget(f.ring[:rest])
	}
	return c
}

// forget drops the references of items that have been taken.
func (f *feed[T]) forget(items []T) {
	if !f.flat {
		clear(items)
	}
}
