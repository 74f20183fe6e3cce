package stages

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// HOT PATH: the typed loop behind AggregateByKey.

// A keyedKernel runs an aggregator per key. Between two items, every open group holds something and is in waiting.
//
// What is committed stays so whatever user code does next: outputs and their identities, and the numbers of the items let
// go of, are written together, while no user code runs, and mark is set behind them.
type keyedKernel[K comparable, In, Out any, A Aggregator[In, Out]] struct {
	kernel[In, Out]
	key     func(In) K
	open    func(context.Context, K) (A, error)
	groups  map[K]*group[K, A]
	waiting queue[K, A]
	current *group[K, A] // has been opened, and holds nothing yet
	at      plan.Run     // the item at hand
	serving *group[K, A] // that of the item at hand
	spare   []*group[K, A]
	count   int      // of the items held
	gone    plan.IDs // scratch: what is let go of
}

// A group is the aggregator of a key, and what it holds.
type group[K comparable, A any] struct {
	key     K
	of      A
	numbers []uint64 // of the items held
	ids     plan.IDs // theirs
	place   int      // in the queue; -1: it holds nothing yet
}

// spareGroups is how many closed groups are kept to be used again.
const spareGroups = 16

func newKeyedKernel[K comparable, In, Out any, A Aggregator[In, Out]](
	key func(In) K, open func(context.Context, K) (A, error), s *plan.Stage,
) *keyedKernel[K, In, Out, A] {
	k := &keyedKernel[K, In, Out, A]{key: key, open: open, groups: map[K]*group[K, A]{}}
	k.init(nil, s)
	return k
}

func (k *keyedKernel[K, In, Out, A]) Run(ctx context.Context, w *plan.Work) {
	if w.In != nil {
		k.items(ctx, w)
	} else {
		k.beginFlush(w)
	}
	if emit, ok := k.wantsFlush(w); ok {
		var at plan.Run // none: the last one may be gone
		if w.Ends {
			at = k.stage.EndOfEpoch()
		}
		for len(k.waiting) > 0 && k.waiting[0].numbers[0] < w.Until && k.flush(ctx, w, at, emit) {
		}
	}
	k.finish()
}

func (k *keyedKernel[K, In, Out, A]) items(ctx context.Context, w *plan.Work) {
	items := k.begin(w)
	i := w.Next
	for first := i; i < len(items); i++ {
		if i > first && w.Yield.Load() || len(k.buf) >= enoughOutputs {
			break
		}
		if w.Next, k.mark = i, len(k.buf); !k.item(ctx, w, items[i]) {
			return
		}
	}
}

// item works on the item at Next, and goes behind it. It returns false when something has failed: then, or behind it.
func (k *keyedKernel[K, In, Out, A]) item(ctx context.Context, w *plan.Work, v In) bool {
	k.at = k.ids.Peek()
	g, err := k.find(ctx, w, k.key(v))
	if g == nil {
		w.Err = err
		return false
	}
	if k.serving = g; k.worker != nil {
		err = k.worker.Process(ctx, v, k.emit)
	} else {
		err = g.of.Process(ctx, v, k.emit)
	}
	made := len(k.buf) - k.mark
	if (err != nil || made > 1 || k.over) && k.failed(w, err, made) {
		if g.place < 0 {
			k.close(w, g)
		}
		return false
	}
	held, most := g.of.Held(), len(g.numbers)+1
	if held < 0 || held > most {
		k.withdraw()
		w.Err = Fatal(fmt.Errorf("%T says that it holds %d of %d items", g.of, held, most))
		return false
	}
	at := k.ids.Next()
	g.numbers = append(g.numbers, w.Number+uint64(w.Next))
	g.ids.Append(at)
	k.count++
	w.Next++
	k.release(w, g, at, held, made)
	switch {
	case held == 0:
		w.Flushing = true // no item's, whatever happens in there
		k.close(w, g)
		w.Flushing = false
	case g.place < 0:
		k.current = nil
		heap.Push(&k.waiting, g)
	case held < most:
		heap.Fix(&k.waiting, g.place)
	}
	return k.count < k.stage.MaxHeld || k.flush(ctx, w, k.at, k.emit)
}

// Process is what hooks are around.
func (k *keyedKernel[K, In, Out, A]) Process(ctx context.Context, v In, emit func(Out) bool) error {
	return k.serving.of.Process(ctx, v, emit)
}

