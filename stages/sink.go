package stages

import (
	"context"

	"github.com/weirflow/weir/internal/plan"
)

// Sink ends a side branch of the graph: f is called for each item and nothing comes out. An item is done with, and
// counts as delivered, when f has returned. The main branch needs no Sink: its items leave through the run, which does
// not end before all its sinks are through.
func Sink[T any](in Stream[T], name string, f func(ctx context.Context, v T) error, opts ...Option) {
	g := behind(in, name)
	d := newDraft(name, "sink", nil)
	d.Outs = 0
	in = withLetters(in, d)
	for _, o := range opts {
		o.work(d)
	}
	d.constructor("", f == nil)
	d.keepsOrder(false)
	s := d.Stage
	s.Open = func(ctx context.Context) (plan.Kernel, error) {
		w := withHooks[T, struct{}](ctx, g, s, sinker[T](f), func() error { return nil })
		return &sinkKernel[T]{worker: withTimeout(s, w, true)}, nil
	}
	g.add(d, in.port)
}

type sinker[T any] func(context.Context, T) error

func (f sinker[T]) Process(ctx context.Context, v T, _ func(struct{}) bool) error { return f(ctx, v) }

// A sinkKernel runs the worker of a Sink.
type sinkKernel[T any] struct {
	worker Worker[T, struct{}]
	first  int
}

func (k *sinkKernel[T]) Run(ctx context.Context, w *plan.Work) {
	in := w.In.(*plan.Of[T])
	k.first = w.Next
	for i := w.Next; i < w.To; i++ {
		if i > w.First && w.Yield.Load() {
			break
		}
		if err := k.worker.Process(ctx, in.Items[i], nil); err != nil {
			w.Err = err
			break
		}
		w.Next = i + 1
	}
	k.Rescue(w)
}

func (k *sinkKernel[T]) Rescue(w *plan.Work) {
	w.Tally.Settle(&w.In.Head().IDs, k.first, w.Next, plan.Delivered)
	k.first = w.Next
}

func (k *sinkKernel[T]) Close() error { return closeWorker(k.worker) }
