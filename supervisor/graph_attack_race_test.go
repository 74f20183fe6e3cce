package supervisor_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
)

// A group is flushed when nothing is left of the last item that its stage was given: the race detector sees to it that
// nobody asks then where that came from.
func TestAFlushDoesNotReadWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			few := stages.FlatMap(stages.Source(g, "pairs", byTwos(100)), "few", func(_ context.Context, v int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					if yield(v, nil) && v%2 == 1 {
						yield(v, nil)
					}
				}
			})
			return stages.AggregateByKey(few, "groups", func(v int) bool { return v%2 == 0 },
				func(_ context.Context, holds bool) (*hoarder, error) { return &hoarder{holds: holds}, nil },
				stages.MaxWait(time.Millisecond))
		}))
		if err != nil || len(got) != 300 {
			t.Errorf("%d items, %v", len(got), err)
		}
	})
}

// byTwos yields numbers, two at a time.
func byTwos(n int) stages.Origin[int] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < 2*n; i++ {
				if !yield(i, nil) {
					return
				}
				if i%2 == 1 {
					time.Sleep(time.Second)
				}
			}
		}
	})
}
