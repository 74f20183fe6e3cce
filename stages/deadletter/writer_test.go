package deadletter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weirflow/weir/stages"
)

// A faulty disk is a real file with faults.
type faulty struct {
	*locked
	room        int64 // bytes that the file may have; 0 means any
	cannotCut   error
	cannotSync  error
	cannotClose error
}

func (f *faulty) WriteAt(b []byte, at int64) (int, error) {
	if room := f.room - at; f.room > 0 && room < int64(len(b)) {
		n, _ := f.locked.WriteAt(b[:max(0, room)], at)
		return n, &os.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC}
	}
	return f.locked.WriteAt(b, at)
}

func (f *faulty) Truncate(size int64) error {
	if f.cannotCut != nil {
		return f.cannotCut
	}
	return f.locked.Truncate(size)
}

func (f *faulty) Sync() error {
	err := f.cannotSync
	f.cannotSync = nil // as the kernel has it: an error is told once
	if err != nil {
		return err
	}
	return f.locked.Sync()
}

func (f *faulty) Close() error { return errors.Join(f.cannotClose, f.locked.Close()) }

// onFaulty runs a test for each format, with a writer that has written two letters of about 200 bytes.
func onFaulty(t *testing.T, test func(t *testing.T, w *writer, f *faulty)) {
	for _, name := range []string{"letters.jsonl", "letters.msgpack"} {
		t.Run(name, func(t *testing.T) {
			l, err := openFile(filepath.Join(t.TempDir(), name))
			if err != nil {
				t.Fatal(err)
			}
			f := &faulty{locked: l}
			w, err := newWriter(t.Context(), l.path, f, formatOf(l.path, 1000))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			for n := range 2 {
				if err := errors.Join(w.Write(t.Context(), numbered(n)), w.Sync()); err != nil {
					t.Fatal(err)
				}
			}
			test(t, w, f)
		})
	}
}

func numbered(n int) stages.Letter {
	return stages.Letter{Item: stages.ID{Source: "list", Index: int64(n)}, Payload: make([]byte, 150)}
}

// holds checks the numbers of the letters in the file of w, and whether there is a part of one behind them.
func holds(t *testing.T, w *writer, cut bool, want ...int64) {
	t.Helper()
	var got []int64
	for l, err := range Read(w.path) {
		switch {
		case err == nil:
			got = append(got, l.Item.Index)
		case !cut || !errors.Is(err, io.ErrUnexpectedEOF):
			t.Error(err)
		default:
			cut = false
		}
	}
	if cut {
		t.Error("no letter is cut short")
	}
	if len(got) != len(want) {
		t.Fatalf("letters %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("letters %v, want %v", got, want)
		}
	}
}

func fails(t *testing.T, w *writer, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || !strings.Contains(got.Error(), w.path) {
		t.Errorf("%v, want %v and the path", got, want)
	}
}

func TestAFullDiskIsAnErrorAndCostsNoOtherLetter(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *writer, f *faulty) {
		for _, room := range []int64{0, 1, 30, 150} {
			f.room = w.end + room
			fails(t, w, w.Write(t.Context(), numbered(2)), syscall.ENOSPC)
			holds(t, w, false, 0, 1)
		}
		f.room = 0 // somebody has made room
		if err := errors.Join(w.Write(t.Context(), numbered(2)), w.Sync()); err != nil {
			t.Fatal(err)
		}
		holds(t, w, false, 0, 1, 2)
	})
}

func TestAPartOfALetterThatCannotBeCutOffIsCutOffLater(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *writer, f *faulty) {
		f.room, f.cannotCut = w.end+100, syscall.EIO
		err := w.Write(t.Context(), numbered(2))
		fails(t, w, err, syscall.ENOSPC)
		fails(t, w, err, syscall.EIO)
		holds(t, w, true, 0, 1)
		fails(t, w, w.Write(t.Context(), numbered(2)), syscall.EIO)
		holds(t, w, true, 0, 1)

		f.room, f.cannotCut = 0, nil
		if err := w.Write(t.Context(), stages.Letter{Item: stages.ID{Index: 3}}); err != nil { // a shorter one
			t.Fatal(err)
		}
		holds(t, w, false, 0, 1, 3)
	})
}

func TestAPartOfALetterThatWasNotCutOffIsCutOffByTheNextOpening(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *writer, f *faulty) {
		f.room, f.cannotCut = w.end+100, syscall.EIO
		fails(t, w, w.Write(t.Context(), numbered(2)), syscall.ENOSPC)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		next, err := File(w.path).OpenLetters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(next.Write(t.Context(), numbered(3)), next.Close()); err != nil {
			t.Fatal(err)
		}
		holds(t, w, false, 0, 1, 3)
	})
}

func TestNothingIsHandedOverAfterASyncThatFailed(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *writer, f *faulty) {
		if err := w.Write(t.Context(), numbered(2)); err != nil {
			t.Fatal(err)
		}
		f.cannotSync = syscall.EIO
		for range 2 {
			fails(t, w, w.Sync(), syscall.EIO)
			fails(t, w, w.Write(t.Context(), numbered(3)), syscall.EIO)
		}
		holds(t, w, false, 0, 1, 2)
	})
}

func TestARepairThatFailsFailsTheOpening(t *testing.T) {
	for what, hurt := range map[string]func(f *faulty){
		"cut":  func(f *faulty) { f.cannotCut = syscall.EIO },
		"sync": func(f *faulty) { f.cannotSync = syscall.EIO },
	} {
		t.Run(what, func(t *testing.T) {
			onFaulty(t, func(t *testing.T, w *writer, f *faulty) {
				if err := f.locked.Truncate(w.end - 10); err != nil {
					t.Fatal(err)
				}
				hurt(f)
				_, err := newWriter(t.Context(), w.path, f, w.format)
				fails(t, w, err, syscall.EIO)
			})
		})
	}
}

func TestALetterThatIsTooLongIsRefused(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *writer, f *faulty) {
		fails(t, w, w.Write(t.Context(), stages.Letter{Payload: make([]byte, 1000)}), errLong)
		if err := w.Write(t.Context(), numbered(2)); err != nil {
			t.Fatal(err)
		}
		holds(t, w, false, 0, 1, 2)
	})
}

func TestALineThatIsTooLongIsPassedOver(t *testing.T) {
	f := lines{200_000} // longer than the buffer
	good, err := f.append(nil, numbered(7))
	if err != nil {
		t.Fatal(err)
	}
	long := bytes.Repeat([]byte("x"), 200_001)
	var got []string
	f.read(io.MultiReader(bytes.NewReader(good), bytes.NewReader(long), strings.NewReader("\n"), bytes.NewReader(good), bytes.NewReader(long)),
		func(l stages.Letter, err error) bool {
			got = append(got, fmt.Sprint(l.Item.Index, err))
			return true
		})
	want := []string{"7 <nil>", "0 line 2: " + errLong.Error(), "7 <nil>", "0 line 4: " + errLong.Error()}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if _, _, err := f.end(t.Context(), bytes.NewReader(append(good, long...)), int64(len(good)+len(long))); !errors.Is(err, errLong) {
		t.Errorf("the end: %v", err)
	}
}

func TestAnErrorOfCloseIsTold(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *writer, f *faulty) {
		f.cannotClose = syscall.EDQUOT
		fails(t, w, w.Close(), syscall.EDQUOT)
	})
}
