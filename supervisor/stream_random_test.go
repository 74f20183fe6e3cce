package supervisor_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// wild are the random graphs that run in another process, which builds them from their seeds.
var wild = stages.Define("wild", func(g *stages.Graph, seed uint64) stages.Stream[parcel] {
	g.Errors(errBad)
	p := build(wildGraph(seed))
	return p.add(g)
})

// wildGraph is a random graph of which nothing waits for a clock that a test sets.
func wildGraph(seed uint64) *graph {
	g := randomGraph(seed)
	g.bubble = false
	return g
}

// tryAway is try for a graph that runs in a child, which is killed so many times. It reports false if the graph cannot be there.
func tryAway(t *testing.T, seed uint64, kills *atomic.Int64) (bool, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	at := wild.With(seed)
	if g := at.Plan(); g.Whole().Cannot != "" {
		return false, nil
	}
	p := &plant{graph: wildGraph(seed), away: true, again: kills != nil}
	pause := time.Microsecond
	sup := children.With(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: pause, Pause: pause}})
	run, err := supervisor.Deploy(ctx, sup, at, supervisor.Subprocess{})
	if errors.As(err, new(*supervisor.PlacementError)) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if kills != nil {
		defer killAtTimes(t, seed, kills, run.Stats)()
	}
	return true, p.reap(ctx, run)
}

// faultKills is how many children are killed altogether, in each of the tests that do.
var faultKills = flag.Int("fault.kills", 100, "children that each test kills which kills some")

// killAtTimes kills the children of this process at random times, until the function is called that it returns, and counts.
func killAtTimes(t *testing.T, seed uint64, kills *atomic.Int64, stats func() supervisor.Stats) (end func()) {
	r := rand.New(rand.NewPCG(seed, 1))
	stop, done := make(chan bool), make(chan bool)
	most := []int64{2, 10, 40, 100}[r.IntN(4)]
	go func() {
		defer close(done)
		var seen, barren int64 // ten deaths without progress in between are the end
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(r.Int64N(most * int64(time.Millisecond)))):
			}
			s := stats()
			if now := s.Yielded + s.Delivered + s.Filtered + s.Failed; now > seen {
				seen, barren = now, 0
			} else if barren > 5 {
				continue
			}
			barren++
			for _, pid := range childrenOf(t) {
				if killProcess(pid) == nil {
					kills.Add(1)
				}
			}
			if r.IntN(10) == 0 || kills.Load() >= int64(*faultKills) { // let it come to its end
				<-stop
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// The same holds when the child is killed again and again.
func TestRandomGraphsInAChildThatIsKilledGiveWhatTheReferenceGives(t *testing.T) {
	var kills atomic.Int64
	for seed := uint64(0); kills.Load() < int64(*faultKills) && !t.Failed(); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if g := wildGraph(seed); !g.replayable() {
				t.Skip("what comes of it depends on where its mixtures stood")
			}
			if _, err := tryAway(t, seed, &kills); err != nil {
				t.Errorf("%v\nin\n%v", err, wildGraph(seed))
			}
		})
	}
	t.Logf("%d children killed", kills.Load())
}

// replayable reports whether what comes of a graph does not depend on what was at hand when its process began: merges in turns
// begin anew in a new process, and groups of what is left are others.
func (g *graph) replayable() bool {
	for _, v := range g.vertices {
		if v.firstEnd || v.dies > 0 {
			return false
		}
		switch v.kind {
		case "aggregate", "bykey", "regroup", "bysize", "resize", "pairs", "pack", "rebatch":
			return false // an item that has failed within a group is not in those that are made anew
		}
	}
	return true
}

// Random graphs give the same wherever they run.
func TestRandomGraphsGiveTheSameEverywhere(t *testing.T) {
	n := 120
	if testing.Short() {
		n = 20
	}
	for seed := range uint64(n) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			everyRun(t, wild, seed, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[parcel]) {
				p := &plant{graph: wildGraph(seed), away: true}
				if err := p.reap(t.Context(), run); err != nil {
					t.Errorf("%v\nin\n%v", err, p.graph)
				}
			})
		})
	}
}
