package stages

import (
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// Outputs that another process has handed on before it died are dropped where they are made again, so that no aggregate sees them.

// without is group for an item of which some outputs are gone: the others keep their names.
func (k *kernel[In, Out]) without(w *plan.Work, parent plan.Run, made int, gone *plan.Spans) {
	ids := &k.out.Head().IDs
	outs := k.buf[k.mark:]
	kept := 0
	for i := range made {
		if !gone.Has(int64(i)) {
			outs[kept] = outs[i]
			kept++
		}
	}
	clear(outs[kept:])
	k.buf = k.buf[:k.mark+kept]
	if kept == 0 {
		w.Dropped++
		w.Tally.SettleOne(parent, plan.Filtered)
		return
	}
	f := plan.NewFamily(w.Tally, parent, int64(kept))
	for i := 0; i < made; {
		from := i
		for i < made && !gone.Has(int64(i)) {
			i++
		}
		if i > from {
			ids.Members(f, from, i-from)
		}
		for i < made && gone.Has(int64(i)) {
			i++
		}
	}
}

// gone reports whether the next output of the item at hand is, and passes over it.
func (k *streamKernel[In, Out]) gone() bool {
	if k.settled == nil || !k.settled.Has(int64(k.open.Outputs+len(k.buf)-k.mark)) {
		return false
	}
	k.join()
	k.open.Outputs++
	return true
}

// begins looks up what is gone of the item at hand.
func (k *streamKernel[In, Out]) begins(w *plan.Work) {
	if k.settled = nil; w.Settled.Len() > 0 {
		c := w.In.Head().IDs.From(w.Next)
		k.settled = w.Settled.Under(c.Peek())
	}
}

// rest is the branches by which item i goes, of those in to: it has not come out by them before.
func (k *branches[T]) rest(w *plan.Work, i int, to []int) []int {
	if k.several < 2 || w.Settled.Len() == 0 {
		return to
	}
	gone := w.Settled.Under(k.identity(i))
	return slices.DeleteFunc(to, func(b int) bool { return gone.Has(int64(b)) })
}
