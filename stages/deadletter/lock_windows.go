package deadletter

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// errInUse says that somebody else has the lock.
var errInUse = errors.New("in use")

// lock takes the lock of LockFileEx. It covers one byte far behind any letter: on Windows nobody else could read what it
// covers.
func lock(f *os.File) error {
	err := control(f, func(h windows.Handle) error {
		return windows.LockFileEx(h, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, farBehind())
	})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errInUse
	}
	return err
}

func unlock(f *os.File) error {
	return control(f, func(h windows.Handle) error { return windows.UnlockFileEx(h, 0, 1, 0, farBehind()) })
}

func farBehind() *windows.Overlapped {
	return &windows.Overlapped{Offset: 0xffffffff, OffsetHigh: 0x7ffffffe}
}

func control(f *os.File, do func(windows.Handle) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = do(windows.Handle(fd)) })
	return errors.Join(err, failed)
}

// syncDir does nothing: Windows cannot flush a directory, and NTFS keeps a journal of its names.
func syncDir(string) error { return nil }
