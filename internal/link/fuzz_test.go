package link

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/weirflow/weir/internal/wire"
)

// A recorded stream has what is received, one batch at a time, and then ends.
type recorded struct{ batches [][]byte }

func (r *recorded) SendMsg(any) error { return nil }

func (r *recorded) RecvMsg(m any) error {
	if len(r.batches) == 0 {
		return io.EOF
	}
	*m.(*mem.BufferSlice) = mem.BufferSlice{mem.SliceBuffer(r.batches[0])}
	r.batches = r.batches[1:]
	return nil
}

// heard receives everything, and returns how many messages there were and why there are no more.
func heard(r role, batches ...[]byte) (n int, err error) {
	s := newSession(r, &recorded{batches}, func() {}, nil)
	for {
		if _, err := s.Recv(); err != nil {
			return n, err
		}
		n++
	}
}

// FuzzBatches receives two batches as either side: there is no panic, and the end has a reason.
func FuzzBatches(f *testing.F) {
	f.Add(batch(f, validOpen(), &wire.Drain{}, &wire.Ping{}), []byte{})
	f.Add(batch(f, &wire.Ready{Version: 1}), batch(f, &wire.Result{}, &wire.End{Last: 1}))
	f.Add([]byte{255, 255, 255, 255, 1}, []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, r := range []role{coordinator, node} {
			var protocol *ProtocolError
			if _, err := heard(r, a, b); err != io.EOF && !errors.As(err, &protocol) {
				t.Errorf("%s: %v", r, err)
			}
		}
	})
}

func TestEveryBitOfASessionMayFlip(t *testing.T) {
	sent := batch(t, &wire.Ready{Version: 1, Build: "b"}, &wire.Result{Entries: []wire.Entry{{ID: 7, Outputs: []wire.Output{{Path: ".1", Payload: wire.Payload{Bytes: []byte("payload")}}}}}},
		&wire.Log{Text: "text"}, &wire.End{Last: 8})
	if n, err := heard(coordinator, sent); n != 4 || err != io.EOF {
		t.Fatalf("%d messages, %v", n, err)
	}
	for bit := range 8 * len(sent) {
		flipped := append([]byte(nil), sent...)
		flipped[bit/8] ^= 1 << (bit % 8)
		n, err := heard(coordinator, flipped)
		var protocol *ProtocolError
		if n > 4 || err != io.EOF && !errors.As(err, &protocol) {
			t.Errorf("bit %d: %d messages, %v", bit, n, err)
		}
	}
}
