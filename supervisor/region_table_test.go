package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

// elsewheres are where the region of a shape may be besides this process.
func elsewheres() map[string]supervisor.Placement {
	return map[string]supervisor.Placement{
		"child": regionAt("first", "last", supervisor.Subprocess{}),
		"pool":  regionAt("first", "last", supervisor.Pool{Size: 2, Of: supervisor.Subprocess{}}),
	}
}

// anywhere adds to elsewheres where any graph may be.
func anywhere(t *testing.T, s shape) map[string]supervisor.Placement {
	t.Helper()
	all := map[string]supervisor.Placement{}
	for name, at := range elsewheres() {
		all["its region in a "+name] = at
	}
	for _, at := range supervisortest.Placements(t, children, shapes.With(s)) {
		if _, here := at.(supervisor.InProcess); !here {
			all[kindOf(at)] = at
		}
	}
	return all
}

func regionAt(from, to string, on supervisor.Placement) supervisor.Placement {
	return supervisor.Regions{{From: from, To: to, On: on}}
}

// A ran is a run of a shape that has come to its end.
type ran struct {
	out     []cell
	err     error
	stats   supervisor.Stats
	letters []stages.Letter
}

// runShape runs a shape at a placement, and checks what holds for every run.
func runShape(t *testing.T, s shape, at supervisor.Placement, cfg supervisor.Config) (r ran) {
	t.Helper()
	if s.Policy == "letters" {
		s.Letters = filepath.Join(t.TempDir(), "letters.jsonl")
	}
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(supervisor.Event) {} // what children print is not for everybody
	}
	if regions, ok := at.(supervisor.Regions); ok && s.Of == "map" && regions[0].To == "last" {
		at = regionAt("first", "first", regions[0].On)
	}
	run, err := supervisor.Deploy(t.Context(), children.With(cfg), shapes.With(s), at)
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range run.Items(t.Context()) {
		if r.err = err; err == nil {
			r.out = append(r.out, v)
		}
	}
	if err := run.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := run.Wait(t.Context()); err != r.err {
		t.Errorf("the run's error is %v, and that of the loop's last turn %v", err, r.err)
	}
	r.stats = run.Stats()
	checkEnd(t, r.stats, r.err)
	if s.Policy == "letters" {
		for l, err := range deadletter.Read(s.Letters) {
			if err != nil {
				if !os.IsNotExist(err) {
					t.Error(err)
				}
				continue
			}
			r.letters = append(r.letters, l)
		}
	}
	return r
}

// sortedCells returns cells in an order of their own.
func sortedCells(all []cell) []cell {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b cell) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// wantSame wants of a region elsewhere what it gives here.
func wantSame(t *testing.T, s shape, here, there ran) {
	t.Helper()
	if fmt.Sprint(here.err == nil) != fmt.Sprint(there.err == nil) {
		t.Fatalf("here the run ends with %v, there with %v", here.err, there.err)
	}
	if here.err != nil {
		wantSameError(t, here.err, there.err)
		if s.Workers > 1 && !s.Order {
			return // what comes before it is a matter of luck
		}
	}
	want, got := here.out, there.out
	if s.Workers > 1 && !s.Order {
		want, got = sortedCells(want), sortedCells(got)
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("output %d is %v here, %v there", i, want[i], got[i])
		}
	}
	budget := errors.Is(here.err, stages.ErrBudget) // where several are at work, it is a matter of luck which item is one too many
	if len(want) != len(got) && !budget {
		t.Fatalf("%d outputs here, %d there", len(want), len(got))
	}
	if here.err == nil {
		wantSameFailures(t, here, there)
		wantSameCounts(t, here.stats, there.stats)
	}
}

func wantSameError(t *testing.T, here, there error) {
	t.Helper()
	for _, is := range []error{errOdd, stages.ErrBudget, stages.ErrFatal, stages.ErrRetryable, stages.ErrHung, stages.ErrRestarts} {
		if errors.Is(here, is) != errors.Is(there, is) {
			t.Errorf("here the error is %v, there %v: only one of them is %q", here, there, is)
		}
	}
	a, isHere := errors.AsType[*stages.ItemError](here)
	b, isThere := errors.AsType[*stages.ItemError](there)
	switch {
	case isHere != isThere, isHere && (a.Stage != b.Stage || a.Attempts != b.Attempts):
		t.Errorf("here the error is %v, there %v", here, there)
	}
	_, isHere = errors.AsType[*valueError](here)
	_, isThere = errors.AsType[*valueError](there)
	if isHere != isThere {
		t.Errorf("here the error is %v, there %v: only one of them is a valueError", here, there)
	}
}

