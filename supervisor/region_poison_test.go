package supervisor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// deadly are faults that cost a process, with what its end says.
func deadly() map[string]string {
	return map[string]string{
		"kill":            "signal: killed",
		"exit":            "exit status 3\nthe last words",
		"panic elsewhere": "panic: in a goroutine of its own",
		"stack overflow":  "stack overflow",
		"log fatal":       "no way on",
		"map writes":      "concurrent map",
	}
}

// impatient replaces processes at once.
var impatient = supervisor.Config{Restart: stages.Restart{Max: 1000, First: time.Millisecond, Pause: time.Millisecond}}

// An item that kills its process has failed when three have died of it, with how the last one has ended as its cause; all others
// come once, and in order.
func TestF13WhatKillsItsProcessFails(t *testing.T) {
	for fault, says := range deadly() {
		for at, elsewhere := range elsewheres() {
			t.Run(fault+" in a "+at, func(t *testing.T) {
				t.Parallel()
				s := shape{Of: "maps", N: 300, Workers: 4, Order: true, Fault: fault, Every: 151, Policy: "skip", Budget: 1}
				r := runShape(t, s, elsewhere, impatient)
				if r.err != nil {
					t.Fatal(r.err)
				}
				var got []int
				for _, v := range r.out {
					got = append(got, v.V)
				}
				wantItems(t, got, without(300, 150))
				f := r.stats.Failures
				if len(f) != 1 || f[0].Stage != "first" || f[0].Item.Index != 150 || f[0].Attempts != 3 {
					t.Fatalf("failures %v", f)
				}
				wantExit(t, f[0], says)
			})
		}
	}
}

// wantExit wants an error of a process that has ended in this way.
func wantExit(t *testing.T, err error, says string) {
	t.Helper()
	node, isNode := errors.AsType[*supervisor.NodeError](err)
	exit, isExit := errors.AsType[*supervisor.ExitError](err)
	if !isNode || !isExit || !strings.HasPrefix(node.Region, "first") || !strings.Contains(exit.Error(), says) {
		t.Errorf("got %v, want one that says %q", err, says)
	}
}

// By the other policies the run fails with the item, or it becomes a dead letter with what its stage was given.
func TestF13WhatKillsItsProcessIsSubjectToThePolicy(t *testing.T) {
	s := shape{N: 300, Workers: 4, Order: true, Fault: "kill", Every: 151}
	for _, of := range []string{"map", "maps", "many"} {
		t.Run(of+", fail", func(t *testing.T) {
			s := s
			s.Of = of
			r := runShape(t, s, elsewheres()["child"], impatient)
			item, ok := errors.AsType[*stages.ItemError](r.err)
			if !ok || item.Stage != "first" || item.Item.Index != 150 || item.Attempts != 3 {
				t.Fatalf("got %v", r.err)
			}
			wantExit(t, r.err, "killed")
			if want := runShape(t, shape{Of: of, N: 150, Workers: 4, Order: true}, nil, supervisor.Config{}); !slices.EqualFunc(r.out, want.out, func(a, b cell) bool { return a.V == b.V }) {
				t.Errorf("%d outputs, want the %d before it", len(r.out), len(want.out))
			}
		})
		t.Run(of+", letters", func(t *testing.T) {
			s := s
			s.Of, s.Policy, s.Budget = of, "letters", 5
			r := runShape(t, s, elsewheres()["child"], impatient)
			if r.err != nil || len(r.letters) != 1 {
				t.Fatalf("%v, letters %v", r.err, r.letters)
			}
			l := r.letters[0]
			if l.Stage != "first" || l.Item.Index != 150 || l.Attempts != 3 || l.Codec != "msgpack" || len(l.Payload) == 0 || l.Shape == "" {
				t.Errorf("letter %+v", l)
			}
		})
	}
}

// Deaths with many items out make all of them suspects, which are tried one by one: that takes a moment, and not more.
func TestManySuspectsAreTriedQuickly(t *testing.T) {
	s := shape{Of: "maps", N: 3000, Workers: 2, Fault: "kill", Every: 1501, Policy: "skip", Budget: 10}
	begun := time.Now()
	r := runShape(t, s, elsewheres()["child"], impatient)
	if r.err != nil || len(r.out) != 2999 {
		t.Errorf("%d outputs, %v", len(r.out), r.err)
	}
	alone := 0
	for _, v := range r.out {
		alone += v.Tried
	}
	took := time.Since(begun)
	t.Logf("%d suspects, %v", alone, took)
	if took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Of several items that kill their process each is found.
func TestEachOfSeveralPoisonsIsFound(t *testing.T) {
	for at, elsewhere := range elsewheres() {
		t.Run(at, func(t *testing.T) {
			s := shape{Of: "many", N: 200, Workers: 4, Fault: "kill", Every: 60, Policy: "skip", Budget: 10}
			r := runShape(t, s, elsewhere, impatient)
			if r.err != nil {
				t.Fatal(r.err)
			}
			var failed []int64
			for _, f := range r.stats.Failures {
				failed = append(failed, f.Item.Index)
			}
			slices.Sort(failed)
			if fmt.Sprint(failed) != "[59 119 179]" {
				t.Errorf("failed %v", failed)
			}
			var want, got []int
			for i := range 200 {
				if i%60 != 59 {
					want = append(want, madeOf("many", i)...)
				}
			}
			for _, v := range r.out {
				got = append(got, v.V)
			}
			slices.Sort(got)
			wantItems(t, got, want)
		})
	}
}
