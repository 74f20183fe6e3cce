package supervisor_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A footprint is what a process has of what a run must give back.
type footprint struct{ children, descriptors, memfds, goroutines int }

func footprintOf(t testing.TB) (f footprint) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return footprint{len(childrenOf(t)), len(fds), strings.Count(string(maps), "memfd:"), runtime.NumGoroutine()}
}

// again waits until there is no more than this again: goroutines that have nothing more to do may take a moment to be gone.
func (f footprint) again(t testing.TB) (now footprint, ok bool) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		now = footprintOf(t)
		if now.children <= f.children && now.descriptors <= f.descriptors && now.memfds <= f.memfds && now.goroutines <= f.goroutines {
			return now, true
		}
	}
	return now, false
}

// leavesNothing checks at the end of the test that nothing is left over.
func leavesNothing(t *testing.T) {
	before := footprintOf(t)
	before.children = 0
	t.Cleanup(func() {
		if now, ok := before.again(t); !ok {
			t.Errorf("before %+v, now %+v", before, now)
		}
	})
}
