package arena

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// taken is how many bytes a file of memory takes up.
func taken(t testing.TB, f *os.File) (bytes int64) {
	t.Helper()
	err := control(f, func(fd int) error {
		var is unix.Stat_t
		err := unix.Fstat(fd, &is)
		bytes = is.Blocks * 512
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestAnArenaTakesTheMemoryThatIsUsed(t *testing.T) {
	w, r := pair(t, 64<<20)
	if n := taken(t, w.File()); n > 2<<20 {
		t.Skipf("%d bytes are taken at once: this system cannot do otherwise", n)
	}
	for range 100 { // one after the other: always at the same place
		block, ok := w.Put(make([]byte, 1<<20))
		if !ok {
			t.Fatal("no room")
		}
		if _, err := r.View(block); err != nil {
			t.Fatal(err)
		}
		if err := r.Release(block); err != nil {
			t.Fatal(err)
		}
		if err := w.Free(block); err != nil {
			t.Fatal(err)
		}
	}
	if n := taken(t, w.File()); n > 2<<20 {
		t.Errorf("%d bytes are taken by one block of 1 MiB", n)
	}
	block, ok := w.Put(make([]byte, 40<<20))
	if !ok {
		t.Fatal("no room")
	}
	if b, err := r.View(block); err != nil || len(b) != 40<<20 || b[len(b)-1] != 0 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if n := taken(t, w.File()); n < 40<<20 {
		t.Errorf("%d bytes are taken by 40 MiB", n)
	}
	if err := r.Release(block); err != nil {
		t.Error(err)
	}
}

func BenchmarkMake(b *testing.B) {
	for b.Loop() {
		w, err := NewWriter(64 << 20)
		if err != nil {
			b.Fatal(err)
		}
		r, err := NewReader(64 << 20)
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
		r.Close()
	}
}
