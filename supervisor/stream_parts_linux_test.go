package supervisor_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestAnInputThatIsInSeveralBatchesComesOnceWhateverDies(t *testing.T) {
	const n = 10_000
	for name, cfg := range map[string]splitting{
		"ordered":   {N: n, Workers: 4},
		"streaming": {N: n, Workers: 1, Streaming: true},
		"shuffled":  {N: n, Workers: 4, Shuffle: true},
		"twice":     {N: n, Workers: 4, Twice: true},
	} {
		t.Run(name, func(t *testing.T) {
			sup := children.With(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: time.Microsecond, Pause: time.Microsecond}})
			run, err := supervisor.Deploy(t.Context(), sup, split.With(cfg), supervisor.Subprocess{})
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			kills := 0
			for b, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, b...); len(got) > (kills+1)*n/10 {
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
			if cfg.Shuffle {
				slices.Sort(got)
			}
			k := 0
			for v := range n {
				for i := range v % 5 {
					if k >= len(got) || got[k] != 10*v+i {
						t.Fatalf("item %d is not %d", k, 10*v+i)
					}
					k++
				}
			}
			if k != len(got) {
				t.Errorf("%d items, want %d", len(got), k)
			}
		})
	}
}
