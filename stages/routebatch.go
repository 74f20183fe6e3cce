package stages

import (
	"context"

	"github.com/weirflow/weir/internal/plan"
)

// RouteBatch splits each batch over n branches: pick returns one branch per element, in order. Each branch gets its
// elements as one smaller batch, in order, and nothing for a batch of which it has none. [Rejoin] puts the results
// together again. A wrong number of indices, or one outside [0, n), fails the batch. An empty batch is filtered.
//
// The part that goes down a branch is a child of the batch: the i-th branch that gets a part of it gets part ".i". pick
// hands the slice over that it returns.
func RouteBatch[T any](in Stream[[]T], name string, n int, pick func(ctx context.Context, batch []T) ([]int, error), opts ...Option) []Stream[[]T] {
	k := forkKind[[]T, []int]{name: routeBatchKind, most: n}
	if pick != nil {
		k.worker = mapper[[]T, []int](pick)
	}
	return attachFork[[]T, []int, []T](in, name, n, k, opts, newDealKernel[T])
}

// routeBatchKind is what Rejoin looks for.
const routeBatchKind = "route batch"

// A dealKernel splits batches over branches. Per batch it allocates the parts' memory, as one block, and their family.
type dealKernel[T any] struct {
	branches[[]T]
	worker Worker[[]T, []int]
	picked [][]int // what the worker has answered for the batch at hand
	want   int     // its elements
	keep   func([]int) bool
	count  []int       // elements per branch
	used   []int       // branches that have some
	ids    []*plan.IDs // of their chunks
}

func newDealKernel[T any](ctx context.Context, g *Graph, w Worker[[]T, []int], s *plan.Stage) plan.Kernel {
	k := &dealKernel[T]{count: make([]int, s.Outs), ids: make([]*plan.IDs, s.Outs)}
	k.branches.init(s, false) // a batch's parts are its children: it does not go two ways itself
	k.keep = func(to []int) bool {
		k.picked = append(k.picked, to)
		return true
	}
	k.worker = withTimeout(s, withHooks(ctx, g, s, w, k.check), true)
	return k
}

func (k *dealKernel[T]) Run(ctx context.Context, w *plan.Work) {
	in := w.In.(*plan.Of[[]T])
	k.begin(w)
	for i := w.Next; i < w.To; i++ {
		if i > w.First && w.Yield.Load() {
			break
		}
		to, err := k.pick(ctx, in.Items[i])
		if err != nil {
			w.Err = err
			break
		}
		if len(to) == 0 {
			w.Dropped++
			w.Tally.SettleOne(k.identity(i), plan.Filtered)
		} else {
			k.deal(w, i, in.Items[i], to)
		}
		w.Next = i + 1
	}
	k.end(w)
}

// pick asks the worker about a batch, and checks its answer.
func (k *dealKernel[T]) pick(ctx context.Context, batch []T) ([]int, error) {
	k.picked, k.want = k.picked[:0], len(batch)
	if err := k.worker.Process(ctx, batch, k.keep); err != nil {
		return nil, err
	}
	if err := k.check(); err != nil {
		return nil, err
	}
	return k.picked[0], nil
}

// check is what is wrong with the worker's answer.
func (k *dealKernel[T]) check() error {
	to := k.picked[0]
	if len(to) != k.want {
		return wrongCount(len(to), k.want)
	}
	for _, b := range to {
		if b < 0 || b >= len(k.out) {
			return noBranch(b, len(k.out))
		}
	}
	return nil
}

// deal makes the parts of one batch.
func (k *dealKernel[T]) deal(w *plan.Work, i int, batch []T, to []int) {
	clear(k.count)
	for _, b := range to {
		k.count[b]++
	}
	parent := k.parent(i)
	gone := w.Settled.Under(parent) // parts that have come out before: see suppress.go
	block := make([]T, len(batch))
	k.used = k.used[:0]
	kept := 0
	for b, n := range k.count {
		if n == 0 {
			continue
		}
		if gone.Has(int64(len(k.used))) {
			k.used = append(k.used, plan.None)
			k.count[b] = 0
			continue
		}
		kept++
		o := k.branch(b)
		o.Items = append(o.Items, block[:0:n]) // so long that appending to one part never reaches the next
		block = block[n:]
		k.used = append(k.used, b)
		k.ids[b] = &o.Head().IDs
	}
	if kept == 0 {
		w.Dropped++
		w.Tally.SettleOne(parent, plan.Filtered)
		return
	}
	for e, b := range to {
		if k.count[b] == 0 {
			continue
		}
		part := &k.out[b].Items[len(k.out[b].Items)-1]
		*part = append(*part, batch[e])
	}
	new(plan.Deal).Parts(w.Tally, k.ids, parent, k.stage.Index+1, k.used, to)
}

// parent returns the identity of batch i, with its place in the order if somebody restores it.
func (k *dealKernel[T]) parent(i int) plan.Run {
	if !k.parted() {
		return k.identity(i)
	}
	if i >= k.to {
		k.stretch(i)
	}
	return k.split.Member(i - k.from)
}

func (k *dealKernel[T]) Rescue(w *plan.Work) { k.end(w) }

func (k *dealKernel[T]) Close() error { return closeWorker(k.worker) }
