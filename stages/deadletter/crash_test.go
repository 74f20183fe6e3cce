package deadletter_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
)

func TestACrashAtAnyByteOfALetterCostsOnlyThatLetter(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		for _, before := range [][]stages.Letter{nil, {letter(0), letter(1)}} {
			start := len(fileOf(t, name, before...))
			last := letter(2)
			last.Errors = []string{"with \x00 and \xff", "\u2028"}
			whole := fileOf(t, name, append(before[:len(before):len(before)], last)...)
			for n := start + 1; n < len(whole); n++ {
				for _, zeros := range []int{0, 5000} { // as file systems show what was not written yet
					torn := append(bytes.Clone(whole[:n]), make([]byte, zeros)...)
					put(t, path, torn)
					got, errs := read(path)
					want := before
					if filepath.Ext(name) == ".jsonl" && n == len(whole)-1 {
						want = append(before[:len(before):len(before)], last) // only the end of its line is missing
						if len(errs) > 0 {
							t.Fatalf("%d of %d bytes: %v", n, len(whole), errs)
						}
					} else if zeros == 0 || len(errs) > 0 && !strings.Contains(errs[0].Error(), "checksum") {
						if len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) || !strings.Contains(errs[0].Error(), path) {
							t.Fatalf("%d of %d bytes and %d zeros: %v", n, len(whole), zeros, errs)
						}
					} else {
						continue // it is as long as it should be: damage, of which Read speaks
					}
					same(t, got, want)
					if zeros > 0 && n%8 > 0 {
						continue // each opening waits for the disk
					}
					w := open(t, path)
					write(t, w, letter(3))
					closed(t, w)
					check(t, path, append(want[:len(want):len(want)], letter(3))...)
				}
			}
		}
	})
}

func TestZerosBehindTheLastLetterAreCutOff(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		for _, zeros := range []int{1, 23, 24, 25, 4096, 100_000} {
			put(t, path, append(fileOf(t, name, letter(0)), make([]byte, zeros)...))
			if got, errs := read(path); len(got) != 1 || len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) {
				t.Errorf("%d zeros: %d letters, %v", zeros, len(got), errs)
			}
			w := open(t, path)
			write(t, w, letter(1))
			closed(t, w)
			check(t, path, letter(0), letter(1))
		}
	})
}

func TestAFileThatHoldsSomethingElseIsRefusedUntouched(t *testing.T) {
	contentsOf := map[string][]byte{
		"text":             []byte("to be or not to be\n"),
		"text in a line":   []byte("to be or not to be"),
		"an empty line":    []byte("\n"),
		"spaces":           []byte("  "),
		"JSON":             []byte(`{"pipeline":"p"}` + "\n"),
		"JSON in a line":   []byte(`{"pipeline":"p"}`),
		"other letters":    []byte(`{"letter":2,"stage":"s"}` + "\n"),
		"a version ahead":  []byte(`{"letter":1,"colour":"red"}` + "\n"),
		"the start of one": []byte(`{"letter":2,"stage"`),
		"zeros":            make([]byte, 100_000),
		"a zero":           {0},
		"a brace too many": []byte(`{"letter":1}}`),
		"no JSON":          []byte(`{"letter":1,}`),
		"two in a line":    []byte(`{"letter":1}{"letter":1}` + "\n"),
		"msgpack":          {0x94, 1, 2, 3, 4},
		"not UTF-8":        []byte("{\"letter\":1,\"stage\":\"\xff\"}\n"),
		"a long line":      bytes.Repeat([]byte("x"), 300_000),
	}
	formats(t, func(t *testing.T, name string) {
		other := map[string]string{"letters.jsonl": "letters.msgpack", "letters.msgpack": "letters.jsonl"}[name]
		contentsOf["the other format"] = fileOf(t, other, letter(0))
		for what, b := range contentsOf {
			t.Run(what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), name)
				put(t, path, b)
				_, err := deadletter.File(path).OpenLetters(t.Context())
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "does not hold dead letters") {
					t.Errorf("opened: %v", err)
				}
				if !bytes.Equal(contents(t, path), b) {
					t.Error("it was changed")
				}
				if letters, errs := read(path); len(letters) != 0 || len(errs) == 0 && string(b) != "\n" {
					t.Errorf("read: %v, %v", letters, errs)
				}
			})
		}
	})
}

