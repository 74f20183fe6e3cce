package stages

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// A Worker is the code of one worker of a stage: the contract that every kind implements, the built-in ones included.
// If it is an io.Closer, it is closed when it ends.
type Worker[In, Out any] interface {
	// Process works on one item and hands its results to emit. No two calls for one Worker overlap. An error, or a
	// panic, concerns v only, and what was emitted for it is withdrawn; after an error, v must not be held. emit is for
	// use during the call; it does not block (that of a Streaming kind waits for room), and returns false when nobody
	// wants more, after which returning soon is polite.
	Process(ctx context.Context, v In, emit func(Out) bool) error
}

// A OneToOne is a Worker of which each item becomes exactly one other. The runtime then calls its function instead of
// Process, which saves half of what a cheap stage costs; everything else is the same. Map's worker is one. A stage with a
// Timeout, or in a graph with hooks around its items, calls Process all the same.
type OneToOne[In, Out any] interface {
	Worker[In, Out]
	// Func returns what Process would emit, as a function. It is asked once, when the worker has been opened.
	Func() func(ctx context.Context, v In) (Out, error)
}

// A OneToMany is a Worker of which each item becomes the elements of a slice, which may be empty. The runtime then calls
// its function instead of Process and takes the elements in one go; everything else is the same. Unbatch's worker is one.
type OneToMany[In, Out any] interface {
	Worker[In, Out]
	// Func returns what Process would emit, as a function. It is asked once, when the worker has been opened. The slice
	// is only read, and not after the next call. A stage that is Streaming or has a Timeout still calls Process.
	Func() func(ctx context.Context, v In) ([]Out, error)
}

// A Flusher is a Worker that holds items back.
type Flusher[Out any] interface {
	// Held returns how many of the latest items are held: not yet in any output, and needed for one to come. It is asked
	// after each call; all items before those are done with. After Flush it is 0.
	Held() int
	// Flush emits what is held: at the end of each epoch, when [MaxWait] is up and when [MaxHeld] are held. Its error
	// fails the run, its panic is tried again with another Worker.
	Flush(ctx context.Context, emit func(Out) bool) error
}

// A Collector is a Worker that holds items back and can take several in one go. The runtime then calls Collect instead of
// Process, which saves most of what a cheap stage costs; everything else is the same. Batch's worker is one.
type Collector[In, Out any] interface {
	Worker[In, Out]
	Flusher[Out]
	// Collect works on items, of which there is at least one and as many as [MaxHeld] leaves room for, up to the first
	// at which it emits. It returns how many it is done with. That may be none if it has emitted: what was held has left
	// then, and the same items come again. What it emits was made of what it has let go of, as Held tells afterwards, and
	// stands where the last of the items stands that it is done with, or the first of them if that is none.
	//
	// An error concerns the item behind those that are done; it must come from a call that has emitted nothing. After a
	// panic, which concerns one of the items, they are given to the next worker one by one. ItemID names the first of
	// them. The slice must not be kept. (AggregateByKey calls Process all the same.)
	Collect(ctx context.Context, items []In, emit func(Out) bool) (done int, err error)
}

// A Kind is a kind of stage with independent workers: [Mailbox] of them.
type Kind[In, Out any] struct {
	Name string // "map": shown in descriptions and statistics
	// Open makes a worker, when it starts and each time it is replaced. Its error is a failed start.
	Open func(ctx context.Context) (Worker[In, Out], error)
	// Ordered makes Ordered the kind's default for any Mailbox.
	Ordered bool
	// Streaming hands on each output at once: see the FlatMap option of that name, which sets it.
	Streaming bool
	// Fault is what is wrong with the parameters of the constructor: it is refused with the stage's other faults.
	Fault string
	// MaxOutputs limits the outputs of one input, unless they are Streaming: more fail it with ErrTooMany. 0 means
	// 1024, and 64 MiB where their size is known; a negative number means no limit, for a kind whose outputs are in
	// memory before it emits them.
	MaxOutputs int
}

// A SerialKind is a kind of stage that sees one item at a time, in input order, because its state spans items.
type SerialKind[In, Out any] struct {
	Name string
	// Open makes the worker, when it starts and each time it is replaced. Its error is a failed start.
	Open func(ctx context.Context) (Worker[In, Out], error)
	// Holds says that the Worker is a Flusher. What it holds is given again to the worker that replaces it.
	Holds bool
	// MaxWait is the default for the option of that name. 0 means no limit.
	MaxWait time.Duration
	// MaxHeld is the default for the option of that name. 0 means 1024.
	MaxHeld int
	// MaxOutputs limits the outputs of one call of Process as it does those of a Kind; more fail the item. Flush is
	// trusted to emit no more than that for each item held: the bounds that descriptions print are computed from it.
	MaxOutputs int
	// Fault is what is wrong with the parameters of the constructor: it is refused with the stage's other faults.
	Fault string
}

// Attach adds a stage to the graph that in belongs to: the door through which every kind enters, in this package or
// any other. A constructor of a new kind is a few lines around it, with the parameters in the order of the built-in
// ones.
func Attach[In, Out any](in Stream[In], name string, k Kind[In, Out], opts ...Option) Stream[Out] {
	d := newDraft(name, k.Name, reflect.TypeFor[Out]())
	d.Streaming = k.Streaming
	for _, o := range opts {
		o.work(d)
	}
	return attach(in, k, d)
}

