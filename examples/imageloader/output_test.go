package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestJSONIsOneObjectWithTheseKeysInThisOrder(t *testing.T) {
	full, empty := t.TempDir(), t.TempDir()
	writeGoodImages(t, full)
	want := []string{"pipeline", "placement", "yielded", "delivered", "filtered", "failed", "batches", "mean", "std", "seconds", "items_per_second"}
	for name, dir := range map[string]string{"images": full, "no images": empty} {
		t.Run(name, func(t *testing.T) {
			r := execute(t, "-dir", dir, "-json")
			if r.status != 0 || r.stderr != "" {
				t.Errorf("status %d, standard error %q", r.status, r.stderr)
			}
			in := json.NewDecoder(strings.NewReader(r.stdout))
			if got := keys(t, in); !slices.Equal(got, want) {
				t.Errorf("keys %q, want %q", got, want)
			}
			if _, err := in.Token(); err != io.EOF {
				t.Errorf("there is more behind the object: %q", r.stdout)
			}
			s := r.summary(t)
			if s.Pipeline != "imageloader" || s.Placement != "inprocess" || s.Seconds <= 0 {
				t.Errorf("%+v", s)
			}
			if got := float64(s.Delivered) / s.Seconds; got != s.Rate {
				t.Errorf("items_per_second %v, want %v", s.Rate, got)
			}
		})
	}
}

// keys reads one object and returns its keys.
func keys(t *testing.T, in *json.Decoder) (keys []string) {
	t.Helper()
	if tok, err := in.Token(); err != nil || tok != json.Delim('{') {
		t.Fatalf("%v, %v, want an object", tok, err)
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := in.Token(); err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestWithoutATerminalThereAreOnlyPlainLines(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	writeFile(t, dir, "bell \a, escape \x1b[31m and\nline.png", nil)
	r := execute(t, "-dir", dir, "-skip-errors", "1")
	if r.status != 0 || r.stderr != "" {
		t.Fatalf("status %d, standard error %q", r.status, r.stderr)
	}
	for line := range strings.Lines(r.stdout) {
		if text, ended := strings.CutSuffix(line, "\n"); !ended || printable(text) != text || strings.ContainsAny(text, "│─") {
			t.Errorf("not a plain line: %q", line)
		}
	}
	for _, want := range []string{
		"imageloader on inprocess: images 14, batches 1, ", "yielded 15 = delivered 14 + filtered 0 + failed 1\n",
		"mean red 0.", "std  red 0.", "stage list: source, mailbox 1, at inprocess, in 15, out 15, ",
		"stage load: map, mailbox 4, at inprocess, in 15, out 14, filtered 0, failed 1, busy ", "stage batch: batch, mailbox 1, at inprocess, in 14, out 1, ",
		`bell \a, escape \x1b[31m and\nline.png: file is empty`,
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in:\n%s", want, r.stdout)
		}
	}
}

func TestOnATerminalTheStagesAreATable(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	var stdout, stderr bytes.Buffer
	if status := command(t.Context(), context.Background(), sup, []string{"-dir", dir}, terminal{&stdout}, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	for _, want := range []string{"│ STAGE │ KIND   │ MAILBOX │ WHERE     │ IN │ OUT │ FILTERED │ FAILED │ BUSY │\n", "│ load  │ map    │       4 │ inprocess │ 14 │  14 │        0 │      0 │ "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in:\n%s", want, &stdout)
		}
	}
	if strings.Contains(stdout.String(), "\x1b") || strings.Contains(stdout.String(), "stage load:") {
		t.Errorf("colours, or the plain lines too:\n%q", &stdout)
	}
}

func TestAnOutputThatCannotBeWrittenFailsTheRun(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"-dir", dir}, {"-dir", dir, "-json"}} {
		var stderr bytes.Buffer
		status := command(t.Context(), context.Background(), sup, args, full{}, &stderr)
		result{status: status, stderr: stderr.String()}.failsWith(t, 1, "no space left")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestImagesAreDeliveredInTheOrderOfTheirNamesWhenOrdered(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	var names []string
	for batch, err := range itemsOf(t, Config{Dir: dir, Workers: 8, Batch: 3, Epochs: 2, Ordered: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range batch {
			names = append(names, image.Path)
		}
	}
	half := len(names) / 2
	if half != 14 || !slices.IsSorted(names[:half]) || !slices.Equal(names[:half], names[half:]) {
		t.Errorf("order %q", names)
	}
	if _, err := os.Stat(names[0]); err != nil || filepath.Dir(names[0]) != dir {
		t.Errorf("%q is not a file of %s: %v", names[0], dir, err)
	}
}
