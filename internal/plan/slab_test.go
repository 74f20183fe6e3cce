package plan_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/weirflow/weir/internal/plan"
)

// A family that lives for long keeps its neighbours' memory, but not what those were made of.
func TestASlabDoesNotKeepTheAncestorsOfTheDead(t *testing.T) {
	var tally, other plan.Tally
	var source plan.IDs
	source.Source(0, 0, 0, 2)
	at := func(s *plan.IDs, i int) plan.Run { c := s.From(i); return c.Peek() }
	f := plan.NewFamily(&tally, at(&source, 0), 2)
	ancestor := weak.Make(f)
	var parents, living, dead plan.IDs
	parents.Members(f, 0, 2)
	living.Kids(&other, at(&source, 1), 2)
	dead.Merged(&other, &parents, at(&source, 1), 2) // in the slab of the living
	f = nil
	tally = plan.Tally{}
	other.Settle(&dead, 0, 2, plan.Delivered)
	dead.Reset()
	runtime.GC()
	if ancestor.Value() != nil {
		t.Error("the ancestor of a family that is dead is still reachable")
	}
	if id := living.At(1); id.Index != 1 || id.Path != ".1" {
		t.Errorf("the other one's member is %+v", id)
	}
	runtime.KeepAlive(&living)
	runtime.KeepAlive(&other)
}
