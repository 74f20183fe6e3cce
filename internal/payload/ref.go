package payload

import (
	"errors"
	"runtime"
	"sync"

	"github.com/weirflow/weir/internal/wire"
)

// ErrReleased says that a view was used after its release.
var ErrReleased = errors.New("stages: a View was used after its Release")

// A Ref is the inside of a stages.View: a block of bytes that has to be given back. The zero Ref is an empty block.
//
// A block that user code has never looked at is given back by the garbage collector when no Ref of it is left: the runtime drops items that
// no function has been called with. One that was looked at is not: there may be slices of it, which the collector
// does not know to point there. It stays where it is, and is counted.
type Ref struct{ held *held }

type held struct {
	loan    *loan // nil: of the heap
	cleanup runtime.Cleanup

	mu       sync.Mutex
	bytes    []byte // guarded by mu; nil after the release
	pins     int    // guarded by mu: who copies the block at this moment
	released bool   // guarded by mu
}

// A loan is what is known of a block of an arena when its Ref is gone.
type loan struct {
	of    *Unpacker
	block wire.Block

	mu    sync.Mutex
	shown bool // to user code; guarded by mu
}

// NewRef returns a Ref of b, which belongs to it from now on.
func NewRef(b []byte) Ref { return Ref{&held{bytes: b}} }

// lend returns a Ref of a block of u's arena.
func (u *Unpacker) lend(bytes []byte, block wire.Block) Ref {
	h := &held{bytes: bytes, loan: &loan{of: u, block: block}}
	h.cleanup = runtime.AddCleanup(h, (*loan).forgotten, h.loan)
	return Ref{h}
}

// forgotten runs when nobody can release the block any more.
func (l *loan) forgotten() {
	l.mu.Lock()
	shown := l.shown
	l.mu.Unlock()
	if shown {
		l.of.lost.Add(1)
		return
	}
	l.of.dropped.Add(1)
	l.of.giveBack(l.block)
}

// Bytes returns the block. It panics after Release.
func (r Ref) Bytes() []byte {
	if r.held == nil {
		return nil
	}
	r.held.mu.Lock()
	defer r.held.mu.Unlock()
	if r.held.released {
		panic(ErrReleased)
	}
	if l := r.held.loan; l != nil {
		l.mu.Lock()
		l.shown = true
		l.mu.Unlock()
	}
	return r.held.bytes
}

// Len returns the bytes of the block, 0 after Release.
func (r Ref) Len() int {
	if r.held == nil {
		return 0
	}
	r.held.mu.Lock()
	defer r.held.mu.Unlock()
	return len(r.held.bytes)
}

// Release gives the block back. A second call does nothing.
func (r Ref) Release() {
	h := r.held
	if h == nil {
		return
	}
	h.mu.Lock()
	last := !h.released && h.pins == 0
	h.released = true
	if last {
		h.bytes = nil
	}
	h.mu.Unlock()
	if last {
		h.end()
	}
}

// Copy appends the block to dst. Unlike slices of Bytes, it is safe against a Release at the same time.
func (r Ref) Copy(dst []byte) ([]byte, error) {
	err := r.pinned(func(b []byte) error {
		dst = append(dst, b...)
		return nil
	})
	return dst, err
}

// pinned calls do with the block, which is not given back meanwhile.
func (r Ref) pinned(do func(b []byte) error) error {
	h := r.held
	if h == nil {
		return do(nil)
	}
	h.mu.Lock()
	if h.released {
		h.mu.Unlock()
		return ErrReleased
	}
	h.pins++
	b := h.bytes
	h.mu.Unlock()
	defer h.unpin()
	return do(b)
}

func (h *held) unpin() {
	h.mu.Lock()
	h.pins--
	last := h.released && h.pins == 0
	if last {
		h.bytes = nil
	}
	h.mu.Unlock()
	if last {
		h.end()
	}
}

// end is called once, when the block is released and nobody copies it any more.
func (h *held) end() {
	if h.loan == nil {
		return
	}
	h.cleanup.Stop()
	h.loan.of.giveBack(h.loan.block)
	runtime.KeepAlive(h) // the cleanup must not run beside this
}
