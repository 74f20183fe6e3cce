package stages_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func length(_ context.Context, s string) (int, error) { return len(s), nil }

func upper(_ context.Context, s string) (string, error) { return strings.ToUpper(s), nil }

func ExampleMap() {
	lengths := stages.Define("lengths", func(g *stages.Graph, text []string) stages.Stream[int] {
		words := stages.Source(g, "words", stages.FromSlice(text))
		return stages.Map(words, "length", length, stages.Mailbox(4), stages.Ordered)
	})
	show(lengths.With([]string{"a", "weir", "lets", "through"}))
	// Output:
	// 1
	// 4
	// 4
	// 7
}

// squaresBelow yields as many items as its input says: too many to be held back until the last one is there.
func squaresBelow(_ context.Context, n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 0; i < n && yield(i*i, nil); i++ {
		}
	}
}

func ExampleFlatMap_streaming() {
	squares := stages.Define("squares", func(g *stages.Graph, counts []int) stages.Stream[int] {
		in := stages.Source(g, "counts", stages.FromSlice(counts))
		return stages.FlatMap(in, "squares", squaresBelow, stages.Streaming)
	})
	n, last := 0, 0
	for v, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), squares.With([]int{10, 100_000}), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		n, last = n+1, v
	}
	fmt.Println(n, last)
	// Output: 100010 9999800001
}

func ExampleBatch() {
	batches := stages.Define("batches", func(g *stages.Graph, text string) stages.Stream[[]string] {
		words := stages.Source(g, "words", stages.FromSlice(strings.Fields(text)))
		return stages.Batch(words, "batch", 2)
	})
	show(batches.With("one two three four five"))
	// Output:
	// [one two]
	// [three four]
	// [five]
}

func ExampleUnbatch() {
	words := stages.Define("words", func(g *stages.Graph, batches [][]string) stages.Stream[string] {
		in := stages.Source(g, "batches", stages.FromSlice(batches))
		return stages.Unbatch(in, "each")
	})
	show(words.With([][]string{{"one", "two"}, {}, {"three"}}))
	// Output:
	// one
	// two
	// three
}
