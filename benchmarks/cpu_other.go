//go:build !unix

package main

import "time"

// cpuTime is not known here: the CPU columns are 0.
func cpuTime() time.Duration { return 0 }