func wantSameFailures(t *testing.T, here, there ran) {
	t.Helper()
	list := func(r ran) (all []string) {
		for _, f := range r.stats.Failures {
			text, _, _ := strings.Cut(f.Error(), "\n")
			all = append(all, text)
		}
		slices.Sort(all)
		return all
	}
	if a, b := list(here), list(there); !slices.Equal(a, b) {
		t.Errorf("failures here %q\nthere %q", a, b)
	}
	letters := func(r ran) (all []string) {
		for _, l := range r.letters {
			all = append(all, fmt.Sprintf("%s %v %d %s %s %x", l.Stage, l.Item, l.Attempts, l.Codec, l.Shape, l.Payload))
		}
		slices.Sort(all)
		return all
	}
	if a, b := letters(here), letters(there); !slices.Equal(a, b) {
		t.Errorf("letters here %q\nthere %q", a, b)
	}
}

func wantSameCounts(t *testing.T, here, there supervisor.Stats) {
	t.Helper()
	if here.Yielded != there.Yielded || here.Delivered != there.Delivered || here.Filtered != there.Filtered || here.Failed != there.Failed || here.Outputs != there.Outputs {
		t.Errorf("counts here %+v\nthere %+v", here, there)
	}
	for i, a := range here.Stages {
		b := there.Stages[i]
		if a.Stage != b.Stage || a.Kind != b.Kind || a.In != b.In || a.Out != b.Out || a.Filtered != b.Filtered || a.Failed != b.Failed ||
			a.Letters != b.Letters || a.Retries != b.Retries || a.Restarts != b.Restarts {
			t.Errorf("stage %q here %+v\nthere %+v", a.Stage, a, b)
		}
	}
}

// What comes of a graph with a keyed region is the same wherever it is: outputs, names, failures, letters and counts.
func TestAKeyedRegionIsTheSameEverywhere(t *testing.T) {
	cases := map[string]shape{
		"batches of epochs":   {Of: "batches", N: 45, Epochs: 4},
		"no items":            {Of: "maps", N: -1},
		"one item":            {Of: "maps", N: 1, Workers: 3},
		"errors skipped":      {Of: "maps", Fault: "error", Policy: "skip", Budget: 1000},
		"more than budget":    {Of: "maps", Fault: "error", Policy: "skip", Budget: 7},
		"exactly the budget":  {Of: "maps", Fault: "error", Policy: "skip", Budget: 30},
		"a fraction":          {Of: "maps", Fault: "error", Policy: "fraction", Budget: 25},
		"more than fraction":  {Of: "maps", Fault: "error", Policy: "fraction", Budget: 9},
		"letters":             {Of: "maps", Fault: "error", Policy: "letters", Budget: 1000},
		"letters of one":      {Of: "map", Fault: "error", Policy: "letters", Budget: 1000},
		"letters of panics":   {Of: "map", Fault: "panic", Every: 100, Policy: "letters", Budget: 1000},
		"siblings fail":       {Of: "failing siblings", Fault: "error", Every: 4, Policy: "skip", Budget: 1000},
		"a sibling fails it":  {Of: "failing siblings", Fault: "error", Every: 4},
		"letters of siblings": {Of: "failing siblings", Fault: "error", Every: 4, Policy: "letters", Budget: 1000},
		"an error fails":      {Of: "maps", Fault: "error"},
		"fatal":               {Of: "maps", Fault: "fatal", Policy: "skip", Budget: 1000},
		"retried":             {Of: "maps", Fault: "retry"},
		"retried in vain":     {Of: "maps", Fault: "retry in vain", Policy: "skip", Budget: 1000},
		"panics":              {Of: "maps", Fault: "panic", Every: 100, Policy: "skip", Budget: 1000},
		"a panic fails":       {Of: "maps", Fault: "panic", Every: 100},
		"panics once":         {Of: "maps", Fault: "panic once"},
		"goexits":             {Of: "maps", Fault: "goexit", Every: 100, Policy: "skip", Budget: 1000},
		"goexits once":        {Of: "maps", Fault: "goexit once"},
		"timeouts":            {Of: "maps", Fault: "slow", Every: 100, Policy: "skip", Budget: 1000, Timeout: 5 * time.Millisecond},
		"flatmap fails":       {Of: "many", Fault: "error", Policy: "skip", Budget: 1000},
		"faults in a branch":  {Of: "branch", Fault: "error", Policy: "skip", Budget: 1000},
		"faults in a tee":     {Of: "tee", Fault: "error", Policy: "skip", Budget: 1000},
		"faults in a route":   {Of: "route", Fault: "panic", Every: 100, Policy: "letters", Budget: 1000},
	}
	for _, of := range []string{"map", "maps", "filter", "many", "nested", "route", "tee", "branch", "tee branch"} {
		for name, s := range map[string]shape{"1 worker": {}, "4 workers": {Workers: 4}, "4 workers, ordered": {Workers: 4, Order: true}} {
			s.Of = of
			cases[of+", "+name] = s
		}
	}
	for name, s := range cases {
		switch {
		case s.N == 0:
			s.N = 300
		case s.N < 0:
			s.N = 0
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := runShape(t, s, supervisor.InProcess{}, supervisor.Config{})
			been.at("in process")
			for at, elsewhere := range anywhere(t, s) {
				t.Run(at, func(t *testing.T) {
					wantSame(t, s, here, runShape(t, s, elsewhere, supervisor.Config{}))
					been.at(kindOf(elsewhere))
				})
			}
		})
	}
}
