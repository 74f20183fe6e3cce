package supervisor

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestHeadroomIsAPartOfTheMemoryLimit(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	for _, c := range []struct {
		limit int64
		want  int
	}{{math.MaxInt64, headroomBytes}, {8 << 30, headroomBytes}, {256 << 20, 8 << 20}} {
		debug.SetMemoryLimit(c.limit)
		var h headroom
		h.take()
		h.take() // the second time it is there
		if len(h.held) != c.want {
			t.Errorf("%d bytes with a limit of %d, want %d", len(h.held), c.limit, c.want)
		}
	}
}
