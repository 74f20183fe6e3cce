package deadletter

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
)

var update = flag.Bool("update", false, "write the golden files anew")

// pinned are the letters of the golden files.
func pinned() []stages.Letter {
	return []stages.Letter{
		{},
		{
			Pipeline: "thumbnails", Stage: "decode", Item: stages.ID{Source: "list", Epoch: 1, Index: 1234, Path: ".3"}, Attempts: 3,
			Time: time.Date(2026, 11, 21, 8, 0, 0, 7, time.UTC), Errors: []string{"read <a>: bad", "bad"}, Codec: "msgpack",
			Shape: "{Path string; Pixels []uint8}", Payload: []byte{0, 1, 255},
		},
		{Stage: "\xff", Time: time.Date(12_345, 1, 1, 0, 0, 0, 5, time.UTC), Errors: []string{}, Payload: []byte{}},
	}
}

// TestGolden pins the formats: a file that one release wrote, the next one reads.
func TestGolden(t *testing.T) {
	for _, name := range []string{"letters.jsonl", "letters.msgpack"} {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "golden", name)
			var got []byte
			for _, l := range pinned() {
				b, err := formatOf(name, maxLetterBytes).append(nil, l)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b...)
			}
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the format has changed:\n%s\nwas\n%s", hex.Dump(got), hex.Dump(want))
			}
			var letters []stages.Letter
			for l, err := range Read(golden) {
				if err != nil {
					t.Fatal(err)
				}
				letters = append(letters, l)
			}
			if !reflect.DeepEqual(letters, pinned()) {
				t.Errorf("%+v\nwant\n%+v", letters, pinned())
			}
		})
	}
}

// What reading may allocate in all, garbage included: freeBytes, bytesPerByte for each byte of the file, and bytesPerLetter
// for each letter or error that is yielded.
const (
	freeBytes      = 2 << 20
	bytesPerByte   = 128
	bytesPerLetter = 8 << 10
)

// FuzzRead gives any bytes to both formats. They may neither panic nor take memory out of proportion; each letter that they
// yield is written and read again the same; and opening such a file finds an end at which the next letter can be read.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"letters.jsonl", "letters.msgpack"} {
		golden, err := os.ReadFile(filepath.Join("testdata", "golden", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(golden)
		f.Add(golden[:len(golden)-3])
		f.Add(append(golden, make([]byte, 40)...))
	}
	f.Add([]byte(`{"letter":1,"errors":[` + strings.Repeat(`"",`, 300) + `""]}`))
	f.Add([]byte(`{"letter":1,"time":[` + strings.Repeat(`0,`, 300) + `0]}`))
	f.Add([]byte(`{"letter":1,"errors":` + strings.Repeat(`[`, 500)))
	f.Add([]byte(strings.Repeat("\n", 100)))
	f.Add([]byte(strings.Repeat("{\n", 100)))
	f.Add(framed([]byte("\x9c\xa0\xa0\xa0\x00\x00\xa0\x00\x93\x00\x00\xc0\xdd\x0f\xff\xff\xff\xa0\xc0"), 0))
	f.Add(framed(append([]byte("\x9c\xa0\xa0\xa0\x00\x00\xa0\x00\x93\x00\x00\xc0\xdd\x00\x00\x01\x2c"), bytes.Repeat([]byte{0xa0}, 302)...), 0))
	f.Add(framed(nil, 1<<29))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, as := range []format{lines{maxLetterBytes}, newFrames(maxLetterBytes)} {
			before := allocated()
			var letters []stages.Letter
			yielded := 0
			as.read(bytes.NewReader(b), func(l stages.Letter, err error) bool {
				if yielded++; err == nil {
					letters = append(letters, l)
				}
				return true
			})
			if took := allocated() - before; took > uint64(freeBytes+bytesPerByte*len(b)+bytesPerLetter*yielded) {
				t.Fatalf("%T: %d bytes took %d bytes of memory", as, len(b), took)
			}
			for _, l := range letters {
				again(t, as, l)
			}
			appendable(t, as, b, letters)
		}
	})
}

