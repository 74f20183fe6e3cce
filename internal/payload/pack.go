package payload

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/wire"
)

// ErrFull says that a value is too large for a message, and that there is no room for it in the arena now. There is when
// everything was released.
var ErrFull = errors.New("payload: no room in shared memory, and too large to go without")

// A Target is the writing end of an arena.
type Target interface {
	Put(b []byte) (wire.Block, bool)
	Size() uint64
}

// A Packer is what a session needs to make payloads. It has one owner, though anybody may ask it for Inline.
type Packer struct {
	codec codecs.Codec
	byPtr pointerCodec // the codec, if it is one
	arena Target       // nil: there is none
	buf   []byte       // what payloads have in messages
	most  int          // bytes of a payload in a message: MaxInline
	full  atomic.Int64
}

// NewPacker returns a Packer. arena is nil if there is none.
func NewPacker(c codecs.Codec, arena Target) *Packer {
	byPtr, _ := c.(pointerCodec)
	return &Packer{codec: c, byPtr: byPtr, arena: arena, most: MaxInline}
}

// A pointerCodec is a codec that can encode what a pointer points to: no value must be put into an interface, which allocates.
type pointerCodec interface {
	AppendPointer(dst []byte, p any) ([]byte, error)
}

// Reset says that all payloads made so far have been copied into messages: the buffer that they lie in is used again.
func (p *Packer) Reset() {
	if p.buf = p.buf[:0]; cap(p.buf) > 4<<20 {
		p.buf = nil
	}
}

// Inline returns how many blocks of Threshold or more have gone in messages because there was no room for them in the
// arena.
func (p *Packer) Inline() int64 { return p.full.Load() }

// Pack makes a payload of *v, which it does not change. What is in it is valid until Reset, and must not be written to. It may
// run user code.
func (f *Form[T]) Pack(p *Packer, v *T) (wire.Payload, error) {
	switch f.kind {
	case numbers:
		if b, ok := f.block(v); ok && len(b) >= Threshold {
			return p.parts(nil, b)
		}
	case bulk, bulkPointer:
		b := f.asBulk(v)
		if b == nil {
			return wire.Payload{}, nil
		}
		head, block, err := b.Split()
		if err != nil {
			return wire.Payload{}, fmt.Errorf("encode %s: %w", f.rtype, err)
		}
		return p.parts(head, block)
	case view:
		var made wire.Payload
		err := (*Ref)(unsafe.Pointer(v)).pinned(func(b []byte) (err error) {
			made, err = p.parts(nil, b)
			return err
		})
		return made, err
	}
	start := len(p.buf)
	out, err := p.buf, error(nil)
	if p.byPtr != nil {
		out, err = p.byPtr.AppendPointer(out, v)
	} else {
		out, err = p.codec.Append(out, *v)
	}
	if err != nil {
		return wire.Payload{}, err
	}
	return p.encoded(start, out)
}

// Lent returns *v if it is a view of a block in shared memory, else the zero Ref.
func (f *Form[T]) Lent(v *T) (r Ref) {
	if f.kind == view {
		if r = *(*Ref)(unsafe.Pointer(v)); r.held == nil || r.held.loan == nil {
			return Ref{}
		}
	}
	return r
}

// leaveBytes is the size of a buffer that Leave begins. What does not fit makes it grow.
const leaveBytes = 64 << 10

// Leave is called instead of Reset where payloads are sent one by one, and later: those made so far keep the memory that they lie
// in, and others follow them there as long as there is room.
func (p *Packer) Leave() {
	if len(p.buf) > leaveBytes/2 {
		p.buf = make([]byte, 0, leaveBytes)
	}
}

// parts makes a payload of a head and a block.
func (p *Packer) parts(head, block []byte) (wire.Payload, error) {
	if len(head) > p.most {
		return wire.Payload{}, fmt.Errorf("%w: a head of %d bytes, more than %d", codecs.ErrTooLarge, len(head), p.most)
	}
	if len(block) >= Threshold && p.arena != nil {
		if at, ok := p.arena.Put(block); ok {
			return wire.Payload{Bytes: head, Blocks: []wire.Block{at}}, nil
		}
		p.full.Add(1)
	}
	if n := len(head) + len(block); n > p.most {
		return wire.Payload{}, p.tooLarge(len(block))
	}
	start := len(p.buf)
	p.buf = append(append(p.buf, head...), block...)
	return wire.Payload{Bytes: p.since(start), Blocks: []wire.Block{{Length: uint64(len(block))}}}, nil
}

// encoded makes a payload of what the codec has appended to the buffer, from start on.
func (p *Packer) encoded(start int, out []byte) (wire.Payload, error) {
	if p.buf = out; len(out)-start <= p.most {
		return wire.Payload{Bytes: p.since(start)}, nil
	}
	defer func() { p.buf = out[:start] }()
	if p.arena != nil {
		if at, ok := p.arena.Put(out[start:]); ok {
			return wire.Payload{Blocks: []wire.Block{at}}, nil
		}
	}
	return wire.Payload{}, p.tooLarge(len(out) - start)
}

// since returns what was written to the buffer from start on. It stays as it is when the buffer grows.
func (p *Packer) since(start int) []byte { return p.buf[start:len(p.buf):len(p.buf)] }

func (p *Packer) tooLarge(n int) error {
	switch {
	case p.arena == nil:
		return fmt.Errorf("%w: %d bytes, more than %d", codecs.ErrTooLarge, n, p.most)
	case uint64(n) <= p.arena.Size():
		return fmt.Errorf("%w: %d bytes", ErrFull, n)
	}
	return fmt.Errorf("%w: %d bytes, more than %d and than the %d of shared memory", codecs.ErrTooLarge, n, p.most, p.arena.Size())
}
