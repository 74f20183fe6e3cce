package stages

import (
	"context"
	"iter"
	"reflect"
)

// FlatMap turns each item into any number of others. (For a function that returns a slice, [Map] and [Unbatch] do.) An
// input without outputs counts as filtered.
//
// The outputs of one input become visible together, when f's iterator has ended without an error: a failed attempt
// leaves no trace. A pair with an error fails the input, and iteration does not go on, as that of a [Source] does; to skip
// a part of an input, yield a value that carries the error, and [Filter]. Outputs are limited to 1024 items per input, and to 64 MiB where their size is known (byte slices,
// strings, slices of numbers); more than that fails the input with [ErrTooMany], unless the stage is declared
// [Streaming].
func FlatMap[In, Out any](in Stream[In], name string, f func(ctx context.Context, v In) iter.Seq2[Out, error], opts ...FlatMapOption) Stream[Out] {
	k := Kind[In, Out]{}
	if f != nil {
		k.Open = func(context.Context) (Worker[In, Out], error) { return flatMapper[In, Out](f), nil }
	}
	return attachFlat(in, name, k, opts)
}

type flatMapper[In, Out any] func(context.Context, In) iter.Seq2[Out, error]

func (f flatMapper[In, Out]) Process(ctx context.Context, v In, emit func(Out) bool) error {
	return emitAll(f(ctx, v), emit)
}

func emitAll[Out any](seq iter.Seq2[Out, error], emit func(Out) bool) error {
	if seq == nil { // no outputs, as a nil slice has none
		return nil
	}
	for out, err := range seq {
		if err != nil {
			return err
		}
		if !emit(out) {
			return nil
		}
	}
	return nil
}

// FlatMapWith is FlatMap with state per worker: see [MapWith].
func FlatMapWith[S, In, Out any](
	in Stream[In], name string, open func(ctx context.Context) (S, error),
	f func(state S, ctx context.Context, v In) iter.Seq2[Out, error], opts ...FlatMapOption,
) Stream[Out] {
	k := Kind[In, Out]{}
	if open != nil && f != nil {
		k.Open = func(ctx context.Context) (Worker[In, Out], error) {
			s, err := open(ctx)
			return &statefulFlatMapper[S, In, Out]{holder[S]{s}, f}, err
		}
	}
	return attachFlat(in, name, k, opts)
}

type statefulFlatMapper[S, In, Out any] struct {
	holder[S]
	f func(S, context.Context, In) iter.Seq2[Out, error]
}

func (m *statefulFlatMapper[S, In, Out]) Process(ctx context.Context, v In, emit func(Out) bool) error {
	return emitAll(m.f(m.state, ctx, v), emit)
}

func attachFlat[In, Out any](in Stream[In], name string, k Kind[In, Out], opts []FlatMapOption) Stream[Out] {
	k.Name = "flatmap"
	d := newDraft(name, k.Name, reflect.TypeFor[Out]())
	for _, o := range opts {
		o.flatMap(d)
	}
	return attach(in, k, d)
}
