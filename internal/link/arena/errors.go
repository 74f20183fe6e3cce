package arena

import (
	"errors"
	"fmt"

	"github.com/weirflow/weir/internal/wire"
)

// Errors of the constructors. Whichever it is, payloads can go over the link instead.
var (
	// ErrUnsupported says that this system has no such memory.
	ErrUnsupported = errors.New("arena: no sealed shared memory on this system")
	// ErrSize says that a file is not as long as was said, or that no arena can be.
	ErrSize = errors.New("arena: wrong size")
	// ErrSeals says that a file can still be truncated, or be written to by others.
	ErrSeals = errors.New("arena: not sealed")
)

// Errors of single blocks, wrapped with the block. They come of a peer that is broken or hostile.
var (
	// ErrOutside says that a block does not lie in the arena.
	ErrOutside = errors.New("arena: block lies outside")
	// ErrTaken says that a block is sent while one at its place has not been released.
	ErrTaken = errors.New("arena: block was sent before, and not released since")
	// ErrNotOut says that a block is released of which nothing is known: it was released before, or was never there.
	ErrNotOut = errors.New("arena: released block is not out")
	// ErrStale says that a block is released with another generation or length than the one that is out at its place.
	ErrStale = errors.New("arena: released block is another than is out there")
	// ErrClosed says that the session has ended.
	ErrClosed = errors.New("arena: closed")
)

func about(err error, b wire.Block) error {
	return fmt.Errorf("%w: %d bytes at %d, generation %d", err, b.Length, b.Offset, b.Generation)
}
