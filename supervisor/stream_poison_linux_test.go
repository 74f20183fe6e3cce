package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
	"github.com/weirflow/weir/supervisor"
)

// An item that kills its process has failed when three have died of it also where a source is with it; all others come once, and
// in order. The defaults are enough for that.
func TestF13WhatKillsItsProcessFailsBesideItsSource(t *testing.T) {
	for fault, says := range deadly() {
		for at, placement := range map[string]supervisor.Placement{
			"all of it":          supervisor.Subprocess{},
			"from its source on": regionAt("cells", "first", supervisor.Subprocess{}),
		} {
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
				wantPoison(t, r.stats, "first", says, "cells/0/150")
			})
		}
	}
}

// wantPoison wants these items to have failed, and no others: each of three processes that have ended so.
func wantPoison(t *testing.T, s supervisor.Stats, stage, says string, items ...string) {
	t.Helper()
	var failed []string
	for _, f := range s.Failures {
		failed = append(failed, f.Item.String())
		if f.Stage != stage || f.Attempts != 3 {
			t.Errorf("%v", f)
		}
		exit, isExit := errors.AsType[*supervisor.ExitError](f)
		if _, isNode := errors.AsType[*supervisor.NodeError](f); !isNode || !isExit || !strings.Contains(exit.Error(), says) {
			t.Errorf("got %v, want the end of a process that says %q", f, says)
		}
	}
	slices.Sort(failed)
	if !slices.Equal(failed, items) {
		t.Errorf("failed %v, want %v", failed, items)
	}
}

// runLethal runs l, and returns its values, without batches.
func runLethal(t *testing.T, l lethal, at supervisor.Placement, cfg supervisor.Config) (got []int, stats supervisor.Stats, failure error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(supervisor.Event) {}
	}
	run, err := supervisor.Deploy(ctx, children.With(cfg), lethals.With(l), at)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range run.Items(ctx) {
		if failure = err; err == nil {
			got = append(got, b...)
		}
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	stats = run.Stats()
	checkEnd(t, stats, failure)
	return got, stats, failure
}

// kids are the values that n items of the source become, without those that are not to be there.
func kids(n int, without ...int) (all []int) {
	for v := range n {
		for i := range 3 {
			if k := 10*v + i; !slices.Contains(without, k) && !slices.Contains(without, -v-1) {
				all = append(all, k)
			}
		}
	}
	return all
}

// lethalRegions are where the stages of lethals can be, if "many" to "gather" are to be elsewhere.
func lethalRegions() map[string]supervisor.Placement {
	return map[string]supervisor.Placement{
		"all of it": supervisor.Subprocess{},
		"fed":       regionAt("map", "sum", supervisor.Subprocess{}),
	}
}

// Wherever in a region it happens, the item fails that is fatal there, and nothing else.
func TestF13WhatIsFatalFailsWhereverItIs(t *testing.T) {
	for _, c := range []struct {
		name string
		l    lethal
		lost []int // values; -1-v: all of item v
		item []string
	}{
		{"one to one", lethal{Where: "map", At: []int{150}}, []int{-151}, []string{"source/0/150"}},
		{"one to many, in the middle", lethal{Where: "many", At: []int{1501}}, []int{-151}, []string{"source/0/150"}},
		{"behind one to many", lethal{Where: "behind", At: []int{1501}}, []int{1501}, []string{"source/0/150.1"}},
		{"behind one to many, Streaming", lethal{Where: "behind", At: []int{1501}, Streaming: true}, []int{1501}, []string{"source/0/150.1"}},
		{"in a Collector", lethal{Where: "gather", At: []int{1501}}, []int{1501}, []string{"source/0/150.1"}},
		{"two of them", lethal{Where: "behind", At: []int{1501, 1502}}, []int{1501, 1502}, []string{"source/0/150.1", "source/0/150.2"}},
		{"two, far apart", lethal{Where: "map", At: []int{20, 250}}, []int{-21, -251}, []string{"source/0/20", "source/0/250"}},
		{"a batch", lethal{Where: "sum", At: []int{151}, Plain: true}, []int{150, 151, 152, 153, 154}, []string{"source/0/150"}},
	} {
		for at, placement := range lethalRegions() {
			for _, any := range []bool{false, true} {
				if any && c.l.Where == "sum" {
					continue // with whom it is in a batch is a matter of luck
				}
				t.Run(fmt.Sprintf("%s, %s, any order: %v", c.name, at, any), func(t *testing.T) {
					t.Parallel()
					l := c.l
					l.N, l.Workers, l.Any, l.Fault, l.Policy, l.Budget = 300, 4, any, "kill", "skip", 5
					got, stats, err := runLethal(t, l, placement, supervisor.Config{})
					if err != nil {
						t.Fatal(err)
					}
					if any {
						slices.Sort(got)
					}
					want := kids(300, c.lost...)
					if l.Plain {
						want = without(300, c.lost...)
					}
					wantItems(t, got, want)
					wantPoison(t, stats, l.Where, "killed", c.item...)
				})
			}
		}
	}
}

