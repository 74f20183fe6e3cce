package payload

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/wire"
)

// ErrMalformed says that a payload is none of a value of its type.
var ErrMalformed = errors.New("payload: malformed")

// A Source is the reading end of an arena.
type Source interface {
	View(wire.Block) ([]byte, error)
	Release(wire.Block) error
}

// An Unpacker is what a session needs to make values of payloads.
type Unpacker struct {
	codec codecs.Codec
	arena Source // nil: there is none

	dropped, lost, refused atomic.Int64
}

// NewUnpacker returns an Unpacker. arena is nil if there is none.
func NewUnpacker(c codecs.Codec, arena Source) *Unpacker { return &Unpacker{codec: c, arena: arena} }

// Dropped returns how many views were never looked at and never released: the garbage collector has given their blocks back.
func (u *Unpacker) Dropped() int64 { return u.dropped.Load() }

// Lost returns how many views were looked at and never released: there is less shared memory by their blocks.
func (u *Unpacker) Lost() int64 { return u.lost.Load() }

// Unpack makes *into, which is the zero value, of a payload. It keeps nothing of p.Bytes. It may run user code, which may
// panic. With an error *into is undefined.
func (f *Form[T]) Unpack(u *Unpacker, p wire.Payload, into *T) error {
	if len(p.Blocks) == 0 && f.kind != view && f.kind != bulk {
		if f.kind != bulkPointer {
			return u.codec.Decode(p.Bytes, into)
		}
		if len(p.Bytes) != 0 {
			return f.malformed("a head of %d bytes without a block", len(p.Bytes))
		}
		return nil
	}
	if len(p.Blocks) != 1 {
		return f.malformed("%d blocks, want 1", len(p.Blocks))
	}
	head, block := p.Bytes, p.Blocks[0]
	inline := block.Generation == 0
	if inline {
		if block.Offset != 0 || block.Length > uint64(len(head)) {
			return f.malformed("a block of %d bytes in a message of %d", block.Length, len(head))
		}
		head = head[:uint64(len(head))-block.Length]
	} else if u.arena == nil {
		return f.malformed("a block of shared memory, of which there is none")
	}
	if f.kind != bulk && f.kind != bulkPointer && len(head) != 0 {
		return f.malformed("a head of %d bytes, want none", len(head))
	}
	if f.kind == view && !inline {
		b, err := u.arena.View(block)
		if err != nil {
			return err
		}
		*(*Ref)(unsafe.Pointer(into)) = u.lend(b, block)
		return nil
	}
	private, err := u.private(p, block)
	if err != nil {
		return err
	}
	switch f.kind {
	case plain:
		return u.codec.Decode(private, into)
	case numbers:
		return f.fill(into, private)
	case bulk:
		return f.join(f.asBulk(into), head, private)
	case bulkPointer:
		fresh := reflect.New(f.rtype.Elem())
		reflect.ValueOf(into).Elem().Set(fresh.Convert(f.rtype))
		return f.join(f.asBulk(into), head, private)
	case view:
		*(*Ref)(unsafe.Pointer(into)) = NewRef(private)
	}
	return nil
}

func (f *Form[T]) join(b codecs.Bulk, head, block []byte) error {
	if err := b.Join(owned(head), block); err != nil {
		return fmt.Errorf("decode %s: %w", f.rtype, err)
	}
	return nil
}

// private returns a copy of the block of p, and gives the block back.
func (u *Unpacker) private(p wire.Payload, block wire.Block) ([]byte, error) {
	if block.Generation == 0 {
		return owned(p.Bytes[uint64(len(p.Bytes))-block.Length:]), nil
	}
	b, err := u.arena.View(block)
	if err != nil {
		return nil, err
	}
	defer u.giveBack(block)
	return owned(b), nil
}

// owned returns a copy of b without spare room, never nil.
func owned(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return slices.Clip(bytes.Clone(b))
}

// Discard gives back the blocks of a payload of which no value will be made.
func (u *Unpacker) Discard(p wire.Payload) error {
	for _, b := range p.Blocks {
		if b.Generation == 0 {
			continue
		}
		if u.arena == nil {
			return fmt.Errorf("%w: a block of shared memory, of which there is none", ErrMalformed)
		}
		if _, err := u.arena.View(b); err != nil {
			return err
		}
		u.giveBack(b)
	}
	return nil
}

// giveBack releases a block that is out.
func (u *Unpacker) giveBack(b wire.Block) {
	if err := u.arena.Release(b); err != nil {
		u.refused.Add(1) // nobody but us releases: the tests look
	}
}

func (f *Form[T]) malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrMalformed, f.rtype, fmt.Sprintf(format, args...))
}
