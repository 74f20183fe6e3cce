package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFailedFilesAreNamedWithTheirCauses(t *testing.T) {
	dir := t.TempDir()
	good, bad := writeGoodImages(t, dir), writeBadImages(t, dir)
	text := execute(t, "-dir", dir, "-skip-errors", "100")
	object := execute(t, "-dir", dir, "-skip-errors", "100", "-json")
	if text.status != 0 || object.status != 0 {
		t.Fatalf("status %d and %d, want 0", text.status, object.status)
	}
	if text.stderr != "" {
		t.Errorf("standard error %q, want nothing", text.stderr)
	}
	if s := object.summary(t); s.Delivered != int64(good) || s.Failed != int64(bad) {
		t.Errorf("delivered %d, failed %d, want %d and %d", s.Delivered, s.Failed, good, bad)
	}
	for where, out := range map[string]string{"summary": text.stdout, "standard error beside the object": object.stderr} {
		if n := strings.Count(out, "failed: "); n != bad {
			t.Errorf("%s: %d failures, want %d:\n%s", where, n, bad, out)
		}
		for name, b := range badImages() {
			if want := "failed: " + filepath.Join(dir, filepath.FromSlash(name)) + ": " + b.cause; !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", where, want, out)
			}
		}
	}
}

func TestFailuresAreToleratedUpToTheBudgetAndNoFurther(t *testing.T) {
	dir := t.TempDir()
	good, bad := writeGoodImages(t, dir), writeBadImages(t, dir)
	writeUnreadableImage(t, dir, "unreadable.png")
	bad++ // reading and decoding share the budget
	for _, tt := range []struct {
		name   string
		args   []string
		epochs int
		words  []string // nil when the run succeeds
	}{
		{"exactly as many as may fail", []string{"-skip-errors", itoa(bad)}, 1, nil},
		{"one more than may fail", []string{"-skip-errors", itoa(bad - 1)}, 1, []string{"more than 7 images failed, the last: " + dir}},
		{"one more than may fail, one at a time", []string{"-skip-errors", itoa(bad - 1), "-workers", "1"}, 1, []string{"more than 7 images failed, the last: " + dir}},
		{"one more than may fail, in order, by many workers", []string{"-skip-errors", itoa(bad - 1), "-workers", "16", "-ordered"}, 1, []string{"more than 7 images failed"}},
		{"as many as may fail in two epochs", []string{"-epochs", "2", "-skip-errors", itoa(2 * bad)}, 2, nil},
		{"one more in the second epoch", []string{"-epochs", "2", "-skip-errors", itoa(2*bad - 1)}, 2, []string{"more than 15 images failed"}},
		{"none may fail in a folder of one's own", nil, 1, []string{": "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := execute(t, append([]string{"-dir", dir, "-json"}, tt.args...)...)
			if tt.words != nil {
				r.failsWith(t, 1, tt.words...)
				return
			}
			if s := r.summary(t); r.status != 0 || s.Failed != int64(bad*tt.epochs) || s.Delivered != int64(good*tt.epochs) {
				t.Errorf("status %d, %d failed, %d delivered, want 0, %d and %d", r.status, s.Failed, s.Delivered, bad*tt.epochs, good*tt.epochs)
			}
		})
	}
}

func TestAFolderThatCannotBeReadFailsTheRunWhateverTheBudget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	execute(t, "-dir", dir).failsWith(t, 1, dir)
	execute(t, "-dir", dir, "-skip-errors", "5", "-json").failsWith(t, 1, dir)

	locked := t.TempDir()
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadDir(locked); err == nil {
		t.Skip("this user may read every folder")
	}
	execute(t, "-dir", locked).failsWith(t, 1, locked)
}

func TestAFolderWithoutImagesIsACleanEnd(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "README.txt", []byte("no image"))
	writeFile(t, dir, "x.jpg/y.txt", []byte("no image"))
	s := executeJSON(t, "-dir", dir, "-epochs", "3")
	if s.Yielded != 0 || s.Delivered != 0 || s.Failed != 0 || s.Batches != 0 || s.Rate != 0 || s.Mean != nil || s.Std != nil {
		t.Errorf("%+v, want zeros and no mean", s)
	}
	if r := execute(t, "-dir", dir); r.status != 0 || !strings.Contains(r.stdout, "no images, no mean\n") {
		t.Errorf("status %d, %q", r.status, r.stdout)
	}
}

func TestARunWithoutAGoodImageHasNoMean(t *testing.T) {
	dir := t.TempDir()
	bad := writeBadImages(t, dir)
	r := execute(t, "-dir", dir, "-skip-errors", itoa(bad), "-json")
	if !strings.Contains(r.stdout, `"mean":null,"std":null,`) {
		t.Errorf("standard output %q", r.stdout)
	}
	if s := r.summary(t); s.Failed != int64(bad) || s.Delivered != 0 || s.Batches != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAFileThatFailsInEveryEpochIsNamedOnce(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "b.png", nil)
	writeFile(t, dir, "a.png", nil)
	r := execute(t, "-dir", dir, "-skip-errors", "6", "-epochs", "3")
	want := "failed: " + filepath.Join(dir, "a.png") + ": file is empty (3 times)\nfailed: " + filepath.Join(dir, "b.png") + ": file is empty (3 times)\n"
	if !strings.HasSuffix(r.stdout, want) {
		t.Errorf("%s\nwant at its end:\n%s", r.stdout, want)
	}
}

func TestManyFailuresAreCountedAndTheLastHundredNamed(t *testing.T) {
	dir := t.TempDir()
	for i := range 130 {
		writeFile(t, dir, itoa(i)+".png", nil)
	}
	r := execute(t, "-dir", dir, "-skip-errors", "130")
	if n := strings.Count(r.stdout, ": file is empty\n"); n != 100 || !strings.Contains(r.stdout, "\nfailed: 30 images before these\n") {
		t.Errorf("%d failures named:\n%s", n, r.stdout)
	}
}

// writeUnreadableImage makes a file that is listed but cannot be read, for root neither.
func writeUnreadableImage(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	writeFile(t, dir, name, []byte("secret"))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	f.Close()
	if runtime.GOOS != "linux" {
		t.Skip("this user may read every file")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self/mem", path); err != nil { // its first page is never mapped
		t.Fatal(err)
	}
}
