//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package deadletter

import (
	"errors"
	"os"
)

// errInUse says that somebody else has the lock.
var errInUse = errors.New("in use")

// lock does nothing: here, two runs that are given the same file must be kept apart by their user.
func lock(*os.File) error { return nil }

func unlock(*os.File) error { return nil }

// syncDir does nothing: not every one of these systems can.
func syncDir(string) error { return nil }
