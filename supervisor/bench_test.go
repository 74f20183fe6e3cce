package supervisor_test

import (
	"fmt"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// BenchmarkEpochs is what the end of an epoch costs: items through three stages, in epochs of so many. 0 is one epoch of
// all.
func BenchmarkEpochs(b *testing.B) {
	for _, size := range []int{0, 100_000, 1000, 1} {
		b.Run(fmt.Sprint("of ", size), func(b *testing.B) {
			n, epochs := b.N, stages.Epochs(1)
			if size > 0 {
				n, epochs = size, stages.Epochs(max(b.N/size, 1))
			}
			p := define(func(g *stages.Graph) stages.Stream[int] {
				s := stages.Source(g, "ints", ints(n), epochs)
				for _, name := range []string{"a", "b", "c"} {
					s = stages.Map(s, name, same)
				}
				return s
			})
			for _, err := range supervisor.Items(b.Context(), supervisor.New(supervisor.Config{}), p, nil) {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDeath is a panic, the replacement of the worker by supervision, and the item's second attempt: per panic, the
// items between included.
func BenchmarkDeath(b *testing.B) {
	for _, bc := range []struct{ workers, every int }{{1, 1}, {4, 1}, {4, 13}} {
		b.Run(fmt.Sprintf("%d workers, every %d", bc.workers, bc.every), func(b *testing.B) {
			p := define(func(g *stages.Graph) stages.Stream[int] {
				in := stages.Source(g, "ints", ints(b.N*bc.every))
				return stages.Map(in, "dies", dieOnceIn(bc.every), stages.Mailbox(bc.workers), stages.Ordered)
			})
			for _, err := range supervisor.Items(b.Context(), supervisor.New(supervisor.Config{}), p, nil) {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
