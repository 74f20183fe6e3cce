package stages

import (
	"context"
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// HOT PATH: the typed loop behind a OneToOne. Per item it makes one call, two stores and one load.

// A oneToOneKernel runs a OneToOne. The output of item i lies at base+i, so what was done before a panic follows from
// Work.Next.
type oneToOneKernel[In, Out any] struct {
	kernel[In, Out]
	apply func(context.Context, In) (Out, error)
	base  int // of the current delivery; negative where it begins in the middle of a chunk
}

func newOneToOneKernel[In, Out any](w OneToOne[In, Out], s *plan.Stage) *oneToOneKernel[In, Out] {
	k := &oneToOneKernel[In, Out]{apply: w.Func()}
	k.worker, k.stage = w, s
	return k
}

func (k *oneToOneKernel[In, Out]) Run(ctx context.Context, w *plan.Work) {
	items := k.begin(w)
	first, apply := w.Next, k.apply
	items = items[first:]
	k.base = len(k.buf) - first
	k.buf = slices.Grow(k.buf, len(items))
	out := k.buf[len(k.buf) : len(k.buf)+len(items)]
	for j := range items {
		if w.Yield.Load() && j > 0 {
			k.done(w, first+j)
			return
		}
		w.Next = first + j
		v, err := apply(ctx, items[j])
		if err != nil {
			w.Err = err
			k.done(w, first+j)
			return
		}
		out[j] = v
	}
	k.done(w, first+len(items))
}

// done ends the delivery before item to.
func (k *oneToOneKernel[In, Out]) done(w *plan.Work, to int) {
	k.buf = k.buf[:k.base+to]
	k.end(w, to)
}

func (k *oneToOneKernel[In, Out]) Rescue(w *plan.Work) { k.done(w, w.Next) }
