package stages

import (
	"context"
	"sync/atomic"

	"github.com/weirflow/weir/internal/plan"
)

// A Hook is called around the stages and items of a graph, where they run: see [Graph.Hook]. Any field may be nil. Calls
// for different workers overlap; a hook guards what it shares. Calls for stages overlap with nothing. To wrap one
// stage's function, wrap the function instead.
//
// A hook that fails never loses an item unseen: see each field. One that does not return holds up the run, as a
// function does, and Stop names it.
type Hook struct {
	// StageEnter is called once for each stage, sources included, in the order of the graph, before any source is pulled
	// and any worker opened. Deploy does not wait for it; ctx ends when the run is stopped. An error, or a panic, fails the
	// run before any item: the stages behind it are not entered.
	//
	// For stages that are in other processes it is called there, once in each life of each copy, and those that are elsewhere do not
	// wait for it. A process that is killed calls no StageExit.
	StageEnter func(ctx context.Context, s StageInfo) error
	// StageExit is called once for each stage that was entered, in reverse order, after the last worker of the graph has
	// been closed, however the run has ended. ctx does not end, so that there is time to clean up after a run that was
	// stopped.
	//
	// err is the stage's error: why this stage has failed the run, or nil. Being stopped is no error. What StageExit returns
	// goes on, as the stage's error, to the hook outside it: err, as a rule. Any other error, or a panic, fails the run
	// too, after its items have been delivered; of a run that was stopped it is only told as an event. nil for a non-nil
	// err does not mend the run.
	StageExit func(ctx context.Context, s StageInfo, err error) error
	// ItemEnter is called before each attempt at an item. An error is the attempt's, as if the function had returned it;
	// neither the function nor what is inside this hook is called then, nor this hook's ItemExit. A panic costs the
	// worker, as one of the function does.
	ItemEnter func(ctx context.Context, it Item) error
	// ItemExit is called after each attempt, before its outputs become visible (of a Streaming stage: after those that
	// have left). It returns the attempt's error: err, as a rule. An error withdraws its outputs, and fails the item unless
	// it is to be tried again ([Retryable], [Retry]); nil for a non-nil err drops the item, which then counts as filtered,
	// and hooks outside this one see nil.
	//
	// If the function panics or calls runtime.Goexit, ItemExit is called while the goroutine unwinds, with a *PanicError.
	// What it returns, or panics with, then changes nothing. A panic of ItemExit after an attempt that came to its end is
	// like one of the function.
	ItemExit func(ctx context.Context, it Item, err error) error
}

// An Item is one item as a hook sees it.
type Item struct {
	StageInfo
	ID      ID
	Attempt int // counted from 1
	value   any
}

// Value returns the item itself, if it is a T. Batches and aggregates show their input.
func Value[T any](it Item) (v T, ok bool) {
	v, ok = it.value.(T)
	return v, ok
}

// Hook calls h around every stage and every item of the graph, whether the stage is added before or after. Several hooks
// nest: the first one added is outermost, entered first and left last. After the build function has returned it does
// nothing.
//
// The items of a source have no attempts, and a Flush is not one, so there is no ItemEnter and ItemExit around them. An
// item that is given to the successor of a worker which held it is attempted again.
//
// The ctx of ItemEnter and ItemExit is that of the function: [ItemID], [Attempt] and [Where] work, and a [Timeout] bounds
// all three together. In that of StageEnter and StageExit Where works; there is no worker, so Worker and Incarnation are 0.
//
// The state of a serial worker that holds no items back keeps what it has noted of an item that ItemExit fails or drops
// after the function has succeeded. One that holds items back is replaced then: what it held is given to its successor,
// without that item.
func (g *Graph) Hook(h Hook) { g.hooks = append(g.hooks, h) }

// divideHooks gives the parts of the hooks to those who call them: the runtime, and the graph's workers.
func (g *Graph) divideHooks() (around []plan.Hook) {
	for _, h := range g.hooks {
		if h.ItemEnter != nil || h.ItemExit != nil {
			g.aroundItems = append(g.aroundItems, h)
		}
		if h.StageEnter == nil && h.StageExit == nil {
			continue
		}
		var p plan.Hook
		if h.StageEnter != nil {
			p.Enter = func(ctx context.Context) error { return h.StageEnter(ctx, Where(ctx)) }
		}
		if h.StageExit != nil {
			p.Exit = func(ctx context.Context, err error) error { return h.StageExit(ctx, Where(ctx), err) }
		}
		around = append(around, p)
	}
	return around
}

