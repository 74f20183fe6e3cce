package stages

import (
	"context"
	"reflect"

	"github.com/weirflow/weir/internal/plan"
)

// Route sends each item down one of n branches: the one whose index pick returns. An index outside [0, n) fails the
// item. The branches may be as different as they like; [Merge] brings them together, [Sink] ends one.
//
//	kinds := stages.Route(docs, "kind", 2, kindOf) // const ( prose = iota; code )
//	a := stages.Map(kinds[prose], "prose", tokenizeProse)
//	b := stages.Map(kinds[code], "code", tokenizeCode)
//	tokens := stages.Merge("tokens", stages.InputOrder{}, a, b)
//
// An item keeps its identity. A branch that is full holds back the items for it, and those behind them as far as the
// stage's mailbox and waiting room are full of them; the other branches go on until then.
func Route[T any](in Stream[T], name string, n int, pick func(ctx context.Context, v T) (int, error), opts ...Option) []Stream[T] {
	k := forkKind[T, int]{name: "route", most: 1}
	if pick != nil {
		k.worker = mapper[T, int](pick)
	}
	return fork(in, name, n, k, opts)
}

// Fork is Route and Tee in one, and the door for foreign kinds with several outputs: to is called during pick, once for
// each branch that gets the item. None is legal: the item is filtered. An index outside [0, n), or one twice, fails the
// item. The value is shared by the branches, not copied: none of them may change it. An item keeps its identity in every
// branch. It has failed if it has in one of them, and else is delivered if it was in one.
func Fork[T any](in Stream[T], name string, n int, pick func(ctx context.Context, v T, to func(branch int)) error, opts ...Option) []Stream[T] {
	k := forkKind[T, int]{name: "fork", most: n}
	if pick != nil {
		k.worker = forker[T](pick)
	}
	return fork(in, name, n, k, opts)
}

type forker[T any] func(ctx context.Context, v T, to func(branch int)) error

func (f forker[T]) Process(ctx context.Context, v T, emit func(int) bool) error {
	return f(ctx, v, func(branch int) { emit(branch) })
}

// Tee gives every item to both results. The value is shared, not copied: neither branch may change it. The slower
// branch sets the pace. Sinks and merges take a branch that is not the pipeline's output. An item keeps its identity in
// both branches. It has failed if one of its two selves has, and else is delivered if one was.
func Tee[T any](in Stream[T], name string) (a, b Stream[T]) {
	out := fork(in, name, 2, forkKind[T, int]{"tee", 2, teer[T]{}}, []Option{modest{}})
	return out[0], out[1]
}

// A teer is known to the kernel, which does not ask it.
type teer[T any] struct{}

func (teer[T]) Process(_ context.Context, _ T, emit func(int) bool) error {
	emit(0)
	emit(1)
	return nil
}

// A forkKind is a kind of stage with several outputs.
type forkKind[In, Sel any] struct {
	name   string
	most   int             // outputs by which one input may go
	worker Worker[In, Sel] // says by which; it has no state, and is every worker's. nil: its function is
}

// fork attaches a stage that hands on what it gets, by the outputs that k's worker names.
func fork[T any](in Stream[T], name string, n int, k forkKind[T, int], opts []Option) []Stream[T] {
	return attachFork[T, int, T](in, name, n, k, opts, newForkKernel[T])
}

// attachFork attaches a stage with n outputs of one type.
func attachFork[In, Sel, Out any](
	in Stream[In], name string, n int, k forkKind[In, Sel], opts []Option,
	kernel func(context.Context, *Graph, Worker[In, Sel], *plan.Stage) plan.Kernel,
) []Stream[Out] {
	g := behind(in, name)
	d := newDraft(name, k.name, reflect.TypeFor[Out]())
	in = withLetters(in, d)
	d.check("%d branches", n, 1, maxBranches)
	n = min(max(n, 0), maxBranches)
	d.Outs, d.Fork = n, &plan.Fork{Several: k.most > 1}
	for _, o := range opts {
		o.work(d)
	}
	d.constructor("", k.worker == nil)
	d.keepsOrder(false)
	s := d.Stage
	s.MaxOutputs = max(k.most, 1)
	s.Pool = plan.NewPool[Out]()
	s.Open = func(ctx context.Context) (plan.Kernel, error) { return kernel(ctx, g, k.worker, s), nil }
	port := g.add(d, in.port)
	out := make([]Stream[Out], n)
	for i := range out {
		out[i] = Stream[Out]{g, plan.Port{Stage: port.Stage, Out: i}}
	}
	return out
}

// maxBranches is a mistake beyond which memory per branch would hurt.
const maxBranches = 1 << 12
