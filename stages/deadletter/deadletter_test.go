package deadletter_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
)

// formats are names of files, one for each format.
func formats(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range []string{"letters.jsonl", "letters.msgpack"} {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

func letter(n int) stages.Letter {
	return stages.Letter{
		Pipeline: "thumbnails", Stage: "decode", Item: stages.ID{Source: "list", Epoch: 1, Index: int64(n), Path: ".3"}, Attempts: 3,
		Time: time.Date(2026, 11, 21, 8, 0, n, 7, time.UTC), Errors: []string{"decode: bad", "bad"}, Codec: "msgpack", Shape: "{Path string; N int}",
		Payload: []byte{0, 1, '\n', 255},
	}
}

// odd are letters that a format may easily get wrong.
func odd() []stages.Letter {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	letters := []stages.Letter{
		{},
		letter(0),
		{Payload: []byte{}, Errors: []string{}},
		{Payload: all, Errors: []string{string(all), "", "\xff", "\ufffd", "\u2028<>&\"\\\n\x00", strings.Repeat("x", 70_000)}},
		{Pipeline: "\xfe", Stage: "\xfd", Codec: "\xfc", Shape: "\xf9", Item: stages.ID{Source: "\xfb", Path: "\xfa", Epoch: -1, Index: -1 << 63}, Attempts: -1},
		{Item: stages.ID{Index: 1<<63 - 1}, Attempts: 1<<31 - 1, Payload: make([]byte, 300_000)},
		{Payload: []byte("{\"letter\":1,}\n\x94\xa7letter1")},
	}
	for _, at := range []time.Time{
		time.Unix(0, 999_999_999), time.Unix(-1, 1), time.Date(12_345, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(1890, 1, 1, 0, 0, 0, 5, time.FixedZone("LMT", 53*60+28)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("far", -14*3600)),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)), time.Now(),
	} {
		letters = append(letters, stages.Letter{Time: at})
	}
	return letters
}

func open(t *testing.T, path string) stages.LetterWriter {
	t.Helper()
	w, err := deadletter.File(path).OpenLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func write(t *testing.T, w stages.LetterWriter, letters ...stages.Letter) {
	t.Helper()
	for _, l := range letters {
		if err := w.Write(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

func closed(t *testing.T, w stages.LetterWriter) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// fileOf returns the bytes of a file with these letters.
func fileOf(t *testing.T, name string, letters ...stages.Letter) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w := open(t, path)
	write(t, w, letters...)
	closed(t, w)
	return contents(t, path)
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// read returns the letters of a file, and the errors.
func read(path string) (letters []stages.Letter, errs []error) {
	for l, err := range deadletter.Read(path) {
		if err != nil {
			errs = append(errs, err)
		} else {
			letters = append(letters, l)
		}
	}
	return letters, errs
}

// same compares letters, of which the times are to be the same instants, in UTC.
func same(t *testing.T, got, want []stages.Letter) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d letters, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if !g.Time.Equal(w.Time) || g.Time.Location() != time.UTC {
			t.Errorf("letter %d: time %v, want %v", i, g.Time, w.Time)
		}
		g.Time, w.Time = time.Time{}, time.Time{}
		if !reflect.DeepEqual(g, w) {
			t.Errorf("letter %d:\n%+v\nwant\n%+v", i, g, w)
		}
	}
}

func check(t *testing.T, path string, want ...stages.Letter) {
	t.Helper()
	got, errs := read(path)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	same(t, got, want)
}

func TestALetterComesBackAsItWas(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path, letters := filepath.Join(t.TempDir(), name), odd()
		w := open(t, path)
		write(t, w, letters...)
		closed(t, w)
		check(t, path, letters...)
	})
}

func TestAFileIsAppendedTo(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		for n := range 3 {
			w := open(t, path)
			write(t, w, letter(n))
			closed(t, w)
		}
		check(t, path, letter(0), letter(1), letter(2))
	})
}

func TestAFileIsForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letters.jsonl")
	open(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestEqualPathsAreEqualSinks(t *testing.T) {
	if deadletter.File("a") != deadletter.File("a") || deadletter.File("a") == deadletter.File("b") {
		t.Error("a sink is not its path")
	}
}

func TestReadCanBeRangedOverAgainAndLeftEarly(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		w := open(t, path)
		write(t, w, letter(0), letter(1))
		letters := deadletter.Read(path)
		for range 2 {
			for l, err := range letters {
				if err != nil || l.Item.Index != 0 {
					t.Fatal(l, err)
				}
				break
			}
		}
		write(t, w, letter(2))
		n := 0
		for range letters {
			n++
		}
		if n != 3 {
			t.Errorf("%d letters, want 3", n)
		}
	})
}

func TestAFileIsReadWhileItIsWritten(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		w := open(t, path)
		var want []stages.Letter
		for n := range 5 {
			check(t, path, want...)
			write(t, w, letter(n))
			want = append(want, letter(n))
		}
	})
}

