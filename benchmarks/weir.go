package main

import (
	"context"
	"iter"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// The weir contender, written as a user would write it: against stages and supervisor alone.

// numbers yields item(0) to item(n-1).
func numbers[T any](n int, item func(int) T) stages.Origin[T] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for i := int(from.Index); i < n; i++ {
				if !yield(item(i), nil) {
					return
				}
			}
		}
	})
}

func ordered(workers int) []stages.Option {
	return []stages.Option{stages.Mailbox(workers), stages.Ordered}
}

func unordered(workers int) []stages.Option {
	return []stages.Option{stages.Mailbox(workers), stages.Unordered}
}

// threeSteps is the pipeline of the works a to c, and of the latencies, behind any source.
func threeSteps[Cfg any](name string, from func(Cfg) stages.Origin[int], opts ...stages.Option) *stages.Definition[Cfg, int] {
	return stages.Define(name, func(g *stages.Graph, cfg Cfg) stages.Stream[int] {
		s := stages.Source(g, "source", from(cfg))
		s = stages.Map(s, "add", func(_ context.Context, v int) (int, error) { return addOne(v), nil }, opts...)
		s = stages.Map(s, "times", func(_ context.Context, v int) (int, error) { return timesThree(v), nil }, opts...)
		return stages.Map(s, "flip", func(_ context.Context, v int) (int, error) { return flip(v), nil }, opts...)
	})
}

func ints(n int) stages.Origin[int] { return numbers(n, same) }

func trivialWeir(s *supervisor.Supervisor, opts ...stages.Option) func(context.Context, int) (digest, error) {
	return digestWeir(s, threeSteps("trivial", ints, opts...))
}

func hashWeir(s *supervisor.Supervisor) func(context.Context, int) (digest, error) {
	return digestWeir(s, stages.Define("hash", func(g *stages.Graph, n int) stages.Stream[int] {
		return stages.Map(stages.Source(g, "source", ints(n)), "hash", func(_ context.Context, v int) (int, error) { return hash(v), nil }, stages.Mailbox(2))
	}))
}

func batchWeir(s *supervisor.Supervisor) func(context.Context, int) (digest, error) {
	return digestWeir(s, stages.Define("batches", func(g *stages.Graph, n int) stages.Stream[int] {
		return stages.Unbatch(stages.Batch(stages.Source(g, "source", ints(n)), "batch", batchSize), "unbatch")
	}))
}

// digestWeir takes what comes out of a pipeline of n numbers.
func digestWeir(s *supervisor.Supervisor, def *stages.Definition[int, int]) func(context.Context, int) (digest, error) {
	return func(ctx context.Context, n int) (d digest, _ error) {
		for v, err := range supervisor.Items(ctx, s, def.With(n), supervisor.InProcess{}) {
			if err != nil {
				return d, err
			}
			d.add(v)
		}
		return d, nil
	}
}

func wideWeir(s *supervisor.Supervisor) func(context.Context, int) (digest, error) {
	def := stages.Define("wide", func(g *stages.Graph, n int) stages.Stream[wide] {
		s := stages.Source(g, "source", numbers(n, widen))
		for _, name := range []string{"first", "second", "third"} {
			s = stages.Map(s, name, func(_ context.Context, v wide) (wide, error) {
				v.n++
				return v, nil
			})
		}
		return s
	})
	return func(ctx context.Context, n int) (d digest, _ error) {
		for v, err := range supervisor.Items(ctx, s, def.With(n), supervisor.InProcess{}) {
			if err != nil {
				return d, err
			}
			d.add(v.n)
		}
		return d, nil
	}
}
