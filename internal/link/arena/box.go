package arena

import (
	"bytes"
	"errors"
	"os"
)

// A Box is memory that another process writes to, and that is read when it is dead. There is no more to it: no blocks, and nothing is
// given back.
type Box struct {
	file *os.File
	mem  []byte
}

// NewBox makes one of so many bytes, at least 4096, all of them zero.
func NewBox(bytes uint64) (*Box, error) {
	f, err := create(bytes)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(seal(f, sealed), reserve(f, bytes)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mem, err := mapFile(f, int(bytes), false)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Box{f, mem}, nil
}

// File returns what the writing process inherits. It belongs to the Box.
func (b *Box) File() *os.File { return b.file }

// Size returns its bytes.
func (b *Box) Size() uint64 { return uint64(len(b.mem)) }

// Contents returns a copy of what is in it now, of which nothing is to be trusted.
func (b *Box) Contents() []byte { return bytes.Clone(b.mem) }

// Close lets go of it.
func (b *Box) Close() {
	unmap(b.mem)
	closeFile(b.file)
}

// OpenBox opens one that another process has made, of so many bytes, to be written to for as long as this process lives. f can be
// closed afterwards.
func OpenBox(f *os.File, bytes uint64) ([]byte, error) {
	if err := check(f, bytes, fixed); err != nil {
		return nil, err
	}
	return mapFile(f, int(bytes), true)
}
