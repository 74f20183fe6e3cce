package supervisor_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Two loops share a run. The one that finds the end decides that the run is over while the other one is still at the last
// items: RunEnded says that they are in flight, Wait returns, and the epoch ends behind the run.
func TestARunEndsBehindAllItsLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []supervisor.Event
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(1)) }),
			supervisor.Config{OnEvent: func(e supervisor.Event) { told = append(told, e) }})
		inHand, release := make(chan bool), make(chan bool)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range run.Items(t.Context()) {
				close(inHand)
				<-release
			}
		})
		<-inHand
		wg.Go(func() {
			for range run.Items(t.Context()) {
				t.Error("there is one item only")
			}
		})
		synctest.Wait()
		close(release)
		wg.Wait()
		run.Wait(context.Background())
		synctest.Wait()
		last, ok := told[len(told)-1].(supervisor.RunEnded)
		if !ok {
			t.Errorf("the last event is %T", told[len(told)-1])
		}
		for _, e := range told {
			if e, ok := e.(supervisor.RunEnded); ok {
				last = e
			}
		}
		if last.Stats.InFlight != 0 || last.Stats.Delivered != 1 {
			t.Errorf("final statistics: %d delivered, %d in flight", last.Stats.Delivered, last.Stats.InFlight)
		}
	})
}
