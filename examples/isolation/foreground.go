package main

import (
	"slices"
	"time"
)

const (
	work = 100 * time.Microsecond // of a step, when nothing else runs
	rest = 300 * time.Microsecond // that a step waits: for a GPU, say
)

// A foreground is a loop like one that launches the kernels of a GPU: a little work, then it waits for what it has begun, and
// must wake up on time.
type foreground struct {
	rounds int    // of spin, for the work of a step
	sum    uint64 // so that no compiler leaves the work out
}

// newForeground finds out how much work that is: the same, whatever runs beside it later.
func newForeground() *foreground {
	const probe = 20_000
	f := &foreground{}
	best := time.Duration(1 << 62)
	for range 50 { // the fastest was disturbed least
		begun := time.Now()
		f.spin(probe)
		best = min(best, time.Since(begun))
	}
	f.rounds = max(int(int64(probe)*int64(work)/max(int64(best), 1)), 1)
	return f
}

func (f *foreground) spin(rounds int) {
	x := f.sum | 1
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	f.sum = x
}

// run takes so many steps, and returns how long each of them took, in order of length.
func (f *foreground) run(steps int) []time.Duration {
	took := make([]time.Duration, steps)
	for i := range took {
		begun := time.Now()
		f.spin(f.rounds)
		time.Sleep(rest)
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took
}

// percentile returns the p-th of sorted durations.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)-1)*p/100]
}
