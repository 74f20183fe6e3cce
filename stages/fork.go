package stages

import (
	"context"

	"github.com/weirflow/weir/internal/plan"
)

// HOT PATH: the typed loop of stages with several outputs. Per item it makes one call, two stores and one load.

// A forkKernel hands items on by the outputs that its worker names. Nothing is written before the worker has returned,
// so there is nothing to withdraw.
type forkKernel[T any] struct {
	branches[T]
	worker Worker[T, int]
	one    func(context.Context, T) (int, error) // of a OneToOne; nil: the worker is asked
	tee    bool
	to     []int // what the worker has named for the item at hand
	name   func(int) bool
}

func newForkKernel[T any](ctx context.Context, g *Graph, w Worker[T, int], s *plan.Stage) plan.Kernel {
	k := &forkKernel[T]{}
	k.branches.init(s, s.Fork.Several)
	w = withTimeout(s, withHooks(ctx, g, s, w, k.check), true)
	k.worker = w
	if o, ok := w.(OneToOne[T, int]); ok && s.Timeout == 0 {
		k.one = o.Func()
	}
	_, k.tee = w.(teer[T]) // not one with hooks around it, which are to be called
	k.name = func(b int) bool {
		k.to = append(k.to, b)
		return true
	}
	return k
}

func (k *forkKernel[T]) Run(ctx context.Context, w *plan.Work) {
	in := w.In.(*plan.Of[T])
	k.begin(w)
	switch {
	case k.tee && w.Settled.Len() == 0:
		k.both(w, in)
	case k.one != nil:
		k.route(ctx, w, in)
	default:
		k.ask(ctx, w, in)
	}
	k.end(w)
}

// route is for workers that name one output.
func (k *forkKernel[T]) route(ctx context.Context, w *plan.Work, in *plan.Of[T]) {
	one, out, items := k.one, k.out, in.Items[:w.To]
	for i := w.Next; i < len(items); i++ {
		if w.Yield.Load() && i > w.First {
			break
		}
		b, err := one(ctx, items[i])
		if err == nil && uint(b) >= uint(len(out)) {
			err = noBranch(b, len(out))
		}
		if err != nil {
			w.Err = err
			break
		}
		o := out[b]
		if o == nil {
			o = k.branch(b)
		}
		o.Items = append(o.Items, items[i])
		if !k.base.Has(i) {
			k.rebase(i)
		}
		k.strands[b].Add(&o.Head().IDs, &k.base, i)
		w.Next = i + 1
	}
}

// ask is for workers that name any number of outputs.
func (k *forkKernel[T]) ask(ctx context.Context, w *plan.Work, in *plan.Of[T]) {
	for i := w.Next; i < w.To; i++ {
		if i > w.First && w.Yield.Load() {
			break
		}
		k.to = k.to[:0]
		if err := k.process(ctx, in.Items[i]); err != nil {
			w.Err = err
			break
		}
		k.to = k.rest(w, i, k.to)
		if len(k.to) == 0 {
			w.Dropped++
			w.Tally.SettleOne(k.identity(i), plan.Filtered)
		}
		for n, b := range k.to {
			o := k.branch(b)
			o.Items = append(o.Items, in.Items[i])
			if n == 0 {
				k.identify(i, b, len(k.to))
			} else {
				k.strands[b].Add(&o.Head().IDs, &k.base, i)
			}
		}
		w.Next = i + 1
	}
}

// process asks the worker about one item.
func (k *forkKernel[T]) process(ctx context.Context, v T) error {
	if err := k.worker.Process(ctx, v, k.name); err != nil {
		return err
	}
	return k.check()
}

// check is what is wrong with the worker's answer.
func (k *forkKernel[T]) check() error {
	for i, b := range k.to {
		if uint(b) >= uint(len(k.out)) {
			return noBranch(b, len(k.out))
		}
		for _, c := range k.to[:i] {
			if c == b {
				return branchTwice(b)
			}
		}
	}
	return nil
}

// both gives all items to all branches, a stretch at a time.
func (k *forkKernel[T]) both(w *plan.Work, in *plan.Of[T]) {
	for i := w.Next; i < w.To; {
		n := k.stretch(i)
		for b := range k.out {
			o := k.branch(b)
			o.Copy(in, i, i+n)
			o.Head().IDs.Split(k.split, 0, n, b)
		}
		k.split.SetAllAlive(n, len(k.out))
		i += n
		w.Next = i
	}
}

func (k *forkKernel[T]) Rescue(w *plan.Work) { k.end(w) }

func (k *forkKernel[T]) Close() error { return closeWorker(k.worker) }

// branches are the outputs of a delivery, and the identities of what goes by them.
type branches[T any] struct {
	stage *plan.Stage
	pool  *plan.PoolOf[T]
	out   []*plan.Of[T] // nil: nothing has gone there

	numbers  bool // a join restores the order
	several  int  // branches that an item may take, if there may be several
	work     *plan.Work
	ids      plan.Cursor // of the input
	split    *plan.Family
	from, to int // items that split is for
	base     plan.Base
	strands  []plan.Strand // by output
}

func (k *branches[T]) init(s *plan.Stage, scatter bool) {
	k.stage, k.pool, k.out = s, s.Pool.(*plan.PoolOf[T]), make([]*plan.Of[T], s.Outs)
	if scatter {
		k.several = s.Outs
	}
	k.numbers = s.Fork.Numbered
	k.strands = make([]plan.Strand, s.Outs)
	for b := range k.strands {
		k.strands[b].Goes(b)
	}
}

// parted reports whether an item's identity says that it has parted here.
func (k *branches[T]) parted() bool { return k.several > 1 || k.numbers }

func (k *branches[T]) begin(w *plan.Work) {
	k.work, k.ids, k.base = w, w.In.Head().IDs.From(w.Next), plan.Base{}
	k.split, k.from, k.to = nil, w.Next, w.Next
	if w.Round = nil; k.numbers {
		w.Round = &plan.OpenRound{Fork: k.stage.Index + 1}
	}
}

// branch returns the chunk for output b.
func (k *branches[T]) branch(b int) *plan.Of[T] {
	o := k.out[b]
	if o == nil {
		o = k.pool.Of(k.work.To - k.work.Next)
		k.out[b] = o
	}
	return o
}

// identify gives output b the identity of item i, which goes by n outputs.
func (k *branches[T]) identify(i, b, n int) {
	if !k.base.Has(i) {
		k.rebase(i)
	}
	if k.several > 1 {
		k.split.SetAlive(i-k.from, n)
	}
	k.strands[b].Add(&k.out[b].Head().IDs, &k.base, i)
}

// rebase finds where the identity of item i, and of those behind it, comes from.
func (k *branches[T]) rebase(i int) {
	if k.parted() {
		n := k.stretch(i)
		k.split.Base(&k.base, i, n)
		return
	}
	k.ids.To(i)
	k.ids.Base(&k.base)
}

// identity returns that which item i has come with.
func (k *branches[T]) identity(i int) plan.Run {
	k.ids.To(i)
	return k.ids.Peek()
}

// stretch begins a split at item i, and returns how many items it is for.
func (k *branches[T]) stretch(i int) (n int) {
	k.ids.To(i)
	k.split, n = plan.NewSplit(k.ids, k.work.To, k.work.Round, i-k.work.First, k.several)
	k.from, k.to = i, i+n
	return n
}

func (k *branches[T]) end(w *plan.Work) {
	for b, o := range k.out {
		if o != nil {
			k.strands[b].Flush(&o.Head().IDs)
			w.Outs[b] = o
			k.out[b] = nil
		}
	}
	k.split, k.work = nil, nil
}
