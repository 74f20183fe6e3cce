package deadletter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirflow/weir/stages"
)

// File appends letters to the file at path as JSON lines, payloads in base64, or as msgpack if the name ends in
// .msgpack. The file is made if need be, readable for its owner only (0600: payloads are the user's data); its directory
// must exist. It is synced before a letter counts as handed over, and locked against a second run. Equal paths are equal
// sinks; a relative one is relative to the working directory at the time of opening.
//
// OpenLetters waits for nobody: a file in use is an error. Of a JSON file it reads the beginning and the end, of a msgpack
// file the head of each letter, until ctx ends. Write does not look at its ctx, since a disk cannot be interrupted.
func File(path string) stages.LetterSink { return file{path} }

type file struct{ path string }

func (s file) OpenLetters(ctx context.Context) (stages.LetterWriter, error) {
	if s.path == "" {
		return nil, errors.New("dead letters: the path of their file is empty")
	}
	f, err := openFile(s.path)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	w, err := newWriter(ctx, s.path, f, formatOf(s.path, maxLetterBytes))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// A locked is a file that nobody else has open for writing.
type locked struct {
	*os.File
	path string // absolute, without links: the working directory may change
	info fs.FileInfo
}

func openFile(path string) (*locked, error) {
	// The open of a pipe would wait for its reader.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(path, info)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: its directory must exist", err)
	} else if err != nil {
		return nil, err
	}
	l := &locked{File: f}
	if err := l.own(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// own locks the file, and makes sure that it will be found again.
func (l *locked) own(path string) (err error) {
	if l.info, err = l.Stat(); err != nil {
		return err
	}
	if !l.info.Mode().IsRegular() {
		return notRegular(path, l.info)
	}
	if err := lock(l.File); errors.Is(err, errInUse) {
		return fmt.Errorf("%s is in use by another run or program, or by this one under another name", path)
	} else if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if l.path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	if l.path, err = filepath.Abs(l.path); err != nil {
		return err
	}
	if l.info.Size() > 0 {
		return nil
	}
	// It is new, or whoever made it may have died before this: fsync(2) of a file does not sync the directory it is in.
	return syncDir(filepath.Dir(l.path))
}

func notRegular(path string, info fs.FileInfo) error {
	if info.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	return fmt.Errorf("%s is not a regular file", path)
}

// Size returns how many bytes the file has.
func (l *locked) Size() (int64, error) {
	info, err := l.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync fails also if the file is no longer at its path: nobody would look for its letters elsewhere.
func (l *locked) Sync() error {
	if err := l.File.Sync(); err != nil {
		return err
	}
	if info, err := os.Stat(l.path); err != nil {
		return err
	} else if !os.SameFile(info, l.info) {
		return errors.New("another file has taken its place")
	}
	return nil
}

// Close unlocks the file itself: a child process that is just being started may hold it open for a moment longer.
func (l *locked) Close() error { return errors.Join(unlock(l.File), l.File.Close()) }