// withHooks returns w with the graph's hooks around it: w itself if there are none. Every kernel calls its worker
// through it. check returns what the kernel has against the outputs of the item at hand, of which Process has returned
// no error: hooks are to see that, too. ctx is that of the incarnation.
func withHooks[In, Out any](ctx context.Context, g *Graph, s *plan.Stage, w Worker[In, Out], check func() error) Worker[In, Out] {
	if len(g.aroundItems) == 0 {
		return w
	}
	return &hooked[In, Out]{Worker: w, hooks: g.aroundItems, info: Where(ctx), holds: s.Holds, check: check}
}

// tooMany is the check of a kernel that collects what an item emits.
func (k *kernel[In, Out]) tooMany() error {
	if k.over || k.stage.MaxOutputs > 0 && len(k.buf)-k.mark > k.stage.MaxOutputs {
		return tooMany(k.stage.MaxOutputs)
	}
	return nil
}

// tooFew is the check of a kernel that has handed on outputs of an earlier attempt.
func (k *streamKernel[In, Out]) tooFew() error {
	if k.wanted && k.skip > 0 {
		return Fatal(ErrNotDeterministic)
	}
	return nil
}

// A hooked is a Worker with hooks around it.
type hooked[In, Out any] struct {
	Worker[In, Out]
	hooks []Hook
	info  StageInfo
	holds bool
	check func() error

	succeeded bool        // Process has returned for the item at hand, without an error
	dropped   bool        // a hook has taken an error of it away
	death     *PanicError // Process, or a hook inside, has not returned: the last that happens here
}

func (h *hooked[In, Out]) Process(ctx context.Context, v In, emit func(Out) bool) error {
	h.succeeded, h.dropped = false, false
	it := Item{StageInfo: h.info, ID: ItemID(ctx), Attempt: Attempt(ctx), value: v}
	err := h.within(ctx, h.hooks, &it, v, emit)
	if err == nil && h.dropped {
		err = plan.ErrDropped
	}
	if err != nil && h.succeeded && h.holds {
		panic(&plan.Spoiled{Err: err}) // the worker holds an item that is none any more
	}
	return err
}

// within makes the attempt within hooks.
func (h *hooked[In, Out]) within(ctx context.Context, hooks []Hook, it *Item, v In, emit func(Out) bool) error {
	if len(hooks) == 0 {
		return h.attempt(ctx, v, emit)
	}
	if enter := hooks[0].ItemEnter; enter != nil {
		if err := enter(ctx, *it); err != nil {
			return err
		}
	}
	exit := hooks[0].ItemExit
	if exit == nil {
		return h.within(ctx, hooks[1:], it, v, emit)
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		r := recover() // its stack stays until this function returns, so that the worker finds it
		h.unwind(ctx, exit, it, r)
		if r != nil {
			panic(r)
		}
	}()
	err := h.within(ctx, hooks[1:], it, v, emit)
	returned = true
	left := exit(ctx, *it, err)
	h.dropped = h.dropped || left == nil && err != nil
	return left
}

func (h *hooked[In, Out]) attempt(ctx context.Context, v In, emit func(Out) bool) error {
	emit, over := watched(plan.WorkOf(ctx), emit)
	defer over()
	if err := h.Worker.Process(ctx, v, emit); err != nil {
		return err
	}
	h.succeeded = true
	return h.check()
}

// unwind calls exit while the goroutine unwinds because of r, or of runtime.Goexit if r is nil.
func (h *hooked[In, Out]) unwind(ctx context.Context, exit func(context.Context, Item, error) error, it *Item, r any) {
	defer func() { _ = recover() }() // the first panic stands
	if h.death == nil {
		value, stack := plan.Panicked(r)
		h.death = &PanicError{Stage: h.info.Stage, Item: it.ID, Value: value, Stack: stack}
	}
	_ = exit(ctx, *it, h.death)
}

func (h *hooked[In, Out]) Close() error { return closeWorker(h.Worker) }

// watched returns emit for one call, and what is to be called when that is over. Tests watch for an emit that is kept.
func watched[Out any](w *plan.Work, emit func(Out) bool) (func(Out) bool, func()) {
	if w == nil || w.Watch == nil {
		return emit, func() {}
	}
	watch, over := w.Watch, &atomic.Bool{}
	return func(v Out) bool {
		late := over.Load()
		watch(late)
		return !late && emit(v)
	}, func() { over.Store(true) }
}
