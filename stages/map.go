package stages

import (
	"context"
	"io"
)

// Map turns each item into one other.
//
// f is called by up to [Mailbox] goroutines at once. ctx ends when the run stops, the worker is replaced or [Timeout]
// is up; f must then return soon. An error concerns this item only: see [OnError].
func Map[In, Out any](in Stream[In], name string, f func(ctx context.Context, v In) (Out, error), opts ...Option) Stream[Out] {
	k := Kind[In, Out]{Name: "map", MaxOutputs: 1}
	if f != nil {
		k.Open = func(context.Context) (Worker[In, Out], error) { return mapper[In, Out](f), nil }
	}
	return Attach(in, name, k, opts...)
}

type mapper[In, Out any] func(context.Context, In) (Out, error)

func (f mapper[In, Out]) Process(ctx context.Context, v In, emit func(Out) bool) error {
	out, err := f(ctx, v)
	if err == nil {
		emit(out)
	}
	return err
}

func (f mapper[In, Out]) Func() func(context.Context, In) (Out, error) { return f }

// MapWith is Map with state that belongs to one worker: a decoder, a buffer, a database connection. open is called
// when a worker starts, and again for the worker that replaces it after a panic; if the state is an io.Closer it is
// closed when the worker ends. No two goroutines ever hold the same state at once. f takes the state first, as a
// method expression does:
//
//	rows := stages.MapWith(lines, "insert", openConn, (*conn).insert, stages.Mailbox(4)) // four connections
//
// An error from open restarts the worker, as a panic would: at once, then after pauses. After ten restarts in a row without
// a finished item, or as [Restart] says, it fails the run with a *[RestartError]; one marked [Fatal] does so at once.
func MapWith[S, In, Out any](
	in Stream[In], name string, open func(ctx context.Context) (S, error),
	f func(state S, ctx context.Context, v In) (Out, error), opts ...Option,
) Stream[Out] {
	k := Kind[In, Out]{Name: "map", MaxOutputs: 1}
	if open != nil && f != nil {
		k.Open = func(ctx context.Context) (Worker[In, Out], error) {
			s, err := open(ctx)
			return &statefulMapper[S, In, Out]{holder[S]{s}, f}, err
		}
	}
	return Attach(in, name, k, opts...)
}

// A holder keeps the state of a worker, and closes it.
type holder[S any] struct{ state S }

func (h holder[S]) Close() error {
	if c, ok := any(h.state).(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type statefulMapper[S, In, Out any] struct {
	holder[S]
	f func(S, context.Context, In) (Out, error)
}

func (m *statefulMapper[S, In, Out]) Process(ctx context.Context, v In, emit func(Out) bool) error {
	out, err := m.f(m.state, ctx, v)
	if err == nil {
		emit(out)
	}
	return err
}

func (m *statefulMapper[S, In, Out]) Func() func(context.Context, In) (Out, error) {
	return func(ctx context.Context, v In) (Out, error) { return m.f(m.state, ctx, v) }
}

// Filter lets those items through for which keep returns true. The others count as filtered, not as failed.
func Filter[T any](in Stream[T], name string, keep func(ctx context.Context, v T) (bool, error), opts ...Option) Stream[T] {
	k := Kind[T, T]{Name: "filter", MaxOutputs: 1}
	if keep != nil {
		k.Open = func(context.Context) (Worker[T, T], error) { return filter[T](keep), nil }
	}
	return Attach(in, name, k, opts...)
}

type filter[T any] func(context.Context, T) (bool, error)

func (f filter[T]) Process(ctx context.Context, v T, emit func(T) bool) error {
	ok, err := f(ctx, v)
	if ok && err == nil {
		emit(v)
	}
	return err
}
