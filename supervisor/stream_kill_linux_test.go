package supervisor_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestWhatAKilledChildHadComesOnce(t *testing.T) {
	const n = 20_000
	sup := children.With(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: time.Microsecond, Pause: time.Microsecond}})
	run, err := supervisor.Deploy(t.Context(), sup, batched.With(span{n, 4}), supervisor.Subprocess{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	kills := 0
	for b, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, b...); len(got) > (kills+1)*n/40 {
			for _, pid := range childrenOf(t) {
				syscall.Kill(pid, syscall.SIGKILL)
				kills++
			}
		}
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	t.Log(kills, run.Stats())
	if len(got) != n/2 || !slices.IsSorted(got) {
		t.Errorf("%d items, want %d; in order: %v", len(got), n/2, slices.IsSorted(got))
	}
	for i, v := range got {
		if v != 2*i+1 {
			t.Fatalf("item %d is %d", i, v)
		}
	}
}
