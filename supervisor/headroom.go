package supervisor

import (
	"runtime/debug"
	"sync"
)

// A headroom is memory that nobody touches. What passes between processes is garbage soon, and Go collects the garbage of a small
// heap every 4 MiB: that took a third of the time that items took on their way. A collection is due when a heap has doubled, so
// with this in it, it is due after 16 MiB more at the earliest. It has no pages of its own; what the program has more is garbage that
// waits, of at most as many bytes.
type headroom struct {
	once sync.Once
	held []byte
}

// headroomBytes is its size, but for programs with a GOMEMLIMIT: they have one part in limitPart of that, if it is less.
const (
	headroomBytes = 16 << 20
	limitPart     = 32
)

// take makes the memory, the first time.
func (h *headroom) take() {
	h.once.Do(func() {
		limit := debug.SetMemoryLimit(-1) // a negative one changes nothing
		h.held = make([]byte, min(headroomBytes, limit/limitPart))
	})
}
