package stages_test

import (
	"context"
	"iter"
	"testing"

	"github.com/weirflow/weir/stages"
)

const chunkSize = 512

// BenchmarkKernel is what a stage costs per input beyond the user's function, and beyond all that happens per chunk. The
// baselines are a loop that calls the function, and a goroutine that does so between two channels.
func BenchmarkKernel(b *testing.B) {
	for name, build := range map[string]func(in stages.Stream[int]) stages.Stream[int]{
		"map": func(in stages.Stream[int]) stages.Stream[int] { return stages.Map(in, "k", same) },
		"mapwith": func(in stages.Stream[int]) stages.Stream[int] {
			return stages.MapWith(in, "k", func(context.Context) (*int, error) { return new(int), nil },
				func(_ *int, _ context.Context, v int) (int, error) { return v, nil })
		},
		"filter": func(in stages.Stream[int]) stages.Stream[int] { return stages.Filter(in, "k", isOdd) },
		"flatmap": func(in stages.Stream[int]) stages.Stream[int] {
			return stages.FlatMap(in, "k", func(_ context.Context, v int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					if yield(v, nil) {
						yield(v, nil)
					}
				}
			})
		},
	} {
		b.Run(name, func(b *testing.B) { drive(b, newRig(b, count(chunkSize), build)) })
	}
	b.Run("batch", func(b *testing.B) {
		drive(b, newRig(b, count(chunkSize), func(in stages.Stream[int]) stages.Stream[[]int] { return stages.Batch(in, "k", 32) }))
	})
	b.Run("hooked map", func(b *testing.B) {
		drive(b, newRig(b, count(chunkSize), func(in stages.Stream[int]) stages.Stream[int] { return stages.Map(in, "k", same) }, onExit))
	})
	b.Run("loop", func(b *testing.B) {
		in, out := count(chunkSize), make([]int, 0, chunkSize)
		f, ctx := same, b.Context()
		for b.Loop() {
			out = out[:0]
			for _, v := range in {
				if w, err := f(ctx, v); err == nil {
					out = append(out, w)
				}
			}
		}
		perItem(b)
	})
	b.Run("channels", func(b *testing.B) {
		in, out := make(chan int, 128), make(chan int, 128)
		go func() {
			defer close(out)
			for v := range in {
				if w, err := same(b.Context(), v); err == nil {
					out <- w
				}
			}
		}()
		for b.Loop() {
			go func() {
				for i := range chunkSize {
					in <- i
				}
			}()
			for range chunkSize {
				<-out
			}
		}
		close(in)
		perItem(b)
	})
}

func drive[Out any](b *testing.B, k *rig[int, Out]) {
	for b.Loop() {
		k.deliver(0, chunkSize)
	}
	if k.work.Err != nil || k.work.Next != chunkSize {
		b.Fatalf("at %d: %v", k.work.Next, k.work.Err)
	}
	perItem(b)
}

func perItem(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunkSize, "ns/item")
	b.ReportAllocs()
}
