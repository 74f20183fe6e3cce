package supervisor_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
)

// What an attack on forks and merges found, so that it stays mended.

// A hoarder holds what it is given, or hands it on at once.
type hoarder struct {
	holds bool
	held  []int
}

func (h *hoarder) Process(_ context.Context, v int, emit func(int) bool) error {
	if h.holds {
		h.held = append(h.held, v)
	} else {
		emit(v)
	}
	return nil
}

func (h *hoarder) Held() int { return len(h.held) }

func (h *hoarder) Flush(_ context.Context, emit func(int) bool) error {
	for _, v := range h.held {
		emit(v)
	}
	h.held = nil
	return nil
}

// What a group emits at the end of its epoch stands there, also when nothing is left of the last item that the stage was
// given.
func TestAFlushStandsAtTheEndOfItsEpoch(t *testing.T) {
	for name, twice := range map[string]bool{"itself": false, "one of several": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
					b := stages.Route(stages.Source(g, "ints", lingering(4)), "route", 2, func(_ context.Context, v int) (int, error) { return v / 3, nil })
					few := stages.FlatMap(b[0], "few", func(_ context.Context, v int) iter.Seq2[int, error] {
						return func(yield func(int, error) bool) {
							if yield(v, nil) && twice && v == 2 {
								yield(v, nil)
							}
						}
					})
					groups := stages.AggregateByKey(few, "groups", func(v int) bool { return v == 1 },
						func(_ context.Context, holds bool) (*hoarder, error) { return &hoarder{holds: holds}, nil })
					slow := stages.Map(b[1], "slow", func(_ context.Context, v int) (int, error) {
						time.Sleep(time.Second)
						return v, nil
					})
					return stages.Merge("join", stages.InputOrder{}, groups, slow)
				}))
				want := []int{0, 2, 3, 1}
				if twice {
					want = []int{0, 2, 2, 3, 1}
				}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%v, %v", got, err)
				}
			})
		})
	}
}

// lingering yields n numbers, and ends half a second later.
func lingering(n int) stages.Origin[int] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < n; i++ {
				if !yield(i, nil) {
					return
				}
			}
			time.Sleep(500 * time.Millisecond)
		}
	})
}
