package plan_test

import (
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

// An aggregator that emits but lets go of nothing (a sliding window while it fills) makes outputs without parents. They
// are named as children of the item they were made at, but Merged takes only its index, not its path: behind a FlatMap
// the outputs made at 7.0 and 7.1 are both 7.0, which is also the name of the first of those two inputs.
func TestOutputsWithoutParentsHaveNamesOfTheirOwn(t *testing.T) {
	var source, kids, out plan.IDs
	var tally plan.Tally
	source.Source(0, 0, 7, 1)
	c := source.From(0)
	kids.Kids(&tally, c.Next(), 2) // 7.0 and 7.1
	at := kids.From(0)
	for range 2 {
		var none plan.IDs
		out.Merged(&tally, &none, at.Next(), 1)
	}
	for i, want := range []string{".0.0", ".1.0"} {
		if id := out.At(i); id.Index != 7 || id.Path != want {
			t.Errorf("output %d is %+v, want path %q", i, id, want)
		}
	}
}

// Outputs without parents keep their names when the item that they were made at is gone.
func TestOutputsWithoutParentsOutliveTheItemTheyWereMadeAt(t *testing.T) {
	var source, kids, out, none plan.IDs
	var tally plan.Tally
	source.Source(0, 0, 7, 1)
	c := source.From(0)
	kids.Kids(&tally, c.Next(), 2)
	at := kids.From(1)
	out.Merged(&tally, &none, at.Next(), 1)
	tally.Settle(&kids, 0, 2, plan.Delivered)
	if id := out.At(0); id.Index != 7 || id.Path != ".1.0" {
		t.Errorf("the output is %+v", id)
	}
}
