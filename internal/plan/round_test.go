package plan_test

import (
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

// What a mark says has been sent are the items of its round, and none of the next one.
func TestARoundEndsBehindItsItemsAndBeforeTheNext(t *testing.T) {
	place := func(open *plan.OpenRound) uint64 {
		var in, out plan.IDs
		in.Source(0, 0, 0, 1)
		f, _ := plan.NewSplit(in.From(0), 1, open, 0, 1)
		out.Split(f, 0, 1, 0)
		c := out.From(0)
		at, _, _, ok := c.Position(1)
		if !ok {
			t.Fatal("the item has no place")
		}
		return at
	}
	last := uint64(0)
	for seq := range uint64(8) {
		open := &plan.OpenRound{Fork: 1}
		round := open.Close(seq + 1)
		if at := place(open); at <= last || at > round.Upto {
			t.Errorf("round %d: its item stands at %x, its round ends at %x, the one before at %x", seq+1, at, round.Upto, last)
		}
		last = round.Upto
	}
}
