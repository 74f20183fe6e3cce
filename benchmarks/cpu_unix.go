//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process, and its children that have ended, have used so far, in user and kernel mode.
func cpuTime() (used time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return used
}
