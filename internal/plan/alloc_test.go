package plan_test

import (
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

func TestTheHotPathsAllocateNothing(t *testing.T) {
	var source, mixed, dst, front plan.IDs
	source.Source(0, 0, 0, 512)
	for i := range int64(512) {
		mixed.Source(0, 0, 3*i, 1) // every run is one item long
	}
	pool := plan.NewPool[int]()
	chunk := pool.Of(512)
	chunk.Items = append(chunk.Items, make([]int, 512)...)
	chunk.Head().IDs.Source(0, 0, 0, 512)
	other := pool.Of(512)
	gate := plan.NewGate(func() {})
	at := uint64(0)
	var tally plan.Tally
	var account plan.Account
	for name, f := range map[string]func(){
		"IDs.Range of one run":   func() { dst.Reset(); dst.Range(&source, 10, 500) },
		"IDs.Range of many runs": func() { dst.Reset(); dst.Range(&mixed, 10, 500) },
		"Cursor.CopyTo":          func() { dst.Reset(); c := mixed.From(3); c.CopyTo(&dst, 100); c.Next(); c.CopyTo(&dst, 400) },
		"IDs.TakeFront": func() {
			front.Reset()
			dst.Reset()
			dst.Range(&mixed, 0, 512)
			dst.TakeFront(&front, 300)
		},
		"Chunk.Append": func() {
			other.Append(chunk, 0, 512)
			other.Items = other.Items[:0]
			other.Head().IDs.Reset()
		},
		"Tally.Settle": func() { tally.Settle(&mixed, 0, 512, plan.Delivered); account.Add(&tally) },
		"Gate.Put and Ready": func() {
			gate.Limit(at + 8)
			for range 8 {
				gate.Room(at)
				gate.Put(at)
				at++
			}
			gate.Ready(at - 8)
			gate.Ready(at)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, f); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// Sixteen families are one allocation, whatever the number of their members; their list grows seldom.
func TestSixteenFamiliesAreOneAllocation(t *testing.T) {
	var source, dst plan.IDs
	var tally plan.Tally
	source.Source(0, 0, 0, 1)
	c := source.From(0)
	parent := c.Peek()
	if n := testing.AllocsPerRun(100, func() {
		for range 16 {
			dst.Reset()
			dst.Kids(&tally, parent, 1000)
		}
	}); n != 1 {
		t.Errorf("%v allocations, want 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { dst.Reset(); dst.Kids(&tally, parent, 1) }); n != 0 {
		t.Errorf("%v allocations for a single output, want 0", n)
	}
}
