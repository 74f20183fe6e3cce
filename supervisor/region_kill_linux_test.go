package supervisor_test

import (
	"fmt"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// Children are killed at any moment, one or all, again while they are being replaced: each output comes exactly once, in order
// where that is promised, and nothing is left over.
func TestF11KillsCostNothing(t *testing.T) {
	child := supervisor.Subprocess{}
	at := func(from, to string) supervisor.Placement { return regionAt(from, to, child) }
	type where struct {
		name   string
		at     supervisor.Placement
		copies int
	}
	type trial struct {
		quarry
		where
	}
	var trials []trial
	add := func(c quarry, wheres ...where) {
		for _, w := range wheres {
			trials = append(trials, trial{c, w})
		}
	}
	items := where{"a region of items", at("first", "second"), 1}
	pool := where{"a pool", regionAt("first", "second", supervisor.Pool{Size: 2, Of: child}), 2}
	whole := where{"the whole graph", child, 1}
	for _, of := range []string{"maps", "many", "tee"} {
		for _, ordered := range []bool{true, false} {
			c := quarry{Of: of, Workers: 4, Ordered: ordered}
			add(c, items, pool, whole, where{"from the source on", at("ints", "second"), 1})
			c.Batches = 1
			add(c, whole, where{"batches", at("small", "last"), 1}, where{"from the source on", at("ints", "small"), 1})
			if of != "tee" || ordered {
				add(c, where{"up to batches", at("first", "last"), 1})
			}
			c.Batches = 2
			add(c, whole, where{"batches", at("large", "last"), 1}, where{"from the source on", at("ints", "last"), 1})
			c.Apart = true
			if of == "maps" {
				add(c, whole, where{"batches", at("small", "apart"), 1}, where{"up to batches", at("first", "apart"), 1})
			}
		}
	}
	one := quarry{Of: "streaming", Workers: 1}
	add(one, items, whole)
	one.Batches = 1
	add(one, whole, where{"up to batches", at("first", "small"), 1})
	f := newFire(t)
	for i, c := range trials {
		t.Run(fmt.Sprintf("%v, %s", c.quarry, c.where.name), func(t *testing.T) {
			f.fight(t, c.quarry, c.at, c.copies, partOf(*faultKills, i, len(trials)))
		})
	}
	f.report(t, false)
}

// partOf is the part i of n of a number: one at least.
func partOf(all, i, n int) int { return max(all*(i+1)/n-all*i/n, 1) }

// Regions of one graph are killed together, and one while another is being replaced.
func TestF12RegionsThatAreKilledTogetherCostNothing(t *testing.T) {
	child := supervisor.Subprocess{}
	at := func(names ...string) (all supervisor.Regions) {
		for i := 0; i < len(names); i += 2 {
			all = append(all, supervisor.Region{From: names[i], To: names[i+1], On: child})
		}
		return all
	}
	trials := []struct {
		name    string
		of      string
		batches int
		at      supervisor.Regions
		copies  int
	}{
		{"items and items", "maps", 0, at("first", "first", "second", "second"), 2},
		{"items and batches", "many", 1, at("first", "second", "small", "last"), 2},
		{"a source and items", "many", 0, at("ints", "first", "second", "second"), 2},
		{"a source and batches", "maps", 1, at("ints", "second", "small", "last"), 2},
		{"batches and batches", "many", 2, at("small", "small", "large", "last"), 2},
		{"a source, items and batches", "many", 1, at("ints", "first", "second", "second", "small", "last"), 3},
		{"a pool and batches", "many", 1, append(at("small", "last"), supervisor.Region{From: "first", To: "second", On: supervisor.Pool{Size: 2, Of: child}}), 3},
	}
	f := newFire(t)
	for i, c := range trials {
		for k, ordered := range []bool{true, false} {
			what := quarry{Of: c.of, Batches: c.batches, Workers: 4, Ordered: ordered}
			t.Run(fmt.Sprintf("%s, %v", c.name, what), func(t *testing.T) {
				f.fight(t, what, c.at, c.copies, partOf(*faultKills, 2*i+k, 2*len(trials)))
			})
		}
	}
	f.report(t, true)
}
