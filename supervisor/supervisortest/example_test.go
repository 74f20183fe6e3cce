package supervisortest_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

var squares = stages.Define("squares", func(g *stages.Graph, numbers []int) stages.Stream[int] {
	return stages.Map(stages.Source(g, "numbers", stages.FromSlice(numbers)), "square", func(_ context.Context, v int) (int, error) {
		return v * v, nil
	}, stages.Mailbox(2), stages.Ordered)
})

var sup *supervisor.Supervisor

func TestMain(m *testing.M) {
	sup = supervisor.Main(squares, whole, local)
	os.Exit(m.Run())
}

// A pipeline's test: the same comes out wherever it runs.
func ExamplePlacements() {
	_ = func(t *testing.T) { // func TestSquares(t *testing.T)
		p := squares.With([]int{1, 2, 3})
		for name, at := range supervisortest.Placements(t, sup, p) {
			t.Run(name, func(t *testing.T) {
				got, err := supervisortest.Collect(t, sup, p, at)
				if want := []int{1, 4, 9}; err != nil || !slices.Equal(got, want) {
					t.Errorf("got %v, %v, want %v", got, err, want)
				}
			})
		}
	}
	// Output:
}