// framed is a frame around a body of which any length may be said.
func framed(body []byte, length int) []byte {
	f := newFrames(maxLetterBytes)
	b, _ := f.append(nil, stages.Letter{})
	b = append(b[:headBytes], body...)
	if length == 0 {
		length = len(body)
	}
	binary.BigEndian.PutUint32(b[sumAt:], crc32.Checksum(body, f.table))
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(length))
	binary.BigEndian.PutUint32(b[headSumAt:], f.headSum(b))
	return b
}

func again(t *testing.T, as format, l stages.Letter) {
	t.Helper()
	b, err := as.append(nil, l)
	if err != nil {
		t.Fatalf("%T: a letter that was read cannot be written: %v", as, err)
	}
	n := 0
	as.read(bytes.NewReader(b), func(got stages.Letter, err error) bool {
		if n++; err != nil || !got.Time.Equal(l.Time) {
			t.Fatalf("%T: %+v, %v, want %+v", as, got, err, l)
		}
		got.Time = l.Time
		if !reflect.DeepEqual(got, l) {
			t.Fatalf("%T: %+v, want %+v", as, got, l)
		}
		return true
	})
	if n != 1 {
		t.Fatalf("%T: %d letters of one", as, n)
	}
}

// appendable looks for the end of a file: where one is found, all letters that were read lie before it, and one more can be
// read behind it.
func appendable(t *testing.T, as format, b []byte, letters []stages.Letter) {
	t.Helper()
	end, missing, err := as.end(context.Background(), bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return
	}
	more, err := as.append(nil, stages.Letter{Stage: "more"})
	if err != nil {
		t.Fatal(err)
	}
	n, last := 0, stages.Letter{}
	as.read(io.MultiReader(bytes.NewReader(b[:end]), strings.NewReader(missing), bytes.NewReader(more)), func(l stages.Letter, err error) bool {
		if err == nil {
			n, last = n+1, l
		}
		return true
	})
	if n != len(letters)+1 || last.Stage != "more" {
		t.Fatalf("%T: cut from %d to %d bytes: %d letters and one more are %d", as, len(b), end, len(letters), n)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Long files: what is small in the seeds above.
func TestHostileFilesTakeNoMemoryOutOfProportion(t *testing.T) {
	many := append([]byte("\x9c\xa0\xa0\xa0\x00\x00\xa0\x00\x93\x00\x00\xc0\xdd\x00\x0f\x42\x40"), bytes.Repeat([]byte{0xa0}, 1_000_002)...)
	for name, b := range map[string][]byte{
		"errors without end":  []byte(`{"letter":1,"errors":[` + strings.Repeat(`"",`, 1_000_000) + `""]}`),
		"numbers without end": []byte(`{"letter":1,"time":[` + strings.Repeat(`0,`, 1_000_000) + `0]}`),
		"a deep nest":         []byte(`{"letter":1,"errors":` + strings.Repeat(`[`, 1_000_000)),
		"an endless line":     bytes.Repeat([]byte("x"), 4<<20),
		"empty lines":         bytes.Repeat([]byte("\n"), 4<<20),
		"zeros":               append(framed(many, 0), make([]byte, 4<<20)...),
		"errors in a frame":   framed(many, 0),
		"a false length":      framed(many[:20], 1<<30),
		"a false count":       framed([]byte("\x9c\xa0\xa0\xa0\x00\x00\xa0\x00\x93\x00\x00\xc0\xdd\x0f\xff\xff\xff\xa0\xc0"), 0),
	} {
		t.Run(name, func(t *testing.T) {
			for _, as := range []format{lines{maxLetterBytes}, newFrames(maxLetterBytes)} {
				before, yielded := allocated(), 0
				as.read(bytes.NewReader(b), func(stages.Letter, error) bool { yielded++; return true })
				if took := allocated() - before; took > uint64(freeBytes+bytesPerByte*len(b)+bytesPerLetter*yielded) {
					t.Errorf("%T: %d bytes took %d bytes of memory", as, len(b), took)
				}
			}
		})
	}
}
