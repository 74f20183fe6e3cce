package arena

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

func TestABoxShowsWhatTheOtherProcessHasWritten(t *testing.T) {
	b, err := NewBox(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := OpenBox(b.File(), b.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer unmap(mem)
	if all := b.Contents(); len(all) != 64<<10 || len(bytes.Trim(all, "\x00")) > 0 {
		t.Errorf("%d bytes, not all of them zero", len(all))
	}
	copy(mem[40_000:], "words")
	all := b.Contents()
	copy(mem[40_000:], "later")
	if string(all[40_000:40_005]) != "words" {
		t.Errorf("%q", all[40_000:40_005])
	}
	if err := b.File().Truncate(0); err == nil {
		t.Error("it can be cut while it is looked at")
	}
	if _, err := OpenBox(b.File(), 4096); !errors.Is(err, ErrSize) {
		t.Errorf("another size: %v", err)
	}
	b.Close()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := OpenBox(f, 4096); !errors.Is(err, ErrSeals) {
		t.Errorf("a file: %v", err)
	}
}
