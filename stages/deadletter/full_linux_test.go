package deadletter_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirflow/weir/stages/deadletter"
)

// The disk is real here: a file system of 64 KiB in memory. Any user has the injected one of writer_test.go.
func TestAFileSystemThatIsFullIsAnErrorAndCostsNoOtherLetter(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		dir := t.TempDir()
		if err := syscall.Mount("weir-test", dir, "tmpfs", 0, "size=64k"); err != nil {
			t.Skipf("only a privileged user may mount a small disk: %v", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		path := filepath.Join(dir, name)
		w := open(t, path)
		big := letter(0)
		big.Payload = bytes.Repeat([]byte{1}, 10_000)
		want := 0
		for ; ; want++ {
			err := w.Write(t.Context(), big)
			if err == nil {
				if err := w.Sync(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
				t.Fatal(err)
			}
			break
		}
		letters, errs := read(path)
		if len(letters) != want || want == 0 || len(errs) > 0 {
			t.Errorf("%d letters, want %d; %v", len(letters), want, errs)
		}
		closed(t, w)
		if _, err := deadletter.File(filepath.Join(dir, "none", name)).OpenLetters(t.Context()); err == nil {
			t.Error("a directory was made")
		}
	})
}