// find returns the group of a key. It opens one if there is none, in the place of the one that has waited longest if need
// be.
func (k *keyedKernel[K, In, Out, A]) find(ctx context.Context, w *plan.Work, key K) (*group[K, A], error) {
	if g := k.groups[key]; g != nil {
		return g, nil
	}
	if len(k.waiting) >= k.stage.Groups && !k.flush(ctx, w, k.at, k.emit) {
		return nil, w.Err
	}
	of, err := k.open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	g := k.group()
	g.key, g.of, g.place = key, of, -1
	k.current = g
	if equal(key, key) { // what cannot be found could not be removed either
		k.groups[key] = g
	}
	return g, nil
}

// group returns an empty one, with the memory of one that has been closed if there is any.
func (k *keyedKernel[K, In, Out, A]) group() *group[K, A] {
	n := len(k.spare) - 1
	if n < 0 {
		return &group[K, A]{}
	}
	g := k.spare[n]
	k.spare = k.spare[:n]
	return g
}

func equal[K comparable](a, b K) bool { return a == b }

// flush has the group that has waited longest emit what it holds, and closes it. Its outputs stand where at does, or, if
// that is empty, where the last of what they are made of stood.
func (k *keyedKernel[K, In, Out, A]) flush(ctx context.Context, w *plan.Work, at plan.Run, emit func(Out) bool) bool {
	g := k.waiting[0]
	if !k.flushOne(ctx, w, g.of, emit) {
		return false
	}
	k.release(w, g, at, 0, len(k.buf)-k.mark)
	k.close(w, g)
	w.Flushing = false
	return true
}

// release accounts for what a group has let go of: held items are left, made outputs have come, at an item.
func (k *keyedKernel[K, In, Out, A]) release(w *plan.Work, g *group[K, A], at plan.Run, held, made int) {
	n := len(g.numbers) - held
	w.Gone = append(w.Gone, g.numbers[:n]...)
	g.numbers = slices.Delete(g.numbers, 0, n)
	g.ids.TakeFront(&k.gone, n)
	k.count -= n
	k.letGo(w, &k.gone, at, made)
	k.mark = len(k.buf)
}

// close ends a group that holds nothing.
func (k *keyedKernel[K, In, Out, A]) close(w *plan.Work, g *group[K, A]) {
	k.current = nil
	delete(k.groups, g.key)
	if g.place >= 0 {
		heap.Remove(&k.waiting, g.place)
	}
	of := g.of
	if len(k.spare) < spareGroups {
		g.ids.Reset()
		*g = group[K, A]{numbers: g.numbers[:0], ids: g.ids}
		k.spare = append(k.spare, g)
	}
	if err := closeWorker(of); err != nil {
		w.CloseErr = errors.Join(w.CloseErr, err)
	}
}

// finish lets go of what refers to the items worked on, for the time until the next delivery.
func (k *keyedKernel[K, In, Out, A]) finish() {
	k.kernel.finish()
	k.serving, k.at = nil, plan.Run{}
}

func (k *keyedKernel[K, In, Out, A]) Rescue(w *plan.Work) {
	k.withdraw()
	k.finish()
}

// Close closes all groups. One that does not return from it does not keep the others from being closed.
func (k *keyedKernel[K, In, Out, A]) Close() (err error) {
	defer func() {
		if k.current != nil || len(k.waiting) > 0 {
			err = errors.Join(err, k.Close())
		}
	}()
	if g := k.current; g != nil {
		k.current = nil
		err = closeWorker(g.of)
	}
	for n := len(k.waiting); n > 0; n = len(k.waiting) {
		g := k.waiting[n-1]
		k.waiting = k.waiting[:n-1]
		err = errors.Join(err, closeWorker(g.of))
	}
	return err
}

// A queue has the group with the oldest item in front, as container/heap keeps it.
type queue[K comparable, A any] []*group[K, A]

func (q queue[K, A]) Len() int           { return len(q) }
func (q queue[K, A]) Less(i, j int) bool { return q[i].numbers[0] < q[j].numbers[0] }
func (q queue[K, A]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface. A pointer in an any is not allocated.
func (q *queue[K, A]) Push(g any) {
	g.(*group[K, A]).place = len(*q)
	*q = append(*q, g.(*group[K, A]))
}

// Pop implements heap.Interface.
func (q *queue[K, A]) Pop() any {
	n := len(*q) - 1
	g := (*q)[n]
	(*q)[n] = nil
	*q = (*q)[:n]
	return g
}
