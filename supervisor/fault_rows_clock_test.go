package supervisor_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// wallUses are the places of a file that read the wall clock, or make of a time what only the wall clock knows. What is
// decided by the time between two readings of the monotonic clock needs time.Now once, and time.Since.
func wallUses(name string, src any) (uses []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	clock := "" // what the file calls package time
	for _, i := range f.Imports {
		if i.Path.Value == `"time"` {
			clock = "time"
			if i.Name != nil {
				clock = i.Name.Name
			}
		}
	}
	of := []string{"Now", "Unix", "UnixMilli", "UnixMicro", "Date", "Parse", "ParseInLocation"} // functions
	to := []string{"Unix", "UnixMilli", "UnixMicro", "UnixNano", "Before", "After", "Equal", "Compare", "Round", "Truncate", "UTC", "Local", "In", "AddDate", "Format", "Clock"}
	note := func(s *ast.SelectorExpr) {
		uses = append(uses, fmt.Sprintf("%s %s", filepath.ToSlash(name), s.Sel.Name))
	}
	ofClock := func(s *ast.SelectorExpr) bool {
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == clock
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if ofClock(n) && slices.Contains(of, n.Sel.Name) {
				note(n)
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && clock != "" && !ofClock(s) && slices.Contains(to, s.Sel.Name) {
				note(s)
			}
		}
		return true
	})
	return uses, nil
}

// Nothing that decides looks at the wall clock, which jumps: neither the runtime nor the arithmetic of failure.
func TestF40NoDecisionLooksAtTheWallClock(t *testing.T) {
	allowed := map[string]string{
		"../actors/run.go Now":    "the beginning, from which the monotonic clock counts",
		"../stages/letter.go Now": "is written into a letter",
		"../stages/timed.go Now":  "the deadline of a context, which the monotonic clock keeps",
	}
	seen := map[string]bool{}
	files := 0
	for _, dir := range []string{"../actors", "../internal/plan", "../internal/restart", "../stages"} {
		paths, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if strings.HasSuffix(p, "_test.go") {
				continue
			}
			files++
			uses, err := wallUses(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range uses {
				if _, ok := allowed[u]; !ok {
					t.Errorf("%s: a decision by the wall clock?", u)
				}
				seen[u] = true
			}
		}
	}
	for u, why := range allowed {
		if !seen[u] {
			t.Errorf("%q is allowed (%s), and nothing needs it any more", u, why)
		}
	}
	if files < 50 {
		t.Errorf("%d files were read", files)
	}
	for _, bad := range []string{"now := time.Now()", "_ = base.UnixNano()", "_ = a.Before(b)", "_ = time.Unix(0, 0)", "clock := time.Now", "_ = a.Round(0)"} {
		if uses, err := wallUses("bad.go", "package p\nimport \"time\"\nvar _ time.Time\nfunc f() { "+bad+" }"); err != nil || len(uses) != 1 {
			t.Errorf("%q is taken for good: %v, %v", bad, uses, err)
		}
	}
}

// All that waits goes by the clock of the bubble, exactly: one decision by another clock would be some other time. And a
// clock that is far on when nothing is being done, as after a night in which the machine has slept, ends nothing.
func TestF40WhatWaitsGoesByOneClockAndANightIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]int] {
			in := stages.Map(stages.Source(g, "source", stages.FromChan(c)), "f", func(ctx context.Context, v int) (int, error) {
				switch a := stages.Attempt(ctx); {
				case v%10 == 3 && a == 1:
					<-ctx.Done() // its Timeout
					return 0, stages.Retryable(ctx.Err())
				case v%10 == 4 && a < 3:
					panic("twice")
				}
				return v, nil
			}, stages.Timeout(3*time.Second), stages.Retry{First: time.Second}, stages.Restart{First: 4 * time.Second})
			return stages.Batch(in, "batch", 100, stages.MaxWait(time.Minute))
		}), supervisor.Config{})
		for round := range 3 {
			time.Sleep(30 * 365 * 24 * time.Hour) // a bubble cannot suspend, but it has years
			begun := time.Now()
			for v := range 10 {
				c <- v
				time.Sleep(time.Millisecond) // so that it is not in one piece with the next ones, and waits for them
			}
			b, err := run.Next(t.Context())
			if err != nil || !slices.Equal(b, numbers(10)) {
				t.Fatalf("round %d: %v, %v", round, b, err)
			}
			// The batch leaves a minute after its first item has come. Until then: a timeout of 3 s, a pause of its item of 0.5
			// to 1 s, two deaths, with a pause of 2 to 4 s behind the second.
			if d := time.Since(begun); d != time.Minute {
				t.Errorf("round %d: the batch came after %v", round, d)
			}
			if s := run.Stats(); s.Failed != 0 || s.Restarts != int64(2*(round+1)) || s.Retries != int64(3*(round+1)) {
				t.Errorf("round %d: %+v", round, s)
			}
		}
		if busy := run.Stats().Stages[1].Busy; busy > 1e-6 {
			t.Errorf("years of waiting count as work: %v", busy)
		}
	})
}
