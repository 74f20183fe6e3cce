//go:build !unix

package main

import "time"

// cpuTime is not known here: the column of the processor time is 0.
func cpuTime() time.Duration { return 0 }
