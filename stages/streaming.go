package stages

import (
	"context"

	"github.com/weirflow/weir/internal/plan"
)

// A streamKernel hands on the outputs of an item while it is worked on: at once when the stage can take them, and
// otherwise as soon as it can.
//
// The outputs of an item are a family from the first one on, and the item itself a member of it until it is done: so
// the family cannot be complete before that. What a new attempt must not hand on again is skipped by number.
type streamKernel[In, Out any] struct {
	kernel[In, Out]
	ctx    context.Context // of the worker; during Run
	w      *plan.Work
	open   plan.Partial // of the item at Work.Next
	skip   int          // outputs of it that an earlier attempt has handed on
	wanted bool

	settled *plan.Spans // outputs of it that are gone: see suppress.go; nil: none
}

func newStreamKernel[In, Out any](w Worker[In, Out], s *plan.Stage) *streamKernel[In, Out] {
	k := &streamKernel[In, Out]{wanted: true}
	k.worker, k.stage = w, s
	k.kernel.emit = k.take
	return k
}

func (k *streamKernel[In, Out]) take(v Out) bool {
	if k.skip > 0 {
		k.skip--
		return k.wanted
	}
	if !k.wanted || k.gone() {
		return k.wanted
	}
	if k.buf = append(k.buf, v); k.w.Parts.Wanted() || len(k.buf) >= plan.PartItems {
		k.hand()
	}
	return k.wanted
}

// hand gives away what has come so far.
func (k *streamKernel[In, Out]) hand() {
	w := k.w
	k.join()
	k.out.Items = k.buf
	w.Open = k.open
	k.wanted = w.Parts.Hand(k.ctx, w)
	k.out = w.Out.(*plan.Of[Out])
	k.buf, k.mark = k.out.Items, 0
}

// join makes what the current item has emitted since mark members of its family.
func (k *streamKernel[In, Out]) join() {
	ids, made := &k.out.Head().IDs, len(k.buf)-k.mark
	k.ids.CopyTo(ids, k.w.Next)
	if made == 0 {
		return
	}
	if k.open.Family == nil {
		k.open.Family = plan.NewFamily(k.w.Tally, k.ids.Peek(), 1+int64(made))
	} else {
		k.open.Family.Grow(made)
	}
	ids.Members(k.open.Family, k.open.Outputs, made)
	k.open.Outputs += made
	k.mark = len(k.buf)
}

func (k *streamKernel[In, Out]) Run(ctx context.Context, w *plan.Work) {
	k.ctx, k.w = ctx, w
	items := k.begin(w)
	k.open, k.skip = w.Resume, w.Resume.Outputs
	i := w.Next
	for first := i; i < len(items); i++ {
		if i > first && w.Yield.Load() || len(k.buf) >= enoughOutputs {
			break
		}
		w.Next, k.mark = i, len(k.buf)
		k.begins(w)
		err := k.worker.Process(ctx, items[i], k.emit)
		if err == nil && k.wanted && k.skip > 0 {
			err = Fatal(ErrNotDeterministic)
		}
		if err != nil || !k.wanted {
			k.withdraw()
			w.Err, w.Open = err, k.open
			break
		}
		k.done(w)
	}
	k.end(w, i)
}

// done ends the item at Next: with its family, if it has one.
func (k *streamKernel[In, Out]) done(w *plan.Work) {
	k.join()
	parent := k.ids.Next()
	if f := k.open.Family; f != nil {
		f.Settle(w.Tally, plan.Filtered)
	} else {
		w.Dropped++
		w.Tally.SettleOne(parent, plan.Filtered)
	}
	k.open, k.skip, w.Open = plan.Partial{}, 0, plan.Partial{}
}

func (k *streamKernel[In, Out]) Rescue(w *plan.Work) {
	w.Open = k.open
	k.kernel.Rescue(w)
}
