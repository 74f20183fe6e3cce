package plan_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

// Items that part are decided when their last self is, whatever the width of their counts, in whatever order and by
// whatever goroutines, a stretch or an item at a time.
func TestWhatPartsIsDecidedWithItsLastSelf(t *testing.T) {
	for _, branches := range []int{2, 3, 4, 63, 64, 300} {
		for _, n := range []int{1, 3, 4, 7, 8, 15, 16, 17, 33, 200} {
			for _, all := range []bool{true, false} {
				t.Run(fmt.Sprint(branches, n, all), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(branches), uint64(n)))
					testSplit(t, r, branches, n, all)
				})
			}
		}
	}
}

func testSplit(t *testing.T, r *rand.Rand, branches, n int, all bool) {
	var ids plan.IDs
	ids.Source(0, 0, 0, n)
	fam, got := plan.NewSplit(ids.From(0), n, nil, 0, branches)
	if got != n {
		t.Fatalf("a split of %d, want %d", got, n)
	}
	if all {
		fam.SetAllAlive(n, branches)
	}
	// One list of identities per branch, the fates that they will have, and what comes of that.
	lists, fates := make([]plan.IDs, branches), make([][]plan.Fate, branches)
	sum := make([]plan.Fate, n)
	alive := make([]bool, n)
	for i := range n {
		take := branches
		if !all {
			take = 1 + r.IntN(branches)
			fam.SetAlive(i, take)
		}
		for _, b := range r.Perm(branches)[:take] {
			f := plan.Fate(r.IntN(3))
			if r.IntN(3) > 0 {
				f = plan.Filtered
			}
			lists[b].Split(fam, i, 1, b)
			fates[b] = append(fates[b], f)
			sum[i] |= f
			alive[i] = true
		}
	}
	var want counts
	for i, f := range sum {
		switch {
		case !alive[i]:
		case f&plan.Failed != 0:
			want.failed++
		case f&plan.Delivered != 0:
			want.delivered++
		default:
			want.filtered++
		}
	}
	var a plan.Account
	var wg sync.WaitGroup
	for b := range branches {
		wg.Go(func() {
			var tally plan.Tally
			for i := 0; i < len(fates[b]); { // stretches of one fate
				j := i
				for j < len(fates[b]) && fates[b][j] == fates[b][i] {
					j++
				}
				tally.Settle(&lists[b], i, j, fates[b][i])
				i = j
			}
			a.Add(&tally)
		})
	}
	wg.Wait()
	var c counts
	if c.delivered, c.filtered, c.failed = a.Settled(); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
}
