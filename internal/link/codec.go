package link

import (
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// passThrough is a codec that leaves bytes alone: *mem.BufferSlice is sent and received as it is. Anything else is
// protobuf, as the health service speaks it.
type passThrough struct{}

// Name is part of the content type.
func (passThrough) Name() string { return "weir" }

// Marshal hands v over: gRPC frees it when it has been written.
func (passThrough) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*mem.BufferSlice); ok {
		return *m, nil
	}
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

// Unmarshal keeps data beyond the call: whoever receives it frees it.
func (passThrough) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*mem.BufferSlice)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
	}
	data.Ref()
	*m = data
	return nil
}

const (
	newBufferBytes  = 4 << 10   // above gRPC's threshold for giving buffers back
	keptBufferBytes = 256 << 10 // a larger buffer is left to the garbage collector
	keptBuffers     = 4
)

// buffers are those of one session that messages are encoded into. It implements mem.BufferPool.
type buffers struct {
	mu   sync.Mutex
	free []*[]byte // guarded by mu
}

// Get returns an empty buffer, which grows as it is appended to. A session asks for no certain size, and gRPC, which
// would, is not told of this pool.
func (p *buffers) Get(int) *[]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b
	}
	b := make([]byte, 0, newBufferBytes)
	return &b
}

// Put takes a buffer back that has been written.
func (p *buffers) Put(b *[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cap(*b) <= keptBufferBytes && len(p.free) < keptBuffers {
		*b = (*b)[:0]
		p.free = append(p.free, b)
	}
}