// What kills its process leaves behind, in graphs of all shapes, what an error leaves behind in this process.
func TestF13WhatIsFatalIsAsAnErrorInAllShapes(t *testing.T) {
	for _, of := range []string{"maps", "filter", "many", "failing siblings", "route", "tee", "branch", "tee branch", "batches"} {
		for _, s := range []shape{{Workers: 1}, {Workers: 4, Order: true}, {Workers: 4}, {Workers: 2, Order: true, Epochs: 2}} {
			s.Of, s.N, s.Every, s.Policy, s.Budget = of, 200, 131, "skip", 10
			if of == "failing siblings" || of == "branch" {
				s.Every = 1312 // of 0 to 1999
			}
			if of == "batches" && s.Workers == 4 && !s.Order {
				continue // with whom an item is in a batch is a matter of luck
			}
			t.Run(fmt.Sprintf("%s, %d workers, in order: %v, epochs: %d", of, s.Workers, s.Order, s.Epochs), func(t *testing.T) {
				t.Parallel()
				s.Fault = "error"
				here := runShape(t, s, nil, supervisor.Config{})
				s.Fault = "kill"
				there := runShape(t, s, supervisor.Subprocess{}, supervisor.Config{})
				if here.err != nil || there.err != nil || len(here.stats.Failures) == 0 {
					t.Fatal(here.err, there.err, here.stats.Failures)
				}
				if s.Workers > 1 && !s.Order {
					here.out, there.out = sortedCells(here.out), sortedCells(there.out)
				}
				if !slices.EqualFunc(here.out, there.out, func(a, b cell) bool { return a.V == b.V && a.Names == b.Names }) {
					t.Errorf("%d outputs here, %d there, or others", len(here.out), len(there.out))
				}
				var failed []string
				for _, f := range here.stats.Failures {
					failed = append(failed, f.Item.String())
				}
				slices.Sort(failed)
				wantPoison(t, there.stats, here.stats.Failures[0].Stage, "killed", failed...)
				if a, b := here.stats, there.stats; a.Yielded != b.Yielded || a.Delivered != b.Delivered || a.Filtered != b.Filtered || a.Failed != b.Failed || a.Outputs != b.Outputs {
					t.Errorf("here %+v, there %+v", a, b)
				}
			})
		}
	}
}

// By the other policies the run fails with the item, behind what comes before it, or it becomes a dead letter with what its stage was
// given.
func TestF13WhatIsFatalBesideItsSourceIsSubjectToThePolicy(t *testing.T) {
	for at, placement := range lethalRegions() {
		t.Run("fail, "+at, func(t *testing.T) {
			l := lethal{N: 300, Workers: 4, Where: "behind", Fault: "exit", At: []int{1502}}
			got, _, err := runLethal(t, l, placement, supervisor.Config{})
			item, ok := errors.AsType[*stages.ItemError](err)
			if !ok || item.Stage != "behind" || item.Item.String() != "source/0/150.2" || item.Attempts != 3 {
				t.Fatalf("got %v", err)
			}
			exit, ok := errors.AsType[*supervisor.ExitError](err)
			if !ok || exit.Code != 3 || !strings.Contains(exit.Stderr, "the last words") {
				t.Errorf("got %v", err)
			}
			wantItems(t, got, kids(150))
		})
		t.Run("letters, "+at, func(t *testing.T) {
			letters := filepath.Join(t.TempDir(), "letters.jsonl")
			l := lethal{N: 300, Workers: 4, Where: "behind", Fault: "exit", At: []int{1502}, Policy: "letters", Budget: 5, Letters: letters}
			got, _, err := runLethal(t, l, placement, supervisor.Config{})
			if err != nil {
				t.Fatal(err)
			}
			wantItems(t, got, kids(300, 1502))
			n := 0
			for l, err := range deadletter.Read(letters) {
				if n++; err != nil || l.Stage != "behind" || l.Item.String() != "source/0/150.2" || l.Attempts != 3 || len(l.Payload) == 0 || !strings.Contains(fmt.Sprint(l.Errors), "the last words") {
					t.Errorf("%v, letter %+v", err, l)
				}
			}
			if n != 1 {
				t.Errorf("%d letters", n)
			}
		})
	}
}

