package supervisor_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
)

// share runs one shard of n numbers through the runtime, for some epochs.
func share(t *testing.T, from stages.Origin[int], rank, world int) ([]int, int64, error) {
	t.Helper()
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "share", stages.Shard(from, rank, world), stages.Epochs(2), stages.OnError(stages.Skip(1))), "same", same)
	}))
	return got, s.Failed, err
}

// An iterator that panics is opened again where its rank was, of whichever rank the item was that it died of.
func TestAShardGoesOnWhereItsIteratorDied(t *testing.T) {
	for rank := range 3 {
		t.Run(fmt.Sprint("rank ", rank), func(t *testing.T) {
			died := map[int]bool{}
			got, _, err := share(t, stages.FromSeq(faulty(1000, func(i int) error {
				if i%100 == 50 && !died[i] {
					died[i] = true
					panic("once")
				}
				return nil
			})), rank, 3)
			var want []int
			for range 2 {
				for i := rank; i < 999; i += 3 {
					want = append(want, i)
				}
			}
			if err != nil || len(died) != 10 || !slices.Equal(got, want) {
				t.Errorf("%d items, want %d, %d deaths, %v", len(got), len(want), len(died), err)
			}
		})
	}
}

// One rank counts the failed item; an error of the source ends all.
func TestAFailedItemOfAShardIsOneRanksAndAFatalErrorEverybodys(t *testing.T) {
	bad, gone := errors.New("bad"), errors.New("gone")
	failed := int64(0)
	for rank := range 3 {
		got, f, err := share(t, stages.FromSeq(faulty(100, func(i int) error {
			switch i {
			case 10:
				return bad
			case 50:
				return stages.Fatal(gone)
			}
			return nil
		})), rank, 3)
		failed += f
		if !errors.Is(err, gone) || int64(len(got))+f != 16 {
			t.Errorf("rank %d: %d items, %d failed, %v", rank, len(got), f, err)
		}
	}
	if failed != 1 {
		t.Errorf("%d failed items", failed)
	}
}