func TestALoopThatWritesToTheFileItReadsEnds(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		w := open(t, path)
		for n := range 3 {
			write(t, w, letter(n))
		}
		n := 0
		for l, err := range deadletter.Read(path) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n > 3 {
				t.Fatal("it meets what it has written itself")
			}
			write(t, w, l)
		}
		check(t, path, letter(0), letter(1), letter(2), letter(0), letter(1), letter(2))
	})
}

func TestAFileWithoutPermissionIsNamed(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("this user may do anything, or has no number (Windows)")
	}
	formats(t, func(t *testing.T, name string) {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		put(t, path, nil)
		if err := errors.Join(os.Chmod(path, 0o400), os.Chmod(dir, 0o500)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) }) // or the directory could not be removed
		for _, p := range []string{path, filepath.Join(dir, "new-"+name)} {
			if _, err := deadletter.File(p).OpenLetters(t.Context()); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), p) {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestAFileHasOneWriterAtATime(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		w := open(t, path)
		write(t, w, letter(0))
		link := filepath.Join(dir, "link-"+name)
		if err := os.Symlink(path, link); err != nil {
			t.Skip(err)
		}
		for _, second := range []string{path, link} {
			if _, err := deadletter.File(second).OpenLetters(t.Context()); err == nil || !strings.Contains(err.Error(), second+" is in use") {
				t.Errorf("a second opening: %v", err)
			}
		}
		write(t, w, letter(1))
		closed(t, w)
		closed(t, w) // a second time does nothing
		w = open(t, path)
		write(t, w, letter(2))
		check(t, path, letter(0), letter(1), letter(2))
	})
}

func TestAClosedWriterWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letters.jsonl")
	w := open(t, path)
	closed(t, w)
	if err := w.Write(t.Context(), letter(0)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if err := w.Sync(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("sync: %v", err)
	}
	check(t, path)
}

func TestAPathThatCannotBeWrittenIsNamed(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	put(t, plain, nil)
	for name, tt := range map[string]struct{ path, want string }{
		"no path":              {"", "path of their file is empty"},
		"no directory":         {filepath.Join(dir, "no", "letters.jsonl"), "its directory must exist"},
		"a directory":          {dir, "is a directory"},
		"a file as directory":  {filepath.Join(plain, "letters.jsonl"), "letters.jsonl: "},
		"a device":             {os.DevNull, "is not a regular file"},
		"a name with a zero":   {filepath.Join(dir, "a\x00b"), "invalid"},
		"a name that is long":  {filepath.Join(dir, strings.Repeat("x", 4000)), "xxx: "},
		"a directory, slashed": {dir + "/sub/", "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := deadletter.File(tt.path).OpenLetters(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), strings.TrimSuffix(tt.path, "/sub/")) {
				t.Errorf("%v\nwant an error with %q and the path", err, tt.want)
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestThePathMayBeRelativeAndLeadThroughLinks(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		dir := t.TempDir()
		for _, sub := range []string{"a", "b", "b/c"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(dir, "b", "c"), filepath.Join(dir, "a", "link")); err != nil {
			t.Skip(err)
		}
		t.Chdir(filepath.Join(dir, "a"))
		w := open(t, "link/../"+name) // which is not ./name
		write(t, w, letter(0))
		t.Chdir(dir)
		write(t, w, letter(1))
		closed(t, w)
		check(t, filepath.Join("b", name), letter(0), letter(1))
	})
}

func TestReadNamesAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "letters.jsonl"), filepath.Join(dir, "letters.msgpack"), dir} {
		letters, errs := read(path)
		if len(letters) != 0 || len(errs) != 1 || !strings.Contains(errs[0].Error(), path) {
			t.Errorf("%s: %v, %v", path, letters, errs)
		}
		if path != dir && !errors.Is(errs[0], os.ErrNotExist) {
			t.Errorf("%s: %v", path, errs)
		}
	}
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		put(t, path, fileOf(t, name, letter(0)))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.ErrNoProgress)
		if _, err := deadletter.File(path).OpenLetters(ctx); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%v", err)
		}
	})
}

func TestAFileThatIsReplacedOrChangedFails(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		for what, change := range map[string]func(path string) error{
			"removed": os.Remove,
			"moved":   func(path string) error { return os.Rename(path, path+".old") },
			"replaced": func(path string) error {
				return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
			},
			"emptied": func(path string) error { return os.Truncate(path, 0) },
			"longer":  func(path string) error { return os.Truncate(path, 10_000) },
		} {
			t.Run(what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), name)
				w := open(t, path)
				write(t, w, letter(0))
				if err := change(path); err != nil {
					t.Skip(err) // Windows
				}
				err := w.Write(t.Context(), letter(1))
				if err == nil {
					err = w.Sync()
				}
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("a letter that nobody will find is handed over: %v", err)
				}
			})
		}
	})
}
