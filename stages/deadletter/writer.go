package deadletter

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weirflow/weir/stages"
)

// maxLetterBytes is how long a letter may be in a file: what is longer is taken for damage, not for a reason to allocate.
const maxLetterBytes = 1 << 30

// keptBytes is how much of its buffer a writer keeps from one letter to the next.
const keptBytes = 1 << 20

// A disk is an open file, as a writer needs it. Tests have some that fail.
type disk interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
}

// A format is how letters lie in a file. It is used by one goroutine at a time.
type format interface {
	// append appends the letter's bytes to dst. It fails with errLong if there are too many of them.
	append(dst []byte, l stages.Letter) ([]byte, error)
	// read yields the letters of r until yield returns false. Its errors say where, but not in which file.
	read(r io.Reader, yield func(stages.Letter, error) bool)
	// end returns where whole letters end, and what is missing there of the last one. It fails if what lies there
	// cannot be the beginning of a letter.
	end(ctx context.Context, f io.ReaderAt, size int64) (end int64, missing string, err error)
}

func formatOf(path string, maxBytes int) format {
	if strings.HasSuffix(path, ".msgpack") {
		return newFrames(maxBytes)
	}
	return lines{maxBytes}
}

// A writer appends letters to a file that is its own.
type writer struct {
	path   string
	file   disk
	format format
	end    int64 // of the whole letters
	torn   bool  // there may be a part of a letter behind end
	lost   error // what a Sync failed with
	closed bool
	buf    []byte
}

// newWriter makes what is in f ready for the next letter.
func newWriter(ctx context.Context, path string, f disk, as format) (*writer, error) {
	w := &writer{path: path, file: f, format: as}
	size, err := f.Size()
	if err != nil {
		return nil, w.failed("open", err)
	}
	end, missing, err := w.format.end(ctx, f, size)
	if err != nil {
		return nil, w.failed("open", err)
	}
	w.end = end
	if end == size && missing == "" {
		return w, nil
	}
	if err := f.Truncate(end); err != nil {
		return nil, w.failed("cut off a part of a letter", err)
	}
	if missing != "" {
		if err := w.add([]byte(missing)); err != nil {
			return nil, err
		}
	}
	return w, w.Sync()
}

func (w *writer) Write(_ context.Context, l stages.Letter) error {
	if w.lost != nil {
		return w.lost
	}
	b, err := w.format.append(w.buf[:0], l)
	if cap(b) <= keptBytes {
		w.buf = b
	}
	if err != nil {
		return w.failed("write", err)
	}
	return w.add(b)
}

// add writes b behind the last letter, all of it or nothing.
func (w *writer) add(b []byte) error {
	if err := w.cut(); err != nil {
		return w.failed("cut off a part of a letter", err)
	}
	size, err := w.file.Size()
	if err != nil {
		return w.failed("write", err)
	}
	if size != w.end {
		return w.failed("write", fmt.Errorf("somebody else has changed its size from %d to %d bytes", w.end, size))
	}
	w.torn = true
	if _, err := w.file.WriteAt(b, w.end); err != nil {
		err = w.failed("write", err)
		if cutting := w.cut(); cutting != nil {
			err = fmt.Errorf("%w; the part of a letter at its end could not be cut off: %w", err, cutting)
		}
		return err
	}
	w.torn = false
	w.end += int64(len(b))
	return nil
}

// cut removes what there is of a letter that was not written whole.
func (w *writer) cut() error {
	if !w.torn {
		return nil
	}
	err := w.file.Truncate(w.end)
	w.torn = err != nil
	return err
}

// Sync never succeeds again once it has failed: the next fsync would, though the letters of the first one are gone
// (Rebello and others, Can Applications Recover from fsync Failures?, USENIX ATC 2020).
func (w *writer) Sync() error {
	if w.lost != nil {
		return w.lost
	}
	if err := w.file.Sync(); err != nil {
		w.lost = w.failed("sync", err)
	}
	return w.lost
}

func (w *writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if err := w.file.Close(); err != nil {
		return w.failed("close", err)
	}
	return nil
}

func (w *writer) failed(what string, err error) error {
	return fmt.Errorf("dead letters: %s %s: %w", what, w.path, err)
}
