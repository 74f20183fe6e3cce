package wire_test

import (
	"testing"

	"github.com/weirflow/weir/internal/wire"
)

const benchItems = 64

// task is items of 100 bytes, as a source that feeds a region sends them.
func task() *wire.Task {
	m := &wire.Task{}
	for i := range benchItems {
		m.Items = append(m.Items, wire.Item{ID: uint64(1000 + i), Identity: wire.Identity{Source: 1, Epoch: 3, Index: int64(5000 + i)}, Payload: wire.Payload{Bytes: make([]byte, 100)}})
	}
	return m
}

func result() *wire.Result {
	m := &wire.Result{}
	for i := range benchItems {
		m.Entries = append(m.Entries, wire.Entry{ID: uint64(1000 + i), Outputs: []wire.Output{{Payload: wire.Payload{Bytes: make([]byte, 100)}}}})
	}
	return m
}

// frame is outputs of a region with a source, and what is done with them.
func frame() *wire.Frame {
	m := &wire.Frame{Seq: 77, Yielded: []wire.Position{{Index: 6000}}, Done: []wire.Span{{From: 5000, To: 5000 + benchItems, Fate: 1}}}
	for i := range benchItems {
		m.Outputs = append(m.Outputs, wire.FrameOutput{Members: []wire.Member{{Index: int64(5000 + i), N: 1}}, Payload: wire.Payload{Bytes: make([]byte, 100)}})
	}
	return m
}

func BenchmarkAppend(b *testing.B) {
	for _, m := range []wire.Message{task(), result(), frame()} {
		b.Run(name(m), func(b *testing.B) {
			buf := wire.Append(nil, m)
			b.ReportAllocs()
			for b.Loop() {
				buf = wire.Append(buf[:0], m)
			}
			perItem(b, len(buf))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, m := range []wire.Message{task(), result(), frame()} {
		b.Run(name(m), func(b *testing.B) {
			buf := wire.Append(nil, m)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Decode(buf); err != nil {
					b.Fatal(err)
				}
			}
			perItem(b, len(buf))
		})
	}
}

func perItem(b *testing.B, size int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchItems, "ns/item")
	b.ReportMetric(float64(size)/benchItems-100, "overhead-B/item")
}
