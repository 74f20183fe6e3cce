package stagetest_test

import (
	"context"
	"iter"
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
