package arena

import (
	"errors"
	"os"
	"sync"

	"github.com/weirflow/weir/internal/wire"
)

// A Writer puts payloads into an arena.
type Writer struct {
	file *os.File // nil if the arena was made elsewhere
	size uint64
	m    *mapping

	mu     sync.Mutex
	book   *book // guarded by mu
	full   int64 // guarded by mu
	closed bool  // guarded by mu
}

// NewWriter makes an arena of so many bytes, at least 4096, which only this Writer can write to.
func NewWriter(bytes uint64) (*Writer, error) {
	f, err := create(bytes)
	if err != nil {
		return nil, err
	}
	m, err := newMapping(f, bytes, true, true)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := seal(f, ours|sealed); err != nil {
		m.drop()
		return nil, errors.Join(err, f.Close())
	}
	return &Writer{file: f, size: bytes, m: m, book: newBook(bytes)}, nil
}

// OpenWriter opens an arena that a NewReader of another process has made, of so many bytes. f can be closed afterwards.
// There must be no other Writer of it.
func OpenWriter(f *os.File, bytes uint64) (*Writer, error) {
	if err := check(f, bytes, fixed); err != nil {
		return nil, err
	}
	m, err := newMapping(f, bytes, true, false)
	if err != nil {
		return nil, err
	}
	return &Writer{size: bytes, m: m, book: newBook(bytes)}, nil
}

// File returns what the reading process inherits; nil if the arena was made elsewhere. It belongs to the Writer, but may
// be closed as soon as that process has been started.
func (w *Writer) File() *os.File { return w.file }

// Size returns the bytes of the arena: no payload can be larger.
func (w *Writer) Size() uint64 { return w.size }

// Put copies b into a block of its own, which is out until Free. It returns false if there is no room, or if the Writer is
// closed.
func (w *Writer) Put(b []byte) (wire.Block, bool) {
	mem, ok := w.m.hold()
	if !ok {
		return wire.Block{}, false
	}
	defer w.m.drop()
	block, ok := w.take(uint64(len(b)))
	if ok {
		copy(mem[block.Offset:], b)
	}
	return block, ok
}

// Alloc is Put of n bytes that the caller writes to buf afterwards; what it has there is undefined. The caller must end with
// Done, before which Close does not unmap, and must not use buf after that.
func (w *Writer) Alloc(n int) (buf []byte, block wire.Block, ok bool) {
	if n < 0 {
		return nil, wire.Block{}, false
	}
	mem, ok := w.m.hold()
	if !ok {
		return nil, wire.Block{}, false
	}
	if block, ok = w.take(uint64(n)); !ok {
		w.m.drop()
		return nil, wire.Block{}, false
	}
	end := block.Offset + block.Length
	return mem[block.Offset:end:end], block, true
}

// Done says that a block of Alloc has been written, or that it will not be. It is out until Free all the same.
func (w *Writer) Done() { w.m.drop() }

func (w *Writer) take(n uint64) (wire.Block, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return wire.Block{}, false
	}
	block, ok := w.book.take(n)
	if ok && w.m.grow(block.Offset+block.Length) != nil { // no memory is as bad as no room
		_ = w.book.give(block) // it was taken just now
		ok = false
	}
	if !ok {
		w.full++
		return wire.Block{}, false
	}
	return block, true
}

// Free takes a block back that the reader has released. The errors are ErrNotOut and ErrStale, and then nothing has
// changed.
func (w *Writer) Free(b wire.Block) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.book.give(b)
}

// Usage is how much of an arena is in use.
type Usage struct {
	Blocks int    // that are out
	Bytes  uint64 // that they take up
	Full   int64  // payloads for which there was no room
}

// Usage returns how much of the arena is in use.
func (w *Writer) Usage() Usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Usage{len(w.book.out), w.book.bytes, w.full}
}

// Close ends the Writer. The reader can still read what it has been sent. A second Close does nothing.
func (w *Writer) Close() {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	if closed {
		return
	}
	w.m.drop()
	closeFile(w.file)
}

// closeFile closes a file, unless it is closed already. Nothing was written through it that could be lost.
func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}
