package msgpack

import (
	"bytes"
	"testing"

	wire "github.com/vmihailenco/msgpack/v5"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/codectest"
)

func conformSamples() []any {
	return []any{
		manyThings(), everything{}, aRow(), []row{aRow(), {}}, word("w"), map[word]word{"a": "b"}, []word{"", "x"}, packed{1, 2}, &packed{},
		map[packed]packed{{1, 2}: {3, 4}}, tensor{data: []byte("x")}, []*tensor{nil, {}}, map[string]tensor{"t": {dims: []uint32{1, 2}}}, [2]packed{},
	}
}

func TestCodec(t *testing.T) { codectest.Run(t, new(Codec), conformSamples()...) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, new(Codec), conformSamples()...) }

func TestSteadyStateAllocations(t *testing.T) {
	var c Codec
	v := any(aRow())
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(200, func() { dst, _ = c.Append(dst[:0], v) }); n > 0.5 {
		t.Errorf("append of a struct allocates %v times, want 0", n)
	}
	var into row
	if n := testing.AllocsPerRun(200, func() { _ = c.Decode(dst, &into) }); n > 2.5 {
		t.Errorf("decode of a struct allocates %v times, want 2, for its string and its bytes", n)
	}
}

func TestDecodeWantsAPointer(t *testing.T) {
	var c Codec
	for _, into := range []any{nil, 1, row{}, (*row)(nil)} {
		if err := c.Decode([]byte{0xc0}, into); err == nil {
			t.Errorf("decode into %T works", into)
		}
	}
}

func TestDecodeOverwrites(t *testing.T) {
	var c Codec
	src, err := c.Append(nil, row{ID: 1, Data: []byte("new")})
	if err != nil {
		t.Fatal(err)
	}
	old := []byte("old bytes")
	into := row{ID: 9, Key: "old", Label: 9, Score: 9, Data: old}
	if err := c.Decode(src, &into); err != nil || into.Key != "" || into.Label != 0 || string(into.Data) != "new" {
		t.Errorf("%+v, %v", into, err)
	}
	if string(old) != "old bytes" {
		t.Errorf("decode wrote into a slice that was there before: %q", old)
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, bm := range []struct {
		name   string
		v      any
		values int
	}{
		{"row", aRow(), 6},
		{"rows64", make64(aRow()), 1 + 64*6},
		{"ints1000", make([]int64, 1000), 1001},
		{"MiB", make([]byte, 1<<20), 1},
	} {
		b.Run(bm.name, func(b *testing.B) {
			src, err := new(Codec).Append(nil, bm.v)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if err := validate(src, bm.values); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bm.values), "ns/value")
		})
	}
}

func make64(r row) []row {
	rows := make([]row, 64)
	for i := range rows {
		rows[i] = r
	}
	return rows
}

func BenchmarkAppend(b *testing.B) {
	for name, v := range map[string]any{"row": aRow(), "rows64": make64(aRow()), "map": map[string]int{"a": 1, "b": 2, "c": 3}} {
		b.Run(name, func(b *testing.B) {
			var c Codec
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = c.Append(dst[:0], v); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	b.Run("row", func(b *testing.B) { benchDecode[row](b, aRow()) })
	b.Run("rows64", func(b *testing.B) { benchDecode[[]row](b, make64(aRow())) })
	b.Run("map", func(b *testing.B) { benchDecode[map[string]int](b, map[string]int{"a": 1, "b": 2, "c": 3}) })
}

func benchDecode[T any](b *testing.B, v T) {
	var c Codec
	src, err := c.Append(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		var into T
		if err := c.Decode(src, &into); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkType is the way of an item through a link: boxed where it comes from and where it arrives.
func BenchmarkType(b *testing.B) {
	var c Codec
	typ := codecs.Of[row]()
	v := aRow()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = c.Append(dst[:0], v); err != nil {
			b.Fatal(err)
		}
		if _, err := typ.Decode(&c, dst); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLibrary is the baseline: the library alone, with its own mapping and without a validator, writing the same
// bytes into a buffer that is used again.
func BenchmarkLibrary(b *testing.B) {
	v := aRow()
	var buf bytes.Buffer
	enc := wire.NewEncoder(&buf)
	enc.UseArrayEncodedStructs(true)
	enc.UseCompactInts(true)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf.Reset()
			if err := enc.Encode(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
	src, err := new(Codec).Append(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var into row
			if err := wire.Unmarshal(src, &into); err != nil {
				b.Fatal(err)
			}
		}
	})
}
