package arena

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weirflow/weir/internal/wire"
)

// leftovers returns how many mappings and descriptors of arenas this process has.
func leftovers(t *testing.T) (mappings, descriptors int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Contains(to, "memfd:weir-arena") {
			descriptors++
		}
	}
	return strings.Count(string(maps), "memfd:weir-arena"), descriptors
}

func checkNothingIsLeft(t *testing.T) {
	t.Helper()
	if mappings, descriptors := leftovers(t); mappings != 0 || descriptors != 0 {
		t.Errorf("left over: %d mappings, %d descriptors", mappings, descriptors)
	}
}

// pair returns both ends of an arena, in one process.
func pair(t testing.TB, size uint64) (*Writer, *Reader) {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Cleanup(func() { checkNothingIsLeft(t) })
	}
	w, err := NewWriter(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	r, err := OpenReader(w.File(), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return w, r
}

func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i)*7
	}
	return b
}

func TestABlockIsReadAsItWasWritten(t *testing.T) {
	theirs, err := NewReader(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	into, err := OpenWriter(theirs.File(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	w, r := pair(t, 1<<20)
	for _, tt := range []struct {
		name string
		w    *Writer
		r    *Reader
	}{{"from the program to its child", w, r}, {"from the child to the program", into, theirs}} {
		t.Run(tt.name, func(t *testing.T) {
			want := pattern(100_000, 3)
			copied, ok := tt.w.Put(want)
			if !ok {
				t.Fatal("no room")
			}
			buf, built, ok := tt.w.Alloc(len(want))
			if !ok || len(buf) != len(want) || cap(buf) != len(want) {
				t.Fatalf("got %d of %d bytes, %v", len(buf), cap(buf), ok)
			}
			copy(buf, want)
			tt.w.Done()
			for _, b := range []wire.Block{copied, built} {
				got, err := tt.r.View(b)
				if err != nil || !bytes.Equal(got, want) || cap(got) != len(want) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			}
			told := 0
			tt.r.Notify(func() { told++ })
			for _, b := range []wire.Block{built, copied} {
				if err := tt.r.Release(b); err != nil {
					t.Error(err)
				}
			}
			back := tt.r.Returned(nil)
			if len(back) != 2 || told != 1 || len(tt.r.Returned(nil)) != 0 {
				t.Errorf("returned %v, told %d times", back, told)
			}
			for _, b := range back {
				if err := tt.w.Free(b); err != nil {
					t.Error(err)
				}
			}
			if u := tt.w.Usage(); u != (Usage{}) {
				t.Errorf("still out: %+v", u)
			}
		})
	}
}

func TestWhoWaitsForNothingIsToldThatItIsFull(t *testing.T) {
	w, _ := pair(t, 64<<10)
	var out []wire.Block
	for b, ok := w.Put(make([]byte, 16<<10)); ok; b, ok = w.Put(make([]byte, 16<<10)) {
		out = append(out, b)
	}
	if u := w.Usage(); len(out) != 4 || u != (Usage{Blocks: 4, Bytes: 64 << 10, Full: 1}) {
		t.Fatalf("%d blocks, %+v", len(out), u)
	}
	if err := w.Free(out[2]); err != nil {
		t.Fatal(err)
	}
	if b, ok := w.Put(make([]byte, 16<<10)); !ok || b.Offset != out[2].Offset {
		t.Errorf("got %v, %v", b, ok)
	}
	if _, ok := w.Put(make([]byte, 64<<10+1)); ok {
		t.Error("a payload larger than the arena has found room")
	}
	if buf, _, ok := w.Alloc(-1); ok {
		t.Errorf("got %d bytes", len(buf))
	}
}

func TestAReaderRefusesWhatIsNotTrueOfABlock(t *testing.T) {
	const size = 1 << 20
	w, r := pair(t, size)
	out, _ := w.Put(make([]byte, 8192))
	if _, err := r.View(out); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		block wire.Block
		want  error
	}{
		{"behind the end", wire.Block{Offset: size, Length: 1, Generation: 1}, ErrOutside},
		{"over the end", wire.Block{Offset: size - 4096, Length: 4097, Generation: 1}, ErrOutside},
		{"far away", wire.Block{Offset: math.MaxUint64 - 4095, Length: 4096, Generation: 1}, ErrOutside},
		{"a length that overflows", wire.Block{Offset: 4096, Length: math.MaxUint64 - 4095, Generation: 1}, ErrOutside},
		{"no length", wire.Block{Offset: 4096, Generation: 1}, ErrOutside},
		{"between two places", wire.Block{Offset: 100, Length: 10, Generation: 1}, ErrOutside},
		{"of no generation", wire.Block{Offset: 4096, Length: 10}, ErrOutside},
		{"sent twice", out, ErrTaken},
		{"of another generation than the one shown", wire.Block{Length: 8192, Generation: 7}, ErrTaken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if b, err := r.View(tt.block); !errors.Is(err, tt.want) || b != nil {
				t.Errorf("got %d bytes, %v; want %v", len(b), err, tt.want)
			}
		})
	}
	if err := r.Release(wire.Block{Offset: 4096, Length: 1, Generation: 1}); !errors.Is(err, ErrNotOut) {
		t.Errorf("never shown: %v", err)
	}
	if err := r.Release(wire.Block{Length: 8192, Generation: 7}); !errors.Is(err, ErrStale) {
		t.Errorf("another generation: %v", err)
	}
	if err := r.Release(out); err != nil {
		t.Error(err)
	}
	if err := r.Release(out); !errors.Is(err, ErrNotOut) {
		t.Errorf("twice: %v", err)
	}
	if u := r.Usage(); u != (Usage{}) {
		t.Errorf("still shown: %+v", u)
	}
}

// What the one process does with the file cannot hurt the other.
func TestNobodyCanChangeAnArenaBehindItsWriter(t *testing.T) {
	const size = 1 << 20
	w, r := pair(t, size)
	into, err := NewReader(size)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	block, _ := w.Put(pattern(8192, 1))
	for _, tt := range []struct {
		name string
		f    *os.File
		do   func(fd int) error
	}{
		{"truncate ours", w.File(), func(fd int) error { return unix.Ftruncate(fd, 0) }},
		{"truncate theirs", into.File(), func(fd int) error { return unix.Ftruncate(fd, 4096) }},
		{"grow ours", w.File(), func(fd int) error { return unix.Fallocate(fd, 0, 0, 2*size) }},
		{"grow theirs", into.File(), func(fd int) error { return unix.Ftruncate(fd, 2*size) }},
		{"write", w.File(), func(fd int) error { _, err := unix.Pwrite(fd, []byte("x"), 0); return err }},
		{"punch a hole", w.File(), func(fd int) error {
			return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096)
		}},
		{"map it to write to it", w.File(), func(fd int) error {
			_, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		}},
		{"add seals", into.File(), func(fd int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := control(tt.f, tt.do); !errors.Is(err, unix.EPERM) {
				t.Errorf("got %v, want EPERM", err)
			}
		})
	}
	if got, err := r.View(block); err != nil || !bytes.Equal(got, pattern(8192, 1)) {
		t.Errorf("changed: %v", err)
	}
	if err := r.Release(block); err != nil {
		t.Error(err)
	}
}

