package stages_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
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
	b.Run("batch by size", func(b *testing.B) {
		drive(b, newRig(b, count(chunkSize), func(in stages.Stream[int]) stages.Stream[[]int] {
			return stages.BatchBySize(in, "k", 32, func(int) int { return 1 })
		}))
	})
	b.Run("aggregate", func(b *testing.B) { // a batch by a foreign worker that takes one item at a time
		drive(b, newRig(b, count(chunkSize), func(in stages.Stream[int]) stages.Stream[[]int] {
			return stages.Aggregate(in, "k", func(context.Context) (*heap, error) { return &heap{}, nil })
		}))
	})
	for _, keys := range []int{1, 16, 512} { // the items of a key come in turn
		b.Run(fmt.Sprint("by key, ", keys), func(b *testing.B) {
			k := newRig(b, count(chunkSize), func(in stages.Stream[int]) stages.Stream[[]int] {
				return stages.AggregateByKey(in, "k", func(v int) int { return v % keys },
					func(context.Context, int) (*heap, error) { return &heap{}, nil }, stages.MaxHeld(1<<20))
			})
			drive(b, k)
		})
	}
	b.Run("unbatch", func(b *testing.B) {
		batches := slices.Repeat([][]int{make([]int, 32)}, chunkSize/32)
		k := newRig(b, batches, func(in stages.Stream[[]int]) stages.Stream[int] { return stages.Unbatch(in, "k") })
		for b.Loop() {
			k.deliver(0, len(batches))
		}
		perItem(b)
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

// A heap collects 32 items.
type heap struct{ held []int }

func (h *heap) Process(ctx context.Context, v int, emit func([]int) bool) error {
	if h.held == nil {
		h.held = make([]int, 0, 32)
	}
	if h.held = append(h.held, v); len(h.held) == 32 {
		return h.Flush(ctx, emit)
	}
	return nil
}

func (h *heap) Held() int { return len(h.held) }

func (h *heap) Flush(_ context.Context, emit func([]int) bool) error {
	emit(h.held)
	h.held = nil
	return nil
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
