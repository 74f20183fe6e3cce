package stages

import (
	"context"
	"fmt"

	"github.com/weirflow/weir/internal/plan"
)

// HOT PATH: the typed loop behind AttachSerial for workers that hold items back.

// A serialKernel keeps the identities of what its worker holds, so that it can say what an output was made of. The
// identities of items that are merely added are taken from the chunk in one go, when the worker lets something go or
// the delivery ends.
type serialKernel[In, Out any] struct {
	kernel[In, Out]
	flusher Flusher[Out]
	count   int      // of the items held
	held    plan.IDs // theirs, but for those since from
	from    int      // item of the delivery from which on identities are not in held
	last    plan.Run // the last item in held
	gone    plan.IDs // scratch: what is let go of
}

func newSerialKernel[In, Out any](w Worker[In, Out], s *plan.Stage) (*serialKernel[In, Out], error) {
	f, ok := any(w).(Flusher[Out])
	if !ok {
		return nil, Fatal(fmt.Errorf("the kind %q holds items back, but %T is no Flusher of %v", s.Kind, w, s.Item))
	}
	k := &serialKernel[In, Out]{flusher: f}
	k.init(w, s)
	return k, nil
}

func (k *serialKernel[In, Out]) Run(ctx context.Context, w *plan.Work) {
	if w.In != nil {
		k.items(ctx, w)
	} else {
		k.out = w.Out.(*plan.Of[Out])
		k.buf = k.out.Items
	}
	if w.Err == nil && w.Next == w.To && w.Flush != plan.NoFlush {
		emit := k.emit
		if w.Flush == plan.DropHeld {
			emit = func(Out) bool { return true }
		}
		k.flush(ctx, w, emit)
	}
	k.finish(w)
}

func (k *serialKernel[In, Out]) items(ctx context.Context, w *plan.Work) {
	items := k.begin(w)
	i := w.Next
	k.from = i
	for first := i; i < len(items) && w.Err == nil; i++ {
		if i > first && w.Yield.Load() || len(k.buf) >= enoughOutputs {
			break
		}
		w.Next, k.mark = i, len(k.buf)
		err := k.worker.Process(ctx, items[i], k.emit)
		made := len(k.buf) - k.mark
		if (err != nil || made > 1 || k.over) && k.failed(w, err, made) {
			break
		}
		held := k.flusher.Held()
		if held < 0 || held > k.count+1 {
			k.withdraw()
			w.Err = Fatal(fmt.Errorf("%T says that it holds %d of %d items", k.flusher, held, k.count+1))
			break
		}
		if made > 0 || held <= k.count {
			k.remember(w, i+1)
			k.release(w, held, made)
		}
		if k.count = held; held >= k.stage.MaxHeld {
			k.remember(w, i+1)
			w.Next = i + 1
			k.flush(ctx, w, k.emit)
		}
	}
	w.Next = i
	k.remember(w, i)
}

// remember takes the identities of the items before to into held.
func (k *serialKernel[In, Out]) remember(w *plan.Work, to int) {
	if to <= k.from {
		return
	}
	ids := &w.In.Head().IDs
	k.held.Range(ids, k.from, to)
	c := ids.From(to - 1)
	k.last, k.from = c.Peek(), to
}

// release accounts for what the worker has let go of: held items are left, made outputs have come.
func (k *serialKernel[In, Out]) release(w *plan.Work, held, made int) {
	k.held.TakeFront(&k.gone, max(k.held.Len()-held, 0))
	if made > 0 {
		k.out.Head().IDs.Merged(&k.gone, k.last, made)
		return
	}
	w.Dropped += k.gone.Len()
	w.Tally.Settle(&k.gone, 0, k.gone.Len(), plan.Filtered)
	k.gone.Reset()
}

// flush ends an epoch, the wait of the first item held, or the growth of what is held.
func (k *serialKernel[In, Out]) flush(ctx context.Context, w *plan.Work, emit func(Out) bool) {
	if k.count == 0 {
		return
	}
	w.Flushing, k.mark, k.free = true, len(k.buf), true
	err := k.flusher.Flush(ctx, emit)
	k.free = false
	if held := k.flusher.Held(); err == nil && held != 0 {
		err = fmt.Errorf("%T holds %d items after Flush, want none", k.flusher, held)
	}
	if k.failed(w, err, 0) {
		return
	}
	w.Flushing, k.count = false, 0
	k.release(w, 0, len(k.buf)-k.mark)
}

func (k *serialKernel[In, Out]) finish(w *plan.Work) {
	w.Held = k.count
	k.out.Items, k.out, k.buf = k.buf, nil, nil
}

func (k *serialKernel[In, Out]) Rescue(w *plan.Work) {
	k.withdraw()
	k.finish(w)
}
