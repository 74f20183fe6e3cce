package stages

import (
	"context"
	"fmt"

	"github.com/weirflow/weir/internal/plan"
)

// What the kernels of workers that hold items back have in common.

// beginFlush is begin for a delivery without items.
func (k *kernel[In, Out]) beginFlush(w *plan.Work) {
	k.out = w.Out.(*plan.Of[Out])
	k.buf = k.out.Items
}

// wantsFlush reports whether the delivery, of which the items have been worked on, ends with a flush, and returns what
// takes its outputs.
func (k *kernel[In, Out]) wantsFlush(w *plan.Work) (func(Out) bool, bool) {
	if w.Err != nil || w.Next != w.To || w.Flush == plan.NoFlush {
		return nil, false
	}
	if w.Flush == plan.DropHeld {
		return func(Out) bool { return true }, true
	}
	return k.emit, true
}

// flushOne has f emit all that it holds. An error, or a panic, is not that of an item: Flushing stays set then, and
// else until the outputs have been accounted for.
func (k *kernel[In, Out]) flushOne(ctx context.Context, w *plan.Work, f Flusher[Out], emit func(Out) bool) bool {
	w.Flushing, k.mark, k.free = true, len(k.buf), true
	emit, over := watched(w, emit)
	w.Slot.Flush(true)
	err := f.Flush(ctx, emit)
	w.Slot.Flush(false)
	over()
	k.free = false
	if held := f.Held(); err == nil && held != 0 {
		err = fmt.Errorf("%T holds %d items after Flush, want none", f, held)
	}
	return !k.failed(w, err, 0)
}

// letGo accounts for items that are held no more, which it takes out of gone: made outputs have come of them, at an item.
func (k *kernel[In, Out]) letGo(w *plan.Work, gone *plan.IDs, at plan.Run, made int) {
	if made > 0 {
		k.out.Head().IDs.Merged(w.Tally, gone, at, made)
		return
	}
	w.Dropped += gone.Len()
	w.Tally.Settle(gone, 0, gone.Len(), plan.Filtered)
	gone.Reset()
}
