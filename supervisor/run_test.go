package supervisor_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func ints(n int) stages.Origin[int] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < n; i++ {
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

func TestItemsComeOutOnceAndInOrder(t *testing.T) {
	for _, m := range []int{1, 4} {
		for _, o := range []stages.Order{stages.Ordered, stages.Unordered} {
			p := stages.Define("p", func(g *stages.Graph, n int) stages.Stream[int] {
				s := stages.Source(g, "ints", ints(n))
				for _, name := range []string{"a", "b", "c"} {
					s = stages.Map(s, name, func(_ context.Context, v int) (int, error) { return v + 1, nil }, stages.Mailbox(m), o)
				}
				return stages.Unbatch(stages.Batch(s, "batch", 32), "un")
			})
			sup := supervisor.New(supervisor.Config{})
			const n = 1_000_000
			sum, count, next := 0, 0, 3
			begun := time.Now()
			run, err := supervisor.Deploy(t.Context(), sup, p.With(n), nil)
			if err != nil {
				t.Fatal(err)
			}
			for v, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if o == stages.Ordered && v != next {
					t.Fatalf("got %d, want %d", v, next)
				}
				next++
				sum += v
				count++
			}
			t.Logf("%d %v: %d items, %v per item", m, o, count, time.Since(begun)/n)
			if count != n || sum != n*(n-1)/2+3*n {
				t.Errorf("count %d sum %d", count, sum)
			}
			if err := run.Stop(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
