package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

var sup *supervisor.Supervisor // set by TestMain

func TestMain(m *testing.M) {
	sup = supervisor.Main(loader)
	os.Exit(m.Run())
}

func TestJSONIsAnArrayOfFourLoadsWithTheseKeys(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no child processes")
	}
	var stdout, stderr bytes.Buffer
	if status := command(t.Context(), sup, []string{"-steps", "20", "-workers", "1", "-json"}, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	var all []row
	in := json.NewDecoder(bytes.NewReader(stdout.Bytes()))
	in.DisallowUnknownFields()
	if err := in.Decode(&all); err != nil {
		t.Fatalf("%s: %v", &stdout, err)
	}
	if _, err := in.Token(); err != io.EOF {
		t.Errorf("there is more behind the array: %s", &stdout)
	}
	var loads []string
	for _, r := range all {
		loads = append(loads, r.Load)
		if r.Steps != 20 || r.P50 < 400 || r.P99 < r.P50 || r.Total < 20*r.P50/2e6 || r.CPU <= 0 || r.Load == "none" && r.Rate != 0 {
			t.Errorf("%+v", r)
		}
	}
	if want := []string{"none", "inprocess", "subprocess", "subprocess-nice"}; !slices.Equal(loads, want) {
		t.Errorf("loads %q, want %q", loads, want)
	}
	keys := []string{"load", "steps", "step_p50_us", "step_p99_us", "total_seconds", "items_per_second", "cpu_seconds"}
	var raw []map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &raw); err != nil {
		t.Fatal(err)
	}
	for _, object := range raw {
		for _, key := range keys {
			if _, ok := object[key]; !ok || len(object) != len(keys) {
				t.Errorf("keys of %v, want %q", object, keys)
			}
		}
	}
}

func TestTheTableHasALineForEachLoadAndSaysWhatItMeans(t *testing.T) {
	var b strings.Builder
	all := []row{
		{"none", 10, 500, 900, 1, 0, 0.5}, {"inprocess", 10, 20_000, 57_000, 13, 54, 12},
		{"subprocess", 10, 510, 950, 1.05, 57, 2}, {"subprocess-nice", 10, 505, 940, 1.01, 37, 2},
	}
	if err := report(&b, all, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"      inprocess        20000        57000    13.00     13.00       54  12.00", "13.0 times as long", "1.05 times as long, and 1.01 times", "57 and 37 items/s instead of 54"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, &b)
		}
	}
}

func TestMistakesInTheCommandLineAreOneLine(t *testing.T) {
	for _, args := range [][]string{{"-steps", "0"}, {"-workers", "0"}, {"-workers", "1e9"}, {"fast"}, {"-moon"}} {
		var stdout, stderr bytes.Buffer
		if status := command(t.Context(), sup, args, &stdout, &stderr); status != 2 || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: status %d, %q, %q", args, status, &stdout, &stderr)
		}
	}
}

// The source never ends, so no test can collect all; where the loader can be is all that is asked.
func TestTheLoaderCanBeAnywhere(t *testing.T) {
	small, n := loader.With(Config{Workers: 2, BlockBytes: 32 << 10}), 0
	for name, at := range supervisortest.Placements(t, sup, small) {
		n++
		run, err := supervisor.Deploy(t.Context(), sup, small, at)
		if err != nil {
			t.Fatal(name, err)
		}
		for range 3 {
			if _, err := run.Next(t.Context()); err != nil {
				t.Error(name, err)
			}
		}
		if err := run.Stop(); err != nil {
			t.Error(name, err)
		}
	}
	if n < 3 {
		t.Errorf("%d placements", n)
	}
}
