package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
)

// A worker whose part waits for its turn must not be in the way of the item whose turn it is. In a bubble, a deadlock
// fails the test.
func TestStreamingWorkersDoNotWaitForThemselves(t *testing.T) {
	for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(order, dies), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const n, each = 600, 1500
					many := func(ctx context.Context, v elem) iter.Seq2[elem, error] {
						return func(yield func(elem, error) bool) {
							if v.Value%37 == 0 {
								time.Sleep(10 * time.Millisecond)
							}
							outputs := 2
							if v.Value%5 == 0 {
								outputs = each
							}
							for i := range outputs {
								if dies && v.Value%11 == 0 && i == outputs/2 && stages.Attempt(ctx) == 1 {
									panic("once")
								}
								if !yield(v, nil) {
									return
								}
							}
						}
					}
					got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[elem] {
						return stages.FlatMap(stages.Source(g, "elems", elems(n/4), stages.Epochs(4)), "many", many, stages.Streaming, order, stages.Mailbox(4))
					}))
					if err != nil || s.InFlight != 0 {
						t.Fatalf("%v, %+v", err, s)
					}
					if want := n/5*each + (n-n/5)*2; len(got) != want {
						t.Errorf("%d outputs, want %d", len(got), want)
					}
					for i := 1; i < len(got); i++ {
						if a, b := got[i-1], got[i]; b.Epoch < a.Epoch || order == stages.Ordered && b.Epoch == a.Epoch && b.Value < a.Value {
							t.Fatalf("%v behind %v", b, a)
						}
					}
				})
			})
		}
	}
}
