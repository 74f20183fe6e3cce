package supervisortest

import (
	"iter"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Placements yields, by name, the placements that p should not notice: today "inprocess" alone. The table will grow, and
// the others need an s that comes from supervisor.Main, called in TestMain, and a p that was given to it; a test that is
// written in this way now need not change then.
func Placements[Out any](t testing.TB, s *supervisor.Supervisor, p stages.Pipeline[Out]) iter.Seq2[string, supervisor.Placement] {
	t.Helper()
	return func(yield func(string, supervisor.Placement) bool) {
		for _, at := range []supervisor.Placement{supervisor.InProcess{}} {
			if !yield(at.String(), at) {
				return
			}
		}
	}
}