func attach[In, Out any](in Stream[In], k Kind[In, Out], d *draft) Stream[Out] {
	g := behind(in, d.Name)
	in = withLetters(in, d)
	d.constructor(k.Fault, k.Open == nil)
	d.keepsOrder(k.Ordered)
	if d.Streaming && d.Timeout > 0 {
		d.refuse("a Timeout does not go with Streaming: the time that outputs wait for room would count")
	}
	s := d.Stage
	s.MaxOutputs = outputsOf(k.MaxOutputs)
	s.Pool = plan.NewPool[Out]()
	s.Open = func(ctx context.Context) (plan.Kernel, error) {
		w, err := k.Open(ctx)
		if err == nil {
			err = noFlusher[Out](w, s, "a stage that holds items back is made by AttachSerial")
		}
		if err != nil {
			return nil, err
		}
		if s.Streaming {
			k := newStreamKernel(w, s)
			k.worker = withHooks(ctx, g, s, w, k.tooFew)
			return k, nil
		}
		if s.Timeout == 0 && len(g.aroundItems) == 0 {
			switch w := w.(type) {
			case OneToOne[In, Out]:
				return newOneToOneKernel(w, s), nil
			case OneToMany[In, Out]:
				return newOneToManyKernel(w, s), nil
			}
		}
		return newTimedKernel(ctx, g, w, s), nil
	}
	return Stream[Out]{g, g.add(d, in.port)}
}

// newTimedKernel makes a kernel with hooks around its worker, and with the stage's Timeout around those, if there are any.
func newTimedKernel[In, Out any](ctx context.Context, g *Graph, w Worker[In, Out], s *plan.Stage) plan.Kernel {
	k := newKernel(w, s)
	var t *timed[In, Out]
	check := k.tooMany
	if s.Timeout > 0 {
		check = func() error { return t.tooMany() } // the kernel has seen nothing yet
	}
	k.worker = withTimeout(s, withHooks(ctx, g, s, w, check), false)
	t, _ = k.worker.(*timed[In, Out])
	return k
}

// AttachSerial is Attach for a SerialKind.
func AttachSerial[In, Out any](in Stream[In], name string, k SerialKind[In, Out], opts ...SerialOption) Stream[Out] {
	d := newDraft(name, k.Name, reflect.TypeFor[Out]())
	d.constructor(k.Fault, k.Open == nil)
	return attachSerial(in, d, k, opts, func(ctx context.Context, g *Graph, s *plan.Stage) (plan.Kernel, error) {
		w, err := k.Open(ctx)
		if err != nil {
			return nil, err
		}
		if s.Holds {
			k, err := newSerialKernel(w, s)
			if err == nil && len(g.aroundItems) > 0 {
				k.worker, k.collector = withHooks(ctx, g, s, w, k.tooMany), nil
			}
			return k, err
		}
		if err := noFlusher[Out](w, s, "its SerialKind does not say Holds"); err != nil {
			return nil, err
		}
		k := newKernel(w, s)
		k.worker = withHooks(ctx, g, s, w, k.tooMany)
		return k, nil
	})
}

func attachSerial[In, Out any](
	in Stream[In], d *draft, k SerialKind[In, Out], opts []SerialOption,
	open func(context.Context, *Graph, *plan.Stage) (plan.Kernel, error),
) Stream[Out] {
	d.Serial, d.Holds, d.Stage.Ordered = true, k.Holds, true
	if !k.Holds && (k.MaxWait != 0 || k.MaxHeld != 0) {
		d.refuse("MaxWait and MaxHeld mean nothing to a %s, which holds no items back", k.Name)
	}
	if d.MaxWait = k.MaxWait; k.MaxWait < 0 {
		d.refuse("wait of at most %v, want at least 0", k.MaxWait)
	}
	if k.Holds {
		if d.Stage.MaxHeld = k.MaxHeld; k.MaxHeld == 0 {
			d.Stage.MaxHeld = 1024
		}
		d.check("at most %d items held", d.Stage.MaxHeld, 1, maxSize)
	}
	for _, o := range opts {
		o.serial(d)
	}
	g := behind(in, d.Name)
	in = withLetters(in, d)
	s := d.Stage
	s.MaxOutputs = outputsOf(k.MaxOutputs)
	s.Pool = plan.NewPool[Out]()
	s.Open = func(ctx context.Context) (plan.Kernel, error) { return open(ctx, g, s) }
	return Stream[Out]{g, g.add(d, in.port)}
}

// keepsOrder decides whether the stage is ordered; unless says it where no option does.
func (d *draft) keepsOrder(unless bool) {
	d.Stage.Ordered = d.Mailbox == 1 || d.order == Ordered || d.order == 0 && unless
}

// outputsOf is MaxOutputs of a kind, with its default.
func outputsOf(n int) int {
	if n == 0 {
		return defaultOutputs
	}
	return n
}

// constructor refuses what a constructor has done wrong.
func (d *draft) constructor(fault string, noOpen bool) {
	if noOpen {
		d.refuse("its function is nil")
	}
	if fault != "" {
		d.refuse("%s", fault)
	}
}

// noFlusher refuses a worker whose Flush nobody would call: what it holds would be lost in silence.
func noFlusher[Out any](w any, s *plan.Stage, why string) error {
	if _, ok := w.(Flusher[Out]); ok {
		return Fatal(fmt.Errorf("%T, of kind %q, is a Flusher, but %s", w, s.Kind, why))
	}
	return nil
}

func closeWorker(w any) error {
	if c, ok := w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
