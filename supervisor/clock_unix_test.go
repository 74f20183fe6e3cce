//go:build unix

package supervisor_test

import (
	"syscall"
	"time"
)

// wallClock is a clock that synctest does not fake: the processor time of this process.
func wallClock() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
