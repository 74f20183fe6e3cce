package arena

import (
	"errors"
	"os"
	"sync"

	"github.com/weirflow/weir/internal/wire"
)

// A Reader shows what another process has put into an arena.
type Reader struct {
	file *os.File // nil if the arena was made elsewhere
	size uint64
	m    *mapping

	mu       sync.Mutex
	out      map[uint64]wire.Block // by offset: shown, and not released; guarded by mu
	bytes    uint64                // of those; guarded by mu
	returned []wire.Block          // released, and not told yet; guarded by mu
	notify   func()                // guarded by mu
	closed   bool                  // guarded by mu
}

// NewReader makes an arena of so many bytes, at least 4096, which another process is to fill.
func NewReader(bytes uint64) (*Reader, error) {
	f, err := create(bytes)
	if err != nil {
		return nil, err
	}
	if err := seal(f, sealed); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, err := newReader(f, bytes, true)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.file = f
	return r, nil
}

// OpenReader opens an arena that a NewWriter of another process has made, of so many bytes. f can be closed afterwards.
func OpenReader(f *os.File, bytes uint64) (*Reader, error) {
	if err := check(f, bytes, fixed|ours); err != nil {
		return nil, err
	}
	return newReader(f, bytes, false)
}

func newReader(f *os.File, bytes uint64, made bool) (*Reader, error) {
	m, err := newMapping(f, bytes, false, made)
	if err != nil {
		return nil, err
	}
	return &Reader{size: bytes, m: m, out: map[uint64]wire.Block{}}, nil
}

// File returns what the writing process inherits; nil if the arena was made elsewhere. It belongs to the Reader, but may
// be closed as soon as that process has been started.
func (r *Reader) File() *os.File { return r.file }

// Size returns the bytes of the arena.
func (r *Reader) Size() uint64 { return r.size }

// View shows a block, which cannot be written to here, until its Release. What it shows can still change: the writer
// is another process. The errors are ErrOutside, ErrTaken and ErrClosed, and what the system says if it has no memory for it.
func (r *Reader) View(b wire.Block) ([]byte, error) {
	if b.Generation == 0 || b.Length == 0 || b.Offset%granule != 0 || b.Offset > r.size || b.Length > r.size-b.Offset {
		return nil, about(ErrOutside, b)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	if _, ok := r.out[b.Offset]; ok {
		return nil, about(ErrTaken, b)
	}
	if err := r.m.grow(b.Offset + b.Length); err != nil {
		return nil, err
	}
	mem, _ := r.m.hold() // held by the Reader itself, which is not closed
	r.out[b.Offset] = b
	r.bytes += b.Length
	end := b.Offset + b.Length
	return mem[b.Offset:end:end], nil
}

// Release ends a View: what it has returned must not be looked at any more. The errors are ErrNotOut and ErrStale, and
// then nothing has changed. After Close it is still what lets go of the memory.
func (r *Reader) Release(b wire.Block) error {
	r.mu.Lock()
	switch known, ok := r.out[b.Offset]; {
	case !ok:
		r.mu.Unlock()
		return about(ErrNotOut, b)
	case known != b:
		r.mu.Unlock()
		return about(ErrStale, b)
	}
	delete(r.out, b.Offset)
	r.bytes -= b.Length
	notify := func() {}
	if !r.closed {
		r.returned = append(r.returned, b)
		if len(r.returned) == 1 && r.notify != nil {
			notify = r.notify
		}
	}
	r.mu.Unlock()
	r.m.drop()
	notify()
	return nil
}

// Notify sets a function that is called when Returned has something to tell again. It is called by whoever
// releases a block, user code among them, and must not block.
func (r *Reader) Notify(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notify = f
}

// Returned appends to dst the blocks that have been released since it was last asked. The writer must be told.
func (r *Reader) Returned(dst []wire.Block) []wire.Block {
	r.mu.Lock()
	defer r.mu.Unlock()
	dst = append(dst, r.returned...)
	r.returned = r.returned[:0]
	return dst
}

// Usage returns what is shown and not released. Full is 0: only the writer knows.
func (r *Reader) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Usage{Blocks: len(r.out), Bytes: r.bytes}
}

// Close ends the session. What is shown stays where it is until it is released; the last Release frees the memory. A second
// Close does nothing.
func (r *Reader) Close() {
	r.mu.Lock()
	closed := r.closed
	r.closed, r.returned, r.notify = true, nil, nil
	r.mu.Unlock()
	if closed {
		return
	}
	r.m.drop()
	closeFile(r.file)
}
