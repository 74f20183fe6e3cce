package supervisor_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestAnAggregateInAChildIsFedFromHere(t *testing.T) {
	const n = 10_000
	for name, c := range map[string]struct {
		cfg  splitting
		at   supervisor.Regions
		kill bool
	}{
		"a batch":              {splitting{N: n, Workers: 1}, supervisor.Regions{{From: "small", On: supervisor.Subprocess{}}}, false},
		"a batch, killed":      {splitting{N: n, Workers: 1}, supervisor.Regions{{From: "small", On: supervisor.Subprocess{}}}, true},
		"parts":                {splitting{N: n, Workers: 4}, supervisor.Regions{{From: "parts", To: "small", On: supervisor.Subprocess{}}}, false},
		"parts, killed":        {splitting{N: n, Workers: 4}, supervisor.Regions{{From: "parts", To: "small", On: supervisor.Subprocess{}}}, true},
		"streaming, killed":    {splitting{N: n, Workers: 1, Streaming: true}, supervisor.Regions{{From: "parts", To: "small", On: supervisor.Subprocess{}}}, true},
		"twice, killed":        {splitting{N: n, Workers: 2, Twice: true}, supervisor.Regions{{From: "parts", To: "flat", On: supervisor.Subprocess{}}}, true},
		"two regions, killed":  {splitting{N: n, Workers: 2, Twice: true}, supervisor.Regions{{From: "parts", On: supervisor.Subprocess{}}, {From: "small", To: "large", On: supervisor.Subprocess{}}}, true},
		"batches, from a node": {splitting{N: n, Workers: 2, Twice: true}, supervisor.Regions{{From: "ints", To: "parts", On: supervisor.Subprocess{}}, {From: "small", To: "flat", On: supervisor.Subprocess{}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			sup := children.With(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: time.Microsecond, Pause: time.Microsecond}})
			run, err := supervisor.Deploy(t.Context(), sup, split.With(c.cfg), c.at)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			kills := 0
			for b, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, b...); c.kill && len(got) > (kills+1)*n/10 {
					for _, pid := range childrenOf(t) {
						syscall.Kill(pid, syscall.SIGKILL)
						kills++
					}
				}
			}
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
			s := run.Stats()
			t.Log(kills, s.Yielded, s.Delivered, s.Filtered, s.Failed, s.InFlight)
			if s.Yielded != n || s.Delivered != n*4/5 || s.Filtered != n/5 {
				t.Errorf("counts: %+v", s)
			}
			var want []int
			for v := range n {
				for i := range v % 5 {
					want = append(want, 10*v+i)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d items, want %d", len(got), len(want))
			}
		})
	}
}
