package supervisor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// However many workers panic, and however close behind one another: a stage whose items all succeed at their second attempt
// has nothing wrong with it, and nobody rests.
func TestPanicsThatTheNextAttemptMendsAreNoFaultOfTheStage(t *testing.T) {
	const n = 1000
	for _, every := range []int{1, 2, 13} {
		for _, workers := range []int{1, 2, 4, 8} {
			for order, o := range map[string]stages.Order{"ordered": stages.Ordered, "unordered": stages.Unordered} {
				t.Run(fmt.Sprintf("every %d, %d workers, %s", every, workers, order), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						began := time.Now()
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(ctx context.Context, v int) (int, error) {
								time.Sleep(time.Microsecond) // so cheap that many items go to a worker at once
								return dieOnceIn(every)(ctx, v)
							}, stages.Mailbox(workers), o)
						}), supervisor.Config{})
						if want := int64((n + every - 1) / every); r.err != nil || len(r.out) != n || r.stats.Restarts != want {
							t.Errorf("%v, %d items, %d restarts, want %d and %d", r.err, len(r.out), r.stats.Restarts, n, want)
						}
						if took := time.Since(began); took > 20*time.Millisecond { // the shortest rest is 50 ms
							t.Errorf("it took %v", took)
						}
					})
				})
			}
		}
	}
}

// dieOnceIn is dieOnce for the multiples of every.
func dieOnceIn(every int) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) {
		if v%every == 0 {
			return dieOnce(ctx, v)
		}
		return v, nil
	}
}
