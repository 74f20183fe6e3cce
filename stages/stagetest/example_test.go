package stagetest_test

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
)

// squares is a source that can seek.
func squares(n int64) stages.Origin[int64] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			for i := from.Index; i < n && yield(i*i, nil); i++ {
			}
		}
	})
}

// A source's test: one line, over a source that has something to yield.
func ExampleOrigin() {
	_ = func(t *testing.T) { // func TestSquares(t *testing.T)
		stagetest.Origin(t, squares(100))
	}
	// Output:
}

func TestSquares(t *testing.T) { stagetest.Origin(t, squares(100)) }

func parse(_ context.Context, s string) (int, error) { return strconv.Atoi(s) }

// A stage with its options: what comes out, what fails, and whether the run would go on.
func ExampleRun() {
	var t testing.TB = &recorder{ctx: context.Background()} // in a test, its t
	got := stagetest.Run(t, func(in stages.Stream[string]) stages.Stream[[]int] {
		numbers := stages.Map(in, "parse", parse, stages.OnError(stages.Skip(1)))
		return stages.Batch(numbers, "batch", 2)
	}, "1", "two", "3", "4")
	fmt.Println(got.Out, got.Err)
	fmt.Println(got.Failed[0])
	// Output:
	// [[1 3] [4]] <nil>
	// stage "parse": item given/0/1 failed: strconv.Atoi: parsing "two": invalid syntax
}

// A kind's test: its constructor, and items that make it do what it can.
func ExampleConform() {
	_ = func(t *testing.T) { // func TestBatchConforms(t *testing.T)
		stagetest.Conform(t, func(in stages.Stream[int]) stages.Stream[[]int] {
			return stages.Batch(in, "batch", 3)
		}, 1, 2, 3, 4, 5)
	}
	// Output:
}
