package stages_test

import (
	"context"
	"testing"

	"github.com/weirflow/weir/stages"
)

func isOdd(_ context.Context, v int) (bool, error) { return v%2 != 0, nil }

// The kernels' loops allocate nothing for items that are one to one, or filtered.
func TestKernelsAllocateNothingPerItem(t *testing.T) {
	const n = 512
	for name, k := range map[string]*rig[int, int]{
		"map": newRig(t, make([]int, n), func(in stages.Stream[int]) stages.Stream[int] { return stages.Map(in, "k", same) }),
		"map with state": newRig(t, make([]int, n), func(in stages.Stream[int]) stages.Stream[int] {
			return stages.MapWith(in, "k", func(context.Context) (*int, error) { return new(int), nil },
				func(s *int, _ context.Context, v int) (int, error) { *s++; return v, nil })
		}),
		"filter, all out": newRig(t, make([]int, n), func(in stages.Stream[int]) stages.Stream[int] { return stages.Filter(in, "k", isOdd) }),
		"filter, half": newRig(t, count(n), func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Filter(in, "k", isOdd)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			if allocs := testing.AllocsPerRun(50, func() { k.deliver(0, n) }); allocs > 0 {
				t.Errorf("%v allocations for %d items", allocs, n)
			}
		})
	}
}

func count(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

// A batch costs its own slice and a sixteenth of a slab of families.
func TestABatchAllocatesItselfAndItsFamily(t *testing.T) {
	const n, size = 512, 32
	k := newRig(t, count(n), func(in stages.Stream[int]) stages.Stream[[]int] { return stages.Batch(in, "k", size) })
	if allocs := testing.AllocsPerRun(50, func() { k.deliver(0, n) }); allocs > n/size+n/size/16 {
		t.Errorf("%v allocations for %d batches", allocs, n/size)
	}
}
