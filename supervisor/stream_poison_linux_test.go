package supervisor_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// inside are the placements in which a shape is in a region with its source, or with an aggregate.
func inside() map[string]supervisor.Placement {
	return map[string]supervisor.Placement{
		"all of it":          supervisor.Subprocess{},
		"from its source on": regionAt("cells", "first", supervisor.Subprocess{}),
	}
}

// An item that kills its process has failed when three have died of it also where a source is with it; all others come once, and
// in order, whether it is looked for or not.
func TestF13WhatKillsItsProcessFailsBesideItsSource(t *testing.T) {
	for fault, says := range deadly() {
		for at, placement := range inside() {
			t.Run(fault+", "+at, func(t *testing.T) {
				t.Parallel()
				s := shape{Of: "maps", N: 300, Workers: 4, Order: true, Fault: fault, Every: 151, Policy: "skip", Budget: 1}
				r := runShape(t, s, placement, supervisor.Config{})
				if r.err != nil {
					t.Fatal(r.err)
				}
				var got []int
				for _, v := range r.out {
					got = append(got, v.V)
				}
				wantItems(t, got, without(300, 150))
				wantPoison(t, r.stats, "first", says, 150)
			})
		}
	}
}

// wantPoison wants these items to have failed, each of three processes that have ended so.
func wantPoison(t *testing.T, s supervisor.Stats, stage, says string, items ...int64) {
	t.Helper()
	var failed []int64
	for _, f := range s.Failures {
		failed = append(failed, f.Item.Index)
		if f.Stage != stage || f.Attempts != 3 {
			t.Errorf("stage %q, %d attempts: %v", f.Stage, f.Attempts, f)
		}
		if exit, ok := errors.AsType[*supervisor.ExitError](f); !ok {
			t.Errorf("no end of a process: %v", f)
		} else if _, ok := errors.AsType[*supervisor.NodeError](f); !ok {
			t.Errorf("no node: %v", exit)
		}
	}
	slices.Sort(failed)
	if !slices.Equal(failed, items) {
		t.Errorf("failed %v, want %v", failed, items)
	}
}

