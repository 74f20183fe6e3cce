package stages_test

import (
	"context"

	"github.com/weirflow/weir/stages"
)

// Repeat is a kind of stage: it hands each item on n times.
func Repeat[T any](in stages.Stream[T], name string, n int, opts ...stages.Option) stages.Stream[T] {
	return stages.Attach(in, name, stages.Kind[T, T]{
		Name: "repeat",
		Open: func(context.Context) (stages.Worker[T, T], error) { return echo[T](n), nil },
	}, opts...)
}

type echo[T any] int

// Process implements stages.Worker.
func (n echo[T]) Process(_ context.Context, v T, emit func(T) bool) error {
	for range n {
		emit(v)
	}
	return nil
}

func ExampleAttach() {
	p := stages.Define("echo", func(g *stages.Graph, text string) stages.Stream[string] {
		return Repeat(source(g, "words", text), "echo", 2, stages.Mailbox(4), stages.Ordered)
	})
	show(p.With("a weir"))
	// Output:
	// a
	// a
	// weir
	// weir
}

// Delta is a kind of stage whose state spans the items: it hands on the difference of each item to the one before.
func Delta(in stages.Stream[int], name string, opts ...stages.SerialOption) stages.Stream[int] {
	return stages.AttachSerial(in, name, stages.SerialKind[int, int]{
		Name: "delta",
		Open: func(context.Context) (stages.Worker[int, int], error) { return &delta{}, nil },
	}, opts...)
}

type delta struct{ last int }

// Process implements stages.Worker.
func (d *delta) Process(_ context.Context, v int, emit func(int) bool) error {
	emit(v - d.last)
	d.last = v
	return nil
}

func ExampleAttachSerial() {
	p := stages.Define("deltas", func(g *stages.Graph, numbers []int) stages.Stream[int] {
		return Delta(stages.Source(g, "numbers", stages.FromSlice(numbers)), "delta")
	})
	show(p.With([]int{3, 5, 4}))
	// Output:
	// 3
	// 2
	// -1
}
