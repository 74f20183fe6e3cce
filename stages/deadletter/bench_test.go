package deadletter

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/weirflow/weir/stages"
)

// benchmark runs for both formats, with a letter of 1000 bytes.
func benchmark(b *testing.B, run func(b *testing.B, path string, l stages.Letter)) {
	l := pinned()[1]
	l.Payload = bytes.Repeat([]byte{1}, 1000)
	for _, name := range []string{"letters.jsonl", "letters.msgpack"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, filepath.Join(b.TempDir(), name), l)
		})
	}
}

// BenchmarkWrite is without a Sync, which costs what the disk costs.
func BenchmarkWrite(b *testing.B) {
	benchmark(b, func(b *testing.B, path string, l stages.Letter) {
		w, err := File(path).OpenLetters(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close()
		for b.Loop() {
			if err := w.Write(b.Context(), l); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRead is per letter.
func BenchmarkRead(b *testing.B) {
	benchmark(b, func(b *testing.B, path string, l stages.Letter) {
		f := formatOf(path, maxLetterBytes)
		one, err := f.append(nil, l)
		if err != nil {
			b.Fatal(err)
		}
		file := bytes.Repeat(one, b.N)
		b.ResetTimer()
		n := 0
		f.read(bytes.NewReader(file), func(_ stages.Letter, err error) bool { n++; return err == nil })
		if n != b.N {
			b.Fatal(n)
		}
	})
}

// BenchmarkOpen opens a file of 10000 letters.
func BenchmarkOpen(b *testing.B) {
	benchmark(b, func(b *testing.B, path string, l stages.Letter) {
		f := formatOf(path, maxLetterBytes)
		one, err := f.append(nil, l)
		if err != nil {
			b.Fatal(err)
		}
		file := bytes.NewReader(bytes.Repeat(one, 10_000))
		for b.Loop() {
			if end, _, err := f.end(b.Context(), file, file.Size()); err != nil || end != file.Size() {
				b.Fatal(end, err)
			}
		}
	})
}
