package supervisor_test

import (
	"context"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// What aggregates in a child are given comes from here.
func TestAnAggregateInAChildIsFedFromHere(t *testing.T) {
	const n = 3000
	child := supervisor.Subprocess{}
	for name, c := range map[string]struct {
		of quarry
		at supervisor.Placement
	}{
		"a batch":              {quarry{Of: "many", Batches: 1, Workers: 1}, regionAt("small", "small", child)},
		"parts":                {quarry{Of: "many", Batches: 1, Workers: 4, Ordered: true}, regionAt("first", "small", child)},
		"parts, out of order":  {quarry{Of: "many", Batches: 1, Workers: 4}, regionAt("first", "last", child)},
		"streaming":            {quarry{Of: "streaming", Batches: 1, Workers: 1}, regionAt("first", "last", child)},
		"twice":                {quarry{Of: "many", Batches: 2, Workers: 2, Ordered: true}, regionAt("first", "last", child)},
		"taken apart":          {quarry{Of: "many", Batches: 2, Apart: true, Workers: 2, Ordered: true}, regionAt("small", "apart", child)},
		"two regions":          {quarry{Of: "many", Batches: 2, Workers: 2, Ordered: true}, supervisor.Regions{{From: "first", On: child}, {From: "small", To: "large", On: child}}},
		"batches, from a node": {quarry{Of: "many", Batches: 2, Workers: 2, Ordered: true}, supervisor.Regions{{From: "ints", To: "first", On: child}, {From: "small", To: "last", On: child}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.of.N = n
			run, err := supervisor.Deploy(t.Context(), children, quarries.With(c.of), c.at)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for b, err := range run.Items(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b...)
			}
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
			s := run.Stats()
			if s.Yielded != n {
				t.Errorf("counts: %+v", s)
			}
			checkEnd(t, s, nil)
			if err := c.of.check(got, s); err != nil {
				t.Error(err)
			}
		})
	}
}
