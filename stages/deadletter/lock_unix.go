//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package deadletter

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// errInUse says that somebody else has the lock.
var errInUse = errors.New("in use")

// lock takes the lock of flock(2), which belongs to this opening of the file: a second one in the same process is refused
// too.
func lock(f *os.File) error {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errInUse
	}
	return err
}

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for failed = syscall.EINTR; failed == syscall.EINTR; {
			failed = syscall.Flock(int(fd), how)
		}
	})
	return errors.Join(err, failed)
}

// syncDir syncs a directory, if its file system can do that and this user may open it.
func syncDir(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
