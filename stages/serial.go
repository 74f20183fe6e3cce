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
	flusher   Flusher[Out]
	collector Collector[In, Out] // nil if the worker is none
	unsure    int                // item behind those that it has been given in one go, until they are accounted for
	count     int                // of the items held
	held      plan.IDs           // theirs, but for those since from
	from      int                // item of the delivery from which on identities are not in held
	last      plan.Run           // the last item in held
	gone      plan.IDs           // scratch: what is let go of
}

func newSerialKernel[In, Out any](w Worker[In, Out], s *plan.Stage) (*serialKernel[In, Out], error) {
	f, ok := any(w).(Flusher[Out])
	if !ok {
		return nil, Fatal(fmt.Errorf("the kind %q holds items back, but %T is no Flusher of %v", s.Kind, w, s.Item))
	}
	k := &serialKernel[In, Out]{flusher: f}
	k.collector, _ = w.(Collector[In, Out])
	k.init(w, s)
	return k, nil
}

func (k *serialKernel[In, Out]) Run(ctx context.Context, w *plan.Work) {
	if w.In != nil {
		k.items(ctx, w)
	} else {
		k.beginFlush(w)
	}
	if emit, ok := k.wantsFlush(w); ok {
		k.flush(ctx, w, emit)
	}
	w.Held = k.count
	k.finish()
}

func (k *serialKernel[In, Out]) items(ctx context.Context, w *plan.Work) {
	items := k.begin(w)
	i := w.Next
	k.from = i
	for first := i; i < len(items) && w.Err == nil; {
		if i > first && w.Yield.Load() || len(k.buf) >= enoughOutputs {
			break
		}
		w.Next, k.mark = i, len(k.buf)
		n, err := 1, error(nil)
		if k.collector != nil {
			n, err = k.collect(ctx, w, items[i:])
		} else if err = k.worker.Process(ctx, items[i], k.emit); err != nil {
			n = 0
		}
		made := len(k.buf) - k.mark
		if (err != nil || made > 1 || k.over) && k.failed(w, err, made) {
			if made = 0; err == nil || n == 0 { // too many outputs, or nothing done
				break
			}
		}
		if !k.account(w, i+n, n, made) {
			break
		}
		i, k.unsure = i+n, 0
		if k.count >= k.stage.MaxHeld && w.Err == nil {
			k.remember(w, i)
			w.Next = i
			k.flush(ctx, w, k.emit)
		}
	}
	w.Next = i
	k.remember(w, i)
}

// collect gives the worker as many items as there is room for, or one if one of them has cost a worker.
func (k *serialKernel[In, Out]) collect(ctx context.Context, w *plan.Work, items []In) (int, error) {
	room := min(len(items), k.stage.MaxHeld-k.count)
	if w.Next < w.Alone {
		room = 1
	}
	k.unsure = w.Next + room
	n, err := k.collector.Collect(ctx, items[:room], k.emit)
	made := len(k.buf) - k.mark
	switch emitted := made > 0 || k.over; {
	case n < 0 || n > room || n == room && err != nil || n == 0 && err == nil && !emitted:
		return 0, Fatal(fmt.Errorf("%T says that it has done %d of %d items, with the error %v", k.flusher, n, room, err))
	case err != nil && emitted:
		return 0, Fatal(fmt.Errorf("%T has emitted something in a call that failed: %w", k.flusher, err))
	case k.over || made > k.stage.MaxOutputs:
		return 0, Fatal(tooMany(k.stage.MaxOutputs))
	}
	return n, err
}

// account asks what is held now that n items more, those before i, are done and made outputs have come. None are done if
// what was held had to leave first.
func (k *serialKernel[In, Out]) account(w *plan.Work, i, n, made int) bool {
	held := k.flusher.Held()
	if held < 0 || held > k.count+n || n == 0 && held == k.count {
		k.withdraw()
		w.Err = Fatal(fmt.Errorf("%T says that it holds %d of %d items", k.flusher, held, k.count+n))
		return false
	}
	if made > 0 || held < k.count+n {
		k.remember(w, i)
		at := k.last
		if n == 0 { // the item at hand is not among those remembered
			c := w.In.Head().IDs.From(i)
			at = c.Peek()
		}
		k.release(w, at, held, made)
	}
	k.count = held
	return true
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

// release accounts for what the worker has let go of: held items are left, made outputs have come, at an item.
func (k *serialKernel[In, Out]) release(w *plan.Work, at plan.Run, held, made int) {
	k.held.TakeFront(&k.gone, max(k.held.Len()-held, 0))
	if made > 0 && w.Flushing && w.Ends {
		at = k.stage.EndOfEpoch()
	}
	k.letGo(w, &k.gone, at, made)
}

// flush ends an epoch, the wait of the first item held, or the growth of what is held.
func (k *serialKernel[In, Out]) flush(ctx context.Context, w *plan.Work, emit func(Out) bool) {
	if k.count == 0 || !k.flushOne(ctx, w, k.flusher, emit) {
		return
	}
	k.count = 0
	k.release(w, k.last, 0, len(k.buf)-k.mark)
	w.Flushing = false
}

func (k *serialKernel[In, Out]) Rescue(w *plan.Work) {
	w.Unsure = k.unsure
	k.withdraw()
	w.Held = k.count
	k.finish()
}