// What is fatal and no item's ends the run, and says what it was. What was executed at the time does not fail for it.
func TestF13WhatIsNoItemsFaultEndsTheRun(t *testing.T) {
	for _, c := range []struct{ where, at, says string }{
		{"open", "the first item", `stage "gather" was opened`},
		{"flush", "the end", `stage "gather" flushed what it held`},
		{"source", "the first item", `while source "source" was at work`},
		{"source", "another", `source "source" was at work`},
	} {
		t.Run(c.where+", at "+c.at, func(t *testing.T) {
			t.Parallel()
			l := lethal{N: 101, Workers: 4, Where: c.where, Fault: "exit", At: []int{0}, Policy: "skip", Budget: 1000, Slow: time.Millisecond}
			if c.at == "another" {
				l.At[0] = 70
			}
			_, stats, err := runLethal(t, l, supervisor.Subprocess{}, supervisor.Config{Restart: stages.Restart{First: time.Millisecond, Pause: time.Millisecond}})
			if !errors.Is(err, stages.ErrRestarts) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "the last words") {
				t.Errorf("got %v, want one that says %q", err, c.says)
			}
			if len(stats.Failures) > 0 {
				t.Errorf("failures %v", stats.Failures)
			}
		})
	}
}

// Two kills from outside, whenever they are, fail no item.
func TestF13KillsFromOutsideFailNoItem(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 5))
	for i := range 12 {
		for at, placement := range lethalRegions() {
			l := lethal{N: 2000, Workers: 4, Any: i%2 == 1, Streaming: i%3 == 1}
			when := []int{dice.IntN(6000), dice.IntN(6000)}
			slices.Sort(when)
			t.Run(fmt.Sprintf("%s, %+v, at %v", at, l, when), func(t *testing.T) {
				got, stats, err := killLethal(t, l, placement, when)
				if err != nil || len(stats.Failures) > 0 {
					t.Fatal(err, stats.Failures)
				}
				if slices.Sort(got); !slices.Equal(got, kids(2000)) {
					t.Errorf("%d values, want 6000", len(got))
				}
			})
		}
	}
}

// killLethal kills the child when so many values have come.
func killLethal(t *testing.T, l lethal, at supervisor.Placement, when []int) (got []int, stats supervisor.Stats, failure error) {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), children.With(supervisor.Config{OnEvent: func(supervisor.Event) {}}), lethals.With(l), at)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range run.Items(t.Context()) {
		failure = err
		if got = append(got, b...); len(when) > 0 && len(got) > when[0] {
			when = when[1:]
			for _, pid := range childrenOf(t) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	return got, run.Stats(), failure
}

// Attempt counts the processes that may have died of an item.
func TestAttemptCountsTheDeathsOfProcessesBesideASource(t *testing.T) {
	l := lethal{N: 200, Workers: 4, Where: "gather", Fault: "kill", At: []int{1501}, Policy: "skip", Budget: 1}
	l.Where, l.At, l.Tries = "behind", []int{1501}, true
	got, _, err := runLethal(t, l, supervisor.Subprocess{}, supervisor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	again := 0
	for _, n := range got {
		if n < 1 || n > 3 {
			t.Errorf("attempt %d", n)
		}
		if n > 1 {
			again++
		}
	}
	t.Logf("%d of %d values were tried again", again, len(got))
}
