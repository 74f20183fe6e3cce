package payload_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/wire"
)

// store stands for both ends of an arena. What is released there is overwritten, as it is when somebody else gets the
// place.
type store struct {
	mu   sync.Mutex
	size int // bytes of all blocks that are out at once
	used int
	out  map[uint64][]byte
	next uint64
	seen map[uint64]bool
}

func newStore(size int) *store {
	return &store{size: size, out: map[uint64][]byte{}, seen: map[uint64]bool{}}
}

func (s *store) Size() uint64 { return uint64(s.size) }

func (s *store) Put(b []byte) (wire.Block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+len(b) > s.size {
		return wire.Block{}, false
	}
	s.used += len(b)
	s.next++
	s.out[s.next] = bytes.Clone(b)
	return wire.Block{Offset: s.next, Length: uint64(len(b)), Generation: 1}, true
}

var errNoBlock = errors.New("no such block")

func (s *store) View(b wire.Block) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, ok := s.out[b.Offset]
	if !ok || s.seen[b.Offset] || uint64(len(got)) != b.Length {
		return nil, errNoBlock
	}
	s.seen[b.Offset] = true
	return got, nil
}

func (s *store) Release(b wire.Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, ok := s.out[b.Offset]
	if !ok || !s.seen[b.Offset] {
		return errNoBlock
	}
	for i := range got {
		got[i] = 0xdd
	}
	delete(s.out, b.Offset)
	s.used -= len(got)
	return nil
}

func (s *store) checkEmpty(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out) != 0 || s.used != 0 {
		t.Errorf("%d blocks of %d bytes are still out", len(s.out), s.used)
	}
}

// ends are the two ends of a session.
type ends struct {
	*payload.Packer
	*payload.Unpacker
}

// between returns the ends of a session; arena is nil if there is none.
func between(arena *store) ends {
	c := new(msgpack.Codec)
	if arena == nil {
		return ends{payload.NewPacker(c, nil), payload.NewUnpacker(c, nil)}
	}
	return ends{payload.NewPacker(c, arena), payload.NewUnpacker(c, arena)}
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*i/3 + i)
	}
	return b
}
