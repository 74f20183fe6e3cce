package stages

import (
	"context"

	"github.com/weirflow/weir/internal/plan"
)

// HOT PATH: the typed loop behind Attach. Per item it makes one interface call, two stores and one load; there is no
// boxing, no allocation and no clock.

// Limits on the outputs of one input, where nothing else is said.
const (
	defaultOutputs = 1024
	maxGroupBytes  = 64 << 20
	enoughOutputs  = 1024 // of a delivery: what is left of it comes back, so that a chunk stays a chunk
)

// A kernel runs a Worker over deliveries. What the current item has emitted lies behind mark, and is withdrawn if it
// fails.
type kernel[In, Out any] struct {
	worker Worker[In, Out]
	stage  *plan.Stage
	out    *plan.Of[Out]
	buf    []Out       // out.Items, during Run
	mark   int         // len(buf) when the item at Work.Next began
	ids    plan.Cursor // up to which item the identities of the outputs have been written
	emit   func(Out) bool

	over  bool // the item has emitted too much
	free  bool // a flush is under way: what it emits is bounded by what is held
	size  func(*Out) int64
	bytes int64 // of what the item has emitted, if size is known
}

func newKernel[In, Out any](w Worker[In, Out], s *plan.Stage) *kernel[In, Out] {
	k := &kernel[In, Out]{}
	k.init(w, s)
	return k
}

func (k *kernel[In, Out]) init(w Worker[In, Out], s *plan.Stage) {
	k.worker, k.stage = w, s
	if k.size = plan.SizeOf[Out](); k.size != nil && s.MaxOutputs > 0 {
		k.emit = k.emitSized
		return
	}
	k.emit = func(v Out) bool {
		if len(k.buf) == cap(k.buf) && !k.room() {
			return false
		}
		k.buf = append(k.buf, v)
		return true
	}
}

// room is asked when the chunk is full, which only inputs with several outputs make it.
func (k *kernel[In, Out]) room() bool {
	if !k.free && k.stage.MaxOutputs > 0 && len(k.buf)-k.mark >= k.stage.MaxOutputs {
		k.over = true
	}
	return !k.over
}

func (k *kernel[In, Out]) emitSized(v Out) bool {
	if len(k.buf) == k.mark {
		k.bytes = 0
	}
	if k.over || len(k.buf) == cap(k.buf) && !k.room() {
		return false
	}
	k.buf = append(k.buf, v)
	k.bytes += k.size(&k.buf[len(k.buf)-1])                              // not &v, which would be allocated
	k.over = k.bytes > maxGroupBytes && len(k.buf) > k.mark+1 && !k.free // a single output may be of any size
	return !k.over
}

func (k *kernel[In, Out]) begin(w *plan.Work) []In {
	in := w.In.(*plan.Of[In])
	k.out = w.Out.(*plan.Of[Out])
	k.buf, k.ids = k.out.Items, in.Head().IDs.From(w.Next)
	return in.Items[:w.To]
}

// end writes what is missing of the identities of the outputs of one-to-one items before to.
func (k *kernel[In, Out]) end(w *plan.Work, to int) {
	k.ids.CopyTo(&k.out.Head().IDs, to)
	w.Next = to
	k.finish()
}

func (k *kernel[In, Out]) finish() { k.out.Items, k.out, k.buf = k.buf, nil, nil }

func (k *kernel[In, Out]) Run(ctx context.Context, w *plan.Work) {
	items := k.begin(w)
	i := w.Next
	for first := i; i < len(items); i++ {
		if w.Yield.Load() && i > first {
			break
		}
		w.Next, k.mark = i, len(k.buf)
		err := k.worker.Process(ctx, items[i], k.emit)
		made := len(k.buf) - k.mark
		if made == 1 && err == nil && !k.over {
			continue
		}
		if k.failed(w, err, made) {
			break
		}
		k.group(w, i, made)
		if len(k.buf) >= enoughOutputs {
			i++
			break
		}
	}
	k.end(w, i)
}

// failed withdraws what a failed item has emitted.
func (k *kernel[In, Out]) failed(w *plan.Work, err error, made int) bool {
	over := k.over || k.stage.MaxOutputs > 0 && made > k.stage.MaxOutputs
	if err == nil && over {
		err = tooMany(k.stage.MaxOutputs)
	}
	if err == nil {
		return false
	}
	k.withdraw()
	w.Err = err
	return true
}

func (k *kernel[In, Out]) withdraw() {
	clear(k.buf[k.mark:]) // drop references
	k.buf, k.over = k.buf[:k.mark], false
}

// group writes the identities for an item that has had no outputs, or several.
func (k *kernel[In, Out]) group(w *plan.Work, i, made int) {
	ids := &k.out.Head().IDs
	k.ids.CopyTo(ids, i)
	parent := k.ids.Next()
	if gone := w.Settled.Under(parent); gone != nil {
		k.without(w, parent, made, gone)
		return
	}
	if made == 0 {
		w.Dropped++
		w.Tally.SettleOne(parent, plan.Filtered)
		return
	}
	ids.Kids(w.Tally, parent, made)
}

func (k *kernel[In, Out]) Rescue(w *plan.Work) {
	k.withdraw()
	k.end(w, w.Next)
}

func (k *kernel[In, Out]) Close() error { return closeWorker(k.worker) }
