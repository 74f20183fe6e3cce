package stages

import (
	"context"

	"github.com/weirflow/weir/internal/plan"
)

// HOT PATH: the typed loop behind a OneToMany. Per input it makes one call, and copies what came of it.

// A oneToManyKernel runs a OneToMany.
type oneToManyKernel[In, Out any] struct {
	kernel[In, Out]
	apply func(context.Context, In) ([]Out, error)
}

func newOneToManyKernel[In, Out any](w OneToMany[In, Out], s *plan.Stage) *oneToManyKernel[In, Out] {
	k := &oneToManyKernel[In, Out]{apply: w.Func()}
	k.init(w, s)
	return k
}

func (k *oneToManyKernel[In, Out]) Run(ctx context.Context, w *plan.Work) {
	items := k.begin(w)
	i := w.Next
	for first := i; i < len(items); i++ {
		if i > first && w.Yield.Load() || len(k.buf) >= enoughOutputs {
			break
		}
		w.Next, k.mark = i, len(k.buf)
		out, err := k.apply(ctx, items[i])
		if err == nil && k.tooMuch(out) {
			err = tooMany(k.stage.MaxOutputs)
		}
		if err != nil {
			w.Err = err
			break
		}
		if k.buf = append(k.buf, out...); len(out) != 1 {
			k.group(w, i, len(out))
		}
	}
	k.end(w, i)
}

// tooMuch reports whether what came of one input is beyond the stage's limits.
func (k *oneToManyKernel[In, Out]) tooMuch(out []Out) bool {
	most := k.stage.MaxOutputs
	if most <= 0 || len(out) <= 1 { // a single output may be of any size
		return false
	}
	if k.size != nil {
		bytes := int64(0)
		for i := range out {
			bytes += k.size(&out[i])
		}
		return len(out) > most || bytes > maxGroupBytes
	}
	return len(out) > most
}
