package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
	"time"
)

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"of one", []float64{3}, 3},
		{"of an odd number", []float64{9, 1, 5}, 5},
		{"of an even number", []float64{4, 1, 2, 9}, 3},
	} {
		before := slices.Clone(tc.values)
		if got := median(tc.values); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
		if !slices.Equal(tc.values, before) {
			t.Errorf("%s: the values were reordered", tc.name)
		}
	}
}

func TestSpread(t *testing.T) {
	if got := spread([]float64{100, 90, 110}); math.Abs(got-.2) > 1e-9 {
		t.Errorf("spread %v, want 0.2", got)
	}
	if got := spread([]float64{7}); got != 0 {
		t.Errorf("spread %v, want 0", got)
	}
}

func TestPercentile(t *testing.T) {
	var l []time.Duration
	for i := 100; i >= 1; i-- {
		l = append(l, time.Duration(i))
	}
	for p, want := range map[float64]time.Duration{0: 1, .5: 50, .99: 99, 1: 100} {
		if got := percentile(l, p); got != want {
			t.Errorf("p %v is %d, want %d", p, got, want)
		}
	}
	if got := percentile([]time.Duration{5}, .99); got != 5 {
		t.Errorf("p .99 of one value is %d, want 5", got)
	}
}

func samples(ns ...float64) (l []sample) {
	for _, v := range ns {
		l = append(l, sample{ns: v, allocs: v / 100})
	}
	return l
}

func TestThroughputComparesMedians(t *testing.T) {
	r := throughput("a", "weir", samples(30, 20, 40), samples(100, 90, 110))
	want := row{
		Work: "a", Contender: "weir", NsPerItem: 30, AllocsPerItem: .3, Ratio: .3,
		MinNs: 20, MaxNs: 40, MinRatio: 20. / 90, MaxRatio: 40. / 110,
	}
	if got, want := line(t, r), line(t, want); got != want {
		t.Errorf("row %s\nwant %s", got, want)
	}
}

func line(t *testing.T, r row) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRunIsVoid(t *testing.T) {
	for _, tc := range []struct {
		name string
		base []sample
		void bool
	}{
		{"when the channels spread by 20 %", samples(100, 90, 110), true},
		{"but not when by 14 %", samples(100, 93, 107), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows := []row{throughput("a", "weir", samples(1, 5, 9), tc.base), throughput("a", baseline, tc.base, tc.base)}
			var b bytes.Buffer
			header(&b, rows, 3, false)
			first, rest, _ := strings.Cut(b.String(), "\n")
			if want := map[bool]string{true: "void=true", false: "void=false"}[tc.void]; !strings.HasSuffix(first, want) {
				t.Errorf("header %q, want it to end in %s", first, want)
			}
			if loud := strings.HasPrefix(rest, "VOID: "); loud != tc.void {
				t.Errorf("behind the header stands %q", rest)
			}
		})
	}
}

// Programs read the JSON: five fields are in every object, whatever the work.
func TestJSONShape(t *testing.T) {
	var b bytes.Buffer
	rows := []row{{Work: "a", Contender: "weir", NsPerItem: 30, AllocsPerItem: .01, Ratio: .3}, {Work: "idle"}}
	if err := writeJSON(&b, rows); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || len(got) != 2 {
		t.Fatalf("%d objects, want 2 (error %v)", len(got), err)
	}
	want := map[string]any{"work": "a", "contender": "weir", "ns_per_item": 30., "allocs_per_item": .01, "ratio_to_channels": .3}
	if len(got[0]) != len(want) {
		t.Errorf("fields %v, want those of %v", got[0], want)
	}
	for k, v := range want {
		if got[0][k] != v {
			t.Errorf("%s is %v, want %v", k, got[0][k], v)
		}
		if _, ok := got[1][k]; !ok {
			t.Errorf("%s is missing where it is zero", k)
		}
	}
	b.Reset()
	if err := writeJSON(&b, nil); err != nil || strings.TrimSpace(b.String()) != "[]" {
		t.Errorf("no rows are %q, want [] (error %v)", b.String(), err)
	}
}

func TestTablesShowEveryWork(t *testing.T) {
	var rows []row
	for _, w := range workNames() {
		rows = append(rows, row{Work: w, Contender: "weir", Ahead: []int64{1, 2}})
	}
	var b bytes.Buffer
	if err := writeTables(&b, rows); err != nil {
		t.Fatal(err)
	}
	for _, w := range workNames() {
		if !strings.Contains(b.String(), "\n"+w+" ") {
			t.Errorf("work %s is missing:\n%s", w, b.String())
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		err  string
	}{
		{"takes works and contenders", []string{"-works", "a,hop", "-contenders", "weir"}, ""},
		{"refuses a work that is none", []string{"-works", "a,z"}, `unknown work "z"`},
		{"refuses a contender that is none", []string{"-contenders", "rust"}, `unknown contender "rust"`},
		{"refuses no rounds", []string{"-rounds", "-1"}, "-1 rounds"},
		{"refuses what is no flag", []string{"quick"}, `unexpected argument "quick"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse(tc.args, &bytes.Buffer{})
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestQuickCommandOverOneWork(t *testing.T) {
	var out, progress bytes.Buffer
	if err := command(t.Context(), supervisor.New(supervisor.Config{}), []string{"-quick", "-json", "-works", "e", "-rounds", "1"}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	var rows []row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || rows[0].Contender != "weir" || rows[0].Ratio <= 0 || rows[1].Ratio != 1 {
		t.Errorf("rows %+v, want four contenders, measured", rows)
	}
	if !strings.Contains(progress.String(), "benchmarks: go") {
		t.Errorf("no header in %q", progress.String())
	}
}
