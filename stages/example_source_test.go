package stages_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/weirflow/weir/stages"
)

func ExampleFromSlice() {
	p := stages.Define("numbers", func(g *stages.Graph, numbers []int) stages.Stream[int] {
		return stages.Source(g, "numbers", stages.FromSlice(numbers))
	})
	show(p.With([]int{3, 1, 2}))
	// Output:
	// 3
	// 1
	// 2
}

// countdown is called again for each epoch, and yields the same each time.
func countdown(context.Context) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 3; i > 0 && yield(i, nil); i-- {
		}
	}
}

func ExampleFromSeq() {
	p := stages.Define("countdown", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
		return stages.Source(g, "countdown", stages.FromSeq(countdown))
	})
	show(p.With(struct{}{}))
	// Output:
	// 3
	// 2
	// 1
}

// lines begins where it is asked to, and differs by epoch.
func lines(_ context.Context, from stages.Position) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := from.Index; i < 2 && yield(fmt.Sprintf("epoch %d, line %d", from.Epoch, i), nil); i++ {
		}
	}
}

func ExampleFromFunc() {
	p := stages.Define("lines", func(g *stages.Graph, _ struct{}) stages.Stream[string] {
		return stages.Source(g, "lines", stages.FromFunc(lines), stages.Epochs(2))
	})
	show(p.With(struct{}{}))
	// Output:
	// epoch 0, line 0
	// epoch 0, line 1
	// epoch 1, line 0
	// epoch 1, line 1
}

func ExampleFromChan() {
	requests := make(chan string, 2)
	requests <- "first"
	requests <- "second"
	close(requests) // ends the run; until then it waits for more
	p := stages.Define("requests", func(g *stages.Graph, c chan string) stages.Stream[string] {
		return stages.Source(g, "requests", stages.FromChan(c))
	})
	show(p.With(requests))
	// Output:
	// first
	// second
}

func ExampleFromFiles() {
	p := stages.Define("names", func(g *stages.Graph, dir string) stages.Stream[string] {
		paths := stages.Source(g, "list", stages.FromFiles(dir, "*.txt", "*.md"))
		return stages.Map(paths, "name", func(_ context.Context, path string) (string, error) {
			return filepath.Base(path), nil
		})
	})
	show(p.With("../examples/quickstart/testdata"))
	// Output:
	// a.txt
	// b.txt
}
