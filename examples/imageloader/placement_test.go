package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// placements are all forms that a flag can have, of those that need nothing but this program.
func placements(t *testing.T) map[string]string {
	dir := t.TempDir()
	writeFile(t, dir, "place.yaml", []byte("regions:\n  - from: load\n    on:\n      pool:\n        size: 2\n        of: subprocess\n"))
	return map[string]string{
		"the whole in a child":         "subprocess",
		"one stage in a child":         "load=subprocess",
		"one stage in two":             "load=2*subprocess?procs=2",
		"the source and what needs it": "list..load=subprocess",
		"a file":                       filepath.Join(dir, "place.yaml"),
	}
}

func TestMeanAndDeviationAreTheSameWhereverTheStagesRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no child processes")
	}
	dir := t.TempDir()
	writeGoodImages(t, dir)
	bad := writeBadImages(t, dir)
	ref := sequential(t, dir)
	for name, at := range placements(t) {
		t.Run(name, func(t *testing.T) {
			s := executeJSON(t, "-dir", dir, "-placement", at, "-batch", "5", "-epochs", "2", "-skip-errors", itoa(2*bad))
			ref.compare(t, s, 2)
			if s.Batches != 6 || s.Placement == "inprocess" {
				t.Errorf("%d batches at %s", s.Batches, s.Placement)
			}
		})
	}
}

func TestTooManyFailuresEndTheRunInAChildToo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no child processes")
	}
	dir := t.TempDir()
	writeGoodImages(t, dir)
	writeFile(t, dir, "broken.png", []byte("no image"))
	for _, at := range []string{"subprocess", "load=subprocess"} {
		execute(t, "-dir", dir, "-placement", at).failsWith(t, 1, "broken.png: image: unknown format")
	}
}

func TestThePlacementIsCheckedAgainstThePipeline(t *testing.T) {
	execute(t, "-dir", t.TempDir(), "-placement", "laod=subprocess").failsWith(t, 1, `"laod"`, "did you mean", "load")
	if r := execute(t, "-h"); !strings.Contains(r.stdout, "load=4*subprocess") {
		t.Errorf("the usage does not say what a placement can be: %s", r.stdout)
	}
}
