package msgpack

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	wire "github.com/vmihailenco/msgpack/v5"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden pins the encoding: bytes that one release wrote, the next one reads.
func TestGolden(t *testing.T) {
	seven := 7
	p := &seven
	var nothing *int
	for _, tt := range []struct {
		file string
		v    []any
	}{
		{"numbers", []any{0, -1, 127, 128, -33, int64(1) << 40, uint64(1) << 63, uint8(255), float32(0.5), 0.5, 1 + 2i, time.Second}},
		{"text", []any{"", "text", strings.Repeat("x", 32), "\xff"}},
		{"bytes", []any{[]byte(nil), []byte{}, []byte("ab"), [3]byte{1, 2, 3}, bytes.Repeat([]byte{1}, 256)}},
		{"sequences", []any{[]int(nil), []int{}, []int{1, 2}, [2]bool{true, false}, make([]bool, 16)}},
		{"maps", []any{map[string]int(nil), map[string]int{}, map[string]int{"b": 2, "a": 1, "": 0}, map[int]bool{-1: true, 1: false, 300: true}}},
		{"structs", []any{struct{}{}, point{1, 2}, Stamped{time.Unix(1, 2).UTC(), 3}}},
		{"pointers", []any{(*int)(nil), p, &p, &nothing, &linked{&linked{}}}},
		{"times", []any{time.Time{}, time.Unix(1_700_000_000, 5).UTC(), time.Unix(0, 0).In(time.FixedZone("", -12*3600))}},
		{"selfcoded", []any{packed{1, 2}, word("w"), tensor{[]uint32{1}, []byte("b")}}},
		{"everything", []any{manyThings()}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			name := filepath.Join("testdata", "golden", tt.file+".hex")
			var c Codec
			var got strings.Builder
			for _, v := range tt.v {
				src, err := c.Append(nil, v)
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(reflect.TypeOf(v).String() + " " + hex.EncodeToString(src) + "\n")
			}
			if *update {
				if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("the encoding has changed:\n%s\nwas\n%s", got.String(), want)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(want)), "\n") {
				src, err := hex.DecodeString(line[strings.LastIndex(line, " ")+1:])
				if err != nil {
					t.Fatal(err)
				}
				into := reflect.New(reflect.TypeOf(tt.v[i]))
				if err := c.Decode(src, into.Interface()); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		})
	}
}

// TestAnotherImplementationReadsIt: what we write is plain msgpack, and what it writes for types that both hold alike
// is what we write.
func TestAnotherImplementationReadsIt(t *testing.T) {
	var c Codec
	in := aRow()
	src, err := c.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	var out row
	if err := wire.Unmarshal(src, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("got %+v, %v", out, err)
	}
	var buf bytes.Buffer
	enc := wire.NewEncoder(&buf)
	enc.UseArrayEncodedStructs(true)
	enc.UseCompactInts(true)
	if err := enc.Encode(in); err != nil || !bytes.Equal(buf.Bytes(), src) {
		t.Errorf("it writes % x, we % x, %v", buf.Bytes(), src, err)
	}
	all := manyThings()
	all.Keyed = nil // it has no maps with keys that are arrays
	if src, err = c.Append(nil, all); err != nil {
		t.Fatal(err)
	}
	var fields []any
	if err := wire.Unmarshal(src, &fields); err != nil || len(fields) != 26 {
		t.Errorf("got %d fields, %v", len(fields), err)
	}
}

func TestEqualMapsHaveEqualEncodings(t *testing.T) {
	var c Codec
	var first []byte
	for range 20 {
		m := map[string]map[int]string{}
		for _, k := range []string{"c", "a", "b", "abc", "", "d", "e"} {
			m[k] = map[int]string{1: "1", -1: "-1", 1000: k}
		}
		src, err := c.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = src
		}
		if !bytes.Equal(first, src) {
			t.Fatalf("% x\n% x", first, src)
		}
	}
}
