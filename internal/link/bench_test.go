//go:build unix

package link_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/wire"
)

const (
	benchItems = 64
	benchBytes = 100
)

// results are what a benchmark's node sends: 64 items of 100 bytes.
func results() *wire.Result {
	payloads := make([][]byte, benchItems)
	for i := range payloads {
		payloads[i] = make([]byte, benchBytes)
	}
	return answer(tasks(0, payloads...))
}

// Results of 64 items of 100 bytes, one way over a socketpair, with a window of 64 messages: ns per item.
func BenchmarkResults(b *testing.B) {
	b.Run("link", func(b *testing.B) {
		here, there := socketpair(b)
		r := results()
		stop := serve(b, link.OneListener(there), link.Config{Local: true, Handle: func(_ context.Context, s *link.Session, _ *wire.Open) {
			if s.Accept(&wire.Ready{}) != nil {
				return
			}
			for {
				m, err := s.Recv()
				if err != nil {
					return
				}
				if l, ok := m.(*wire.Limit); ok {
					for range l.Frames {
						if s.Send(r) != nil {
							return
						}
					}
				}
			}
		}})
		c := dialChild(b, here)
		s := open(b, c)
		b.ReportAllocs()
		for grant, i := 64, 0; b.Loop(); {
			if grant > 0 {
				if err := s.Send(&wire.Limit{Frames: uint64(grant)}); err != nil {
					b.Fatal(err)
				}
				grant = 0
			}
			m, err := s.Recv()
			if err != nil || len(m.(*wire.Result).Entries) != benchItems {
				b.Fatal(err)
			}
			if i++; i%32 == 0 {
				grant = 32
			}
		}
		perItem(b)
		s.Close()
		_ = c.Close()
		stop()
	})
	b.Run("socketpair", func(b *testing.B) {
		here, there := socketpair(b)
		r := results()
		go func() {
			var buf, grant []byte = nil, make([]byte, 8)
			for {
				if _, err := io.ReadFull(there, grant); err != nil {
					return
				}
				for range binary.LittleEndian.Uint64(grant) {
					buf = wire.Append(append(buf[:0], 0, 0, 0, 0), r)
					binary.LittleEndian.PutUint32(buf, uint32(len(buf)-4))
					if _, err := there.Write(buf); err != nil {
						return
					}
				}
			}
		}()
		b.ReportAllocs()
		for grant, i := 64, 0; b.Loop(); {
			if grant > 0 {
				if _, err := here.Write(binary.LittleEndian.AppendUint64(nil, uint64(grant))); err != nil {
					b.Fatal(err)
				}
				grant = 0
			}
			m, err := wire.Decode(readFrame(b, here))
			if err != nil || len(m.(*wire.Result).Entries) != benchItems {
				b.Fatal(err)
			}
			if i++; i%32 == 0 {
				grant = 32
			}
		}
		perItem(b)
		_, _ = here.Close(), there.Close()
	})
}

// A small message there and back.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("link", func(b *testing.B) {
		here, there := socketpair(b)
		stop := serve(b, link.OneListener(there), link.Config{Local: true, Handle: echo})
		c := dialChild(b, here)
		s := open(b, c)
		task := tasks(1, make([]byte, benchBytes))
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Send(task); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Recv(); err != nil {
				b.Fatal(err)
			}
		}
		s.Close()
		_ = c.Close()
		stop()
	})
	b.Run("socketpair", func(b *testing.B) {
		here, there := socketpair(b)
		go func() { _, _ = io.Copy(struct{ io.Writer }{there}, struct{ io.Reader }{there}) }()
		buf := make([]byte, benchBytes)
		for b.Loop() {
			if _, err := here.Write(buf); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(here, buf); err != nil {
				b.Fatal(err)
			}
		}
		_, _ = here.Close(), there.Close()
	})
}

func readFrame(b *testing.B, c net.Conn) []byte {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, binary.LittleEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c, buf); err != nil {
		b.Fatal(err)
	}
	return buf
}

func perItem(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchItems, "ns/item")
}
