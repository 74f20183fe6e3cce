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

// leavesNothing checks at the end of the test that nothing is left over. Goroutines that have nothing more to do may take a moment
// to be gone.
func leavesNothing(t *testing.T) {
	before := footprintOf(t)
	t.Cleanup(func() {
		var now footprint
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
			if now = footprintOf(t); now.children == 0 && now.descriptors <= before.descriptors && now.memfds <= before.memfds && now.goroutines <= before.goroutines {
				return
			}
		}
		t.Errorf("before %+v, now %+v", before, now)
	})
}