func TestWhatFollowsTheLettersIsNotCutUnlessItIsTheBeginningOfOne(t *testing.T) {
	for name, more := range map[string][]string{
		"letters.jsonl":   {"# notes", `{"note":1`, `{"letter":1,"stage":"s"}}`, `{"letter":1,"stage":x`, "\x00\x00x"},
		"letters.msgpack": {"# notes", "\x00\x00x", strings.Repeat("\x00", 30) + "x", "\x94\xa7letter2", strings.Repeat("x", 50)},
	} {
		for _, m := range more {
			t.Run(fmt.Sprintf("%s %.10q", name, m), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), name)
				b := append(fileOf(t, name, letter(0)), m...)
				put(t, path, b)
				if _, err := deadletter.File(path).OpenLetters(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("opened: %v", err)
				}
				if !bytes.Equal(contents(t, path), b) {
					t.Error("it was changed")
				}
				got, errs := read(path)
				same(t, got, []stages.Letter{letter(0)})
				if len(errs) != 1 || errors.Is(errs[0], io.ErrUnexpectedEOF) {
					t.Errorf("read: %v", errs)
				}
			})
		}
	}
}

// A bit that turns over must cost one letter, or be noticed when the file is opened: nothing behind it may be cut off.
func TestDamageIsNamedAndNeverTakenForACrash(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		first := len(fileOf(t, name, letter(0)))
		whole := fileOf(t, name, letter(0), letter(1), letter(2))
		second := len(fileOf(t, name, letter(0), letter(1)))
		for at := first; at < second; at++ {
			for bit := range 8 {
				hurt := bytes.Clone(whole)
				hurt[at] ^= 1 << bit
				put(t, path, hurt)
				got, errs := read(path)
				if len(got) == 0 || got[0].Item != letter(0).Item {
					t.Fatalf("byte %d, bit %d: the letter before is lost", at, bit)
				}
				for _, err := range errs {
					place := map[string]string{"letters.jsonl": "line 2", "letters.msgpack": fmt.Sprintf("offset %d", first)}[name]
					if errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), place) && at != second-1 {
						// A line that turned into two has damage in both.
						if !strings.Contains(err.Error(), "line 3") {
							t.Fatalf("byte %d, bit %d: %v", at, bit, err)
						}
					}
				}
				if name == "letters.msgpack" && len(errs) == 0 {
					t.Fatalf("byte %d, bit %d: nobody has noticed", at, bit)
				}
				w, err := deadletter.File(path).OpenLetters(t.Context())
				if err != nil {
					if !bytes.Equal(contents(t, path), hurt) {
						t.Fatalf("byte %d, bit %d: refused, and changed", at, bit)
					}
					continue
				}
				closed(t, w)
				if !bytes.HasPrefix(contents(t, path), hurt) {
					t.Fatalf("byte %d, bit %d: something was cut off", at, bit)
				}
			}
		}
	})
}

func TestALoopGoesOnBehindDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letters.jsonl")
	one := fileOf(t, "letters.jsonl", letter(0))
	put(t, path, bytes.Join([][]byte{one, []byte("damage\n"), one, []byte("\n \r\n"), one}, nil))
	got, errs := read(path)
	same(t, got, []stages.Letter{letter(0), letter(0), letter(0)})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), path+": line 2: ") {
		t.Errorf("%v", errs)
	}

	path = filepath.Join(t.TempDir(), "letters.msgpack")
	one = fileOf(t, "letters.msgpack", letter(0))
	hurt := bytes.Clone(one)
	hurt[len(hurt)-1]++
	put(t, path, bytes.Join([][]byte{one, hurt, one}, nil))
	got, errs = read(path)
	same(t, got, []stages.Letter{letter(0), letter(0)})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), fmt.Sprintf("%s: offset %d: ", path, len(one))) {
		t.Errorf("%v", errs)
	}
}

func TestALastLineThatSomebodyLeftOpenIsEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letters.jsonl")
	put(t, path, bytes.TrimSuffix(fileOf(t, "letters.jsonl", letter(0)), []byte("\n")))
	w := open(t, path)
	write(t, w, letter(1))
	closed(t, w)
	check(t, path, letter(0), letter(1))
}
