package supervisor_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// faultRuns is how many short runs there are.
var faultRuns = flag.Int("fault.runs", 30, "short runs with random faults")

// Short runs end in random ways, in the middle of random faults. Behind all of them there is exactly what there was before.
func TestF41ManyShortRunsLeaveNothing(t *testing.T) {
	seed := uint64(max(*faultSeed, 1))
	t.Logf("-fault.seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 41))
	shortRun(t, dice, "ends") // makes what is made once
	before := footprintOf(t)
	for same := 0; same < 20; same++ { // what is to go by itself goes
		<-time.After(time.Millisecond)
		if now := footprintOf(t); now != before {
			before, same = now, 0
		}
	}
	all := []string{"ends", "breaks", "stops", "is cancelled", "drains", "kills", "kills and stops", "has poison", "has children that exit", "waits"}
	ways := map[string]int{}
	for i := range *faultRuns {
		way := all[dice.IntN(len(all))]
		if i < len(all) {
			way = all[i]
		}
		ways[way]++
		shortRun(t, dice, way)
		if now, ok := before.again(t); !ok {
			t.Fatalf("run %d, which %s: before %+v, now %+v", i, way, before, now)
		}
	}
	t.Log(ways)
}

func shortRun(t *testing.T, dice *rand.Rand, way string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	child := supervisor.Subprocess{}
	if way == "has children that exit" {
		child.Env = []string{"WEIR_TEST_CHILD=exits"}
	}
	at := []supervisor.Placement{child, regionAt("first", "second", supervisor.Pool{Size: 2, Of: child}),
		supervisor.Regions{{From: "first", To: "second", On: child}, {From: "small", To: "last", On: child}}}[dice.IntN(3)]
	c := quarry{N: 2000, Of: []string{"maps", "many", "tee"}[dice.IntN(3)], Batches: 1, Workers: 1 + dice.IntN(3), Ordered: dice.IntN(2) == 0}
	if way == "has poison" {
		c.Poison, at = 1+dice.IntN(500), regionAt("first", "second", child)
	}
	deaths := stages.Restart{Max: 3, First: time.Millisecond, Pause: time.Millisecond}
	if way == "kills" {
		deaths.Max = 1000
	}
	sup := children.With(supervisor.Config{Restart: deaths, MaxDeaths: 3, OnEvent: func(supervisor.Event) {}})
	run, err := supervisor.Deploy(ctx, sup, quarries.With(c), at)
	if err != nil {
		t.Fatal(err)
	}
	kill := func() {
		for _, pid := range childrenOf(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	until, n := dice.IntN(1000), 0 // outputs
	for b, e := range run.Items(ctx) {
		if err = e; err != nil {
			break
		}
		last := n
		if n += len(b); last > until || n <= until {
			continue
		}
		switch way {
		case "stops":
			_ = run.Stop()
		case "is cancelled":
			cancel()
		case "drains":
			run.Drain()
		case "kills":
			kill()
		case "kills and stops":
			kill()
			<-time.After(time.Duration(dice.IntN(10_000)) * time.Microsecond)
			_ = run.Stop()
		case "waits":
			<-time.After(time.Duration(dice.IntN(10_000)) * time.Microsecond)
		}
		if way == "breaks" {
			break
		}
	}
	if e := run.Stop(); e != nil {
		t.Errorf("a run that %s: %v", way, e)
	}
	switch way {
	case "ends", "waits", "drains", "kills":
		if err != nil {
			t.Errorf("a run that %s: %v", way, err)
		}
	case "has poison", "has children that exit":
		if err == nil {
			t.Errorf("a run that %s ended without an error", way)
		}
	}
	if ctx.Err() == context.DeadlineExceeded {
		t.Errorf("a run that %s took 30 s", way)
	}
}
