package supervisor_test

import (
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// BenchmarkItems is a source and the consumer's loop: the way in and the way out of a graph, without work in between.
// Two channels of a usual size carry the same items for comparison.
func BenchmarkItems(b *testing.B) {
	const n = 200_000
	perItem := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
		b.ReportAllocs()
	}
	source := define(func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(n)) })
	mapped := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(n)), "same", same)
	})
	sup := supervisor.New(supervisor.Config{})
	for _, c := range []struct {
		name     string
		pipeline stages.Pipeline[int]
	}{{"source", source}, {"source and map", mapped}} {
		b.Run("items/"+c.name, func(b *testing.B) {
			for b.Loop() {
				got := 0
				for _, err := range supervisor.Items(b.Context(), sup, c.pipeline, nil) {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != n {
					b.Fatalf("%d items", got)
				}
			}
			perItem(b)
		})
	}
	b.Run("next/source", func(b *testing.B) {
		for b.Loop() {
			run, err := supervisor.Deploy(b.Context(), sup, source, nil)
			if err != nil {
				b.Fatal(err)
			}
			for range n {
				if _, err := run.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			run.Stop()
		}
		perItem(b)
	})
	for _, stagesBetween := range []int{0, 1} {
		b.Run([]string{"channels/source", "channels/source and map"}[stagesBetween], func(b *testing.B) {
			for b.Loop() {
				first := make(chan int, 128)
				go func() {
					defer close(first)
					for i := range n {
						first <- i
					}
				}()
				last := first
				if stagesBetween > 0 {
					last = make(chan int, 128)
					go func() {
						defer close(last)
						for v := range first {
							last <- v
						}
					}()
				}
				for range last {
				}
			}
			perItem(b)
		})
	}
}
