package stages_test

import (
	"fmt"
	"testing"

	"github.com/weirflow/weir/stages"
)

// An item that fails in another process costs this besides.
func BenchmarkErrorsBetweenProcesses(b *testing.B) {
	g := travelled(b)
	err := &stages.ItemError{Stage: "s", Attempts: 1, Err: fmt.Errorf("a.jpg: %w", errCorrupt)}
	for b.Loop() {
		if stages.DecodeError(g, stages.EncodeError(g, err)) == nil {
			b.Fatal("no error")
		}
	}
}