// A child can take the pages out of the arena that it fills: they read as zeros then.
func TestAHoleReadsAsZeros(t *testing.T) {
	r, err := NewReader(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := OpenWriter(r.File(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	block, _ := w.Put(pattern(8192, 1))
	got, err := r.View(block)
	if err != nil {
		t.Fatal(err)
	}
	err = control(r.File(), func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20)
	})
	if err != nil || !bytes.Equal(got, make([]byte, 8192)) {
		t.Errorf("got %x..., %v", got[:8], err)
	}
	if err := r.Release(block); err != nil {
		t.Error(err)
	}
}

func TestAFileIsRefusedThatIsNotWhatItIsSaidToBe(t *testing.T) {
	memory := func(seals int) *os.File {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "memory")
		t.Cleanup(func() { _ = f.Close() })
		if err := f.Truncate(1 << 20); err != nil {
			t.Fatal(err)
		}
		if err := seal(f, seals); seals != 0 && err != nil {
			t.Fatal(err)
		}
		return f
	}
	plain, err := os.Create(filepath.Join(t.TempDir(), "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	reader := func(f *os.File, bytes uint64) error { _, err := OpenReader(f, bytes); return err }
	writer := func(f *os.File, bytes uint64) error { _, err := OpenWriter(f, bytes); return err }
	for _, tt := range []struct {
		name string
		open func(*os.File, uint64) error
		f    *os.File
		size uint64
		want error
	}{
		{"no seals", reader, memory(0), 1 << 20, ErrSeals},
		{"no seals, to write to", writer, memory(0), 1 << 20, ErrSeals},
		{"it can shrink", reader, memory(unix.F_SEAL_GROW | ours), 1 << 20, ErrSeals},
		{"others can write", reader, memory(fixed), 1 << 20, ErrSeals},
		{"a plain file", reader, plain, 1 << 20, ErrSeals},
		{"shorter than was said", reader, memory(fixed | ours), 2 << 20, ErrSize},
		{"longer than was said", writer, memory(fixed), 1 << 19, ErrSize},
		{"of no size", writer, memory(fixed), 0, ErrSize},
		{"of a size that overflows", reader, memory(fixed | ours), math.MaxUint64, ErrSize},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.open(tt.f, tt.size); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	for _, n := range []uint64{0, granule - 1, math.MaxUint64} {
		if _, err := NewWriter(n); !errors.Is(err, ErrSize) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	checkNothingIsLeft(t)
}

func TestWhatIsShownOutlivesTheSession(t *testing.T) {
	w, r := pair(t, 1<<20)
	block, _ := w.Put(pattern(20_000, 9))
	got, err := r.View(block)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Close()
	w.Close()
	r.Close()
	if mappings, descriptors := leftovers(t); mappings != 1 || descriptors != 0 {
		t.Errorf("%d mappings, %d descriptors", mappings, descriptors)
	}
	if !bytes.Equal(got, pattern(20_000, 9)) {
		t.Error("changed")
	}
	if _, err := r.View(wire.Block{Offset: 8192, Length: 1, Generation: 9}); !errors.Is(err, ErrClosed) {
		t.Errorf("view: %v", err)
	}
	if b, ok := w.Put([]byte("x")); ok {
		t.Errorf("put: %v", b)
	}
	if err := r.Release(block); err != nil {
		t.Error(err)
	}
	if back := r.Returned(nil); len(back) != 0 {
		t.Errorf("%v are to be told of, to nobody", back)
	}
	checkNothingIsLeft(t)
}

func TestAWriterIsUnmappedWhenNobodyWritesAnyMore(t *testing.T) {
	w, r := pair(t, 1<<20)
	buf, _, ok := w.Alloc(8192)
	if !ok {
		t.Fatal("no room")
	}
	w.Close()
	r.Close()
	copy(buf, pattern(8192, 1))
	w.Done()
	checkNothingIsLeft(t)
}

func TestNothingIsLeftOfManySessions(t *testing.T) {
	for i := range 500 {
		w, err := NewWriter(64 << 10)
		if err != nil {
			t.Fatal(err)
		}
		r, err := OpenReader(w.File(), 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := w.Put(pattern(1000, byte(i)))
		if got, err := r.View(block); err != nil || !bytes.Equal(got, pattern(1000, byte(i))) {
			t.Fatal(err)
		}
		if i%2 == 0 { // else the block is still out
			if err := errors.Join(r.Release(block), w.Free(block)); err != nil {
				t.Fatal(err)
			}
			w.Close()
			r.Close()
			continue
		}
		r.Close()
		w.Close()
		if err := r.Release(block); err != nil {
			t.Fatal(err)
		}
	}
	checkNothingIsLeft(t)
}

func TestManyUseAnArenaAtOnce(t *testing.T) {
	w, r := pair(t, 256<<10)
	sent := make(chan wire.Block, 64)
	var writers, readers sync.WaitGroup
	for n := range 3 {
		writers.Go(func() {
			for i := range 300 {
				if b, ok := w.Put(pattern(1000+5000*n, byte(i))); ok {
					sent <- b
				}
			}
		})
		readers.Go(func() {
			for b := range sent {
				got, err := r.View(b)
				if err != nil || !bytes.Equal(got, pattern(len(got), got[0])) {
					t.Errorf("%v: %v", b, err)
				}
				if err := r.Release(b); err != nil {
					t.Error(err)
				}
				for _, b := range r.Returned(nil) {
					if err := w.Free(b); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writers.Wait()
	close(sent)
	readers.Wait()
	if out, shown := w.Usage(), r.Usage(); out.Blocks != 0 || out.Bytes != 0 || shown != (Usage{}) {
		t.Errorf("still out: %+v, %+v", out, shown)
	}
}
