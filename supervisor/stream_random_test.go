package supervisor_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
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
func tryAway(t *testing.T, seed uint64, kills int) (bool, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	at := wild.With(seed)
	if g := at.Plan(); g.Whole().Parts || g.Whole().Cannot != "" {
		return false, nil
	}
	p := &plant{graph: wildGraph(seed), away: true}
	pause := time.Microsecond
	sup := children.With(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: pause, Pause: pause}})
	run, err := supervisor.Deploy(ctx, sup, at, supervisor.Subprocess{})
	if errors.As(err, new(*supervisor.PlacementError)) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if kills > 0 {
		defer killAtTimes(t, seed, kills)()
	}
	return true, p.reap(ctx, run)
}

// faultKills is how many children are killed altogether, in each of the tests that do.
var faultKills = flag.Int("fault.kills", 100, "children that each test kills which kills some")

// killAtTimes kills the children of this process at random times, until the function is called that it returns.
func killAtTimes(t *testing.T, seed uint64, most int) (end func()) {
	r := rand.New(rand.NewPCG(seed, 1))
	stop, done := make(chan bool), make(chan bool)
	var killed atomic.Int64
	go func() {
		defer close(done)
		for range most {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(r.Int64N(int64(60 * time.Millisecond)))):
			}
			for _, pid := range childrenOf(t, os.Getpid()) {
				syscall.Kill(pid, syscall.SIGKILL)
				killed.Add(1)
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// Random graphs in a child process give what they give here.
func TestRandomGraphsInAChildGiveWhatTheReferenceGives(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 20
	}
	could := 0
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			able, err := tryAway(t, uint64(seed), 0)
			if able {
				could++
			}
			if err != nil {
				t.Errorf("%v\nin\n%v", err, wildGraph(uint64(seed)))
			}
		})
	}
	t.Logf("%d of %d graphs could be there", could, n)
}
