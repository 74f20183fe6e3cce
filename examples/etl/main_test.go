package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

// A user's function is a function.
func TestALineBecomesARowOrAnErrorThatNamesIt(t *testing.T) {
	r, err := parse(t.Context(), line{"a.jsonl", 7, []byte(`{"ID": 1, "City": "Cork", "Valid": true}`)})
	if err != nil || r != (Row{1, "Cork", true}) {
		t.Errorf("got %v, %v", r, err)
	}
	_, err = parse(t.Context(), line{"a.jsonl", 7, []byte(`{`)})
	if _, syntax := errors.AsType[*json.SyntaxError](err); !syntax || !strings.HasPrefix(err.Error(), "a.jsonl:7: ") {
		t.Errorf("got %v", err)
	}
}

func TestInsertingTwiceInsertsOnce(t *testing.T) {
	c, err := Config{Table: newTable()}.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 0} {
		if n, err := c.insert(t.Context(), []Row{{ID: 1}, {ID: 2}}); n != want || err != nil {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
}

func TestWhatIsValidIsInTheTableAndTheRestIsAccountedFor(t *testing.T) {
	dir := t.TempDir()
	if err := writeFiles(dir, 4, 500); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: dir, Table: newTable(), Audit: newAudit()}
	stats, err := load(t.Context(), supervisor.New(supervisor.Config{}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(2000) {
		row, there := cfg.Table.rows[id]
		if want := id%100 != 99 && id%10 != 0; there != want || there && row.ID != id {
			t.Errorf("row %d: %v, %v", id, row, there)
		}
	}
	read := 0
	for _, n := range cfg.Audit.Counts() {
		read += n
	}
	if read != 1980 {
		t.Errorf("%d rows audited, want 1980", read)
	}
	for _, s := range stats.Stages {
		if s.Stage == "parse" && (s.In != 2000 || s.Failed != 20 || s.Out != 1980) || s.Stage == "valid" && (s.In != 1980 || s.Filtered != 200) {
			t.Errorf("%+v", s)
		}
	}
	// A file of which a line has failed has failed.
	if stats.Yielded != 4 || stats.Failed != 4 || stats.InFlight != 0 {
		t.Errorf("%+v", stats)
	}
}

// An item of the pipeline is how many rows of a batch were new.
func TestTheItemsAddUpToTheRows(t *testing.T) {
	dir := t.TempDir()
	if err := writeFiles(dir, 2, 1000); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: dir, Table: newTable(), Audit: newAudit()}
	for _, want := range []int{1780, 0} { // the second time there is nothing new
		got, err := supervisortest.Collect(t, supervisor.New(supervisor.Config{}), etl.With(cfg), supervisor.InProcess{})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, n := range got {
			sum += n
		}
		if sum != want || cfg.Table.Len() != 1780 {
			t.Errorf("%d new rows, %d rows, want %d and 1780", sum, cfg.Table.Len(), want)
		}
	}
}

func TestTooManyBrokenLinesFailTheRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.jsonl"), []byte(strings.Repeat("{}\n{\n", 200)), 0o666); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: dir, Table: newTable(), Audit: newAudit()}
	if _, err := load(t.Context(), supervisor.New(supervisor.Config{}), cfg); !errors.Is(err, stages.ErrBudget) || !strings.Contains(err.Error(), "bad.jsonl:") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutArgumentsItLoadsWhatItMakesUp(t *testing.T) {
	var out bytes.Buffer
	if err := command(t.Context(), supervisor.New(supervisor.Config{}), paths{}, &out); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^2670 rows in the table
stage "parse": 30 of 3000 items failed
the last one: stage "parse": item files/0/\d\.\d+ failed: .*\d\d.jsonl:\d+: unexpected end of JSON input
   990 read from Cork
   990 read from Delft
   990 read from Lyon
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("got:\n%s", &out)
	}
}

func TestAnInterruptEndsTheRunWithoutAnError(t *testing.T) {
	interrupt, cancel := context.WithCancel(t.Context())
	cancel()
	if err := command(interrupt, supervisor.New(supervisor.Config{}), paths{}, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}

// A broken line is kept, once, and can be loaded when it is read in another way; until then it fails again.
func TestBrokenLinesAreKeptAndCanBeLoadedAgain(t *testing.T) {
	dir := t.TempDir()
	if err := writeFiles(dir, 1, 300); err != nil {
		t.Fatal(err)
	}
	sup := supervisor.New(supervisor.Config{})
	bad := filepath.Join(dir, "bad.letters")
	cfg := Config{Dir: dir, Bad: bad, Table: newTable(), Audit: newAudit()}
	if _, err := load(t.Context(), sup, cfg); err != nil {
		t.Fatal(err)
	}
	n := 0
	for l, err := range deadletter.Read(bad) {
		if n++; err != nil || l.Stage != "parse" || !strings.Contains(l.Errors[0], "unexpected end") {
			t.Errorf("%+v, %v", l, err)
		}
	}
	if n != 3 {
		t.Errorf("%d letters, want 3", n)
	}
	cfg.Bad = ""
	stats, err := load(t.Context(), sup, cfg, supervisor.Replay(deadletter.Read(bad)))
	if !errors.Is(err, stages.ErrBudget) || stats.Failed != 3 {
		t.Errorf("%v, %+v", err, stats)
	}
	if err := command(t.Context(), sup, paths{again: filepath.Join(dir, "none")}, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// What a run has kept of its lines is not to be a line of the next one.
func TestAPlaceForBrokenLinesThatWouldBeLoadedIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(writeFiles(dir, 1, 100), os.Mkdir(filepath.Join(dir, "below"), 0o777)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	sup := supervisor.New(supervisor.Config{})
	for bad, want := range map[string]bool{
		"bad.letters":                           true,
		"bad.jsonl":                             false,
		"below/bad.jsonl":                       false,
		filepath.Join(dir, "bad.jsonl"):         false,
		filepath.Join(t.TempDir(), "bad.jsonl"): true,
	} {
		err := command(t.Context(), sup, paths{dir: ".", bad: bad}, io.Discard)
		if refused := err != nil && strings.Contains(err.Error(), "would load its letters as data"); refused == want || want && err != nil {
			t.Errorf("%s: got %v", bad, err)
		}
		if _, err := os.Stat(bad); !want && err == nil {
			t.Errorf("%s was made", bad)
		}
	}
}
