package supervisor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// blends are mixtures of which nobody but their process knows how far the epoch at hand is, as of 100 items, or up to the first end.
var blends = law("blends", func(g *stages.Graph, items int64) stages.Stream[string] {
	var a, b stages.Stream[int]
	if items > 0 {
		a, b = numbersOf(g, "a", 7, stages.Forever), numbersOf(g, "b", 1000, stages.Forever)
	} else {
		a, b = numbersOf(g, "a", 1000, stages.Epochs(3)), numbersOf(g, "b", 1000, stages.Epochs(3))
	}
	early := stages.Map(a, "early", double, stages.Mailbox(2), stages.Ordered)
	mix := stages.Merge("mix", stages.Weighted{Weights: []float64{1, 2}, Seed: 3, EpochItems: items, UntilFirstEnd: items == 0}, early, b)
	return stages.Map(mix, "late", named[int], stages.Ordered)
})

// Such a mixture stays in this process, for a new one would begin its epoch anew. All else may be elsewhere.
func TestAMixtureThatEndsEpochsStaysHere(t *testing.T) {
	child := supervisor.Subprocess{}
	for items, why := range map[int64]string{100: `"mix" makes epochs of 100 items: if its process died`, 0: `"mix" ends an epoch with its first input that ends: if its process died`} {
		for _, at := range []supervisor.Placement{
			child, supervisor.Remote{Addr: "tcp://127.0.0.1:1"}, supervisor.Pool{Size: 1, Of: child},
		} {
			run, err := supervisor.Deploy(t.Context(), children, blends.With(items), at)
			if err == nil {
				run.Stop()
			}
			if refused, ok := errors.AsType[*supervisor.PlacementError](err); !ok || !strings.Contains(refused.Reason, why) {
				t.Errorf("at %v: got %v, want %s", at, err, why)
			}
		}
		for _, at := range []supervisor.Placement{
			supervisor.InProcess{},
			supervisor.Regions{{From: "a", To: "early", On: child}, {From: "b", On: child}, {From: "late", On: supervisor.Pool{Size: 2, Of: child}}},
		} {
			if err := supervisor.Check(children, blends.With(items), at); err != nil {
				t.Errorf("at %v: %v", at, err)
			}
		}
	}
}

// What it gives does not depend on the deaths of processes before and behind it.
func TestAMixtureIsTheSameWhenProcessesAroundItDie(t *testing.T) {
	child := supervisor.Subprocess{}
	around := supervisor.Regions{{From: "a", To: "early", On: child}, {From: "b", On: child}, {From: "late", On: child}}
	for _, items := range []int64{100, 0} {
		t.Run(fmt.Sprint(items), func(t *testing.T) {
			want := takeOf(t, items, supervisor.InProcess{}, 0)
			if got := takeOf(t, items, around, 3); !slices.Equal(got, want) {
				t.Errorf("got %d items, want %d: %v", len(got), len(want), got)
			}
		})
	}
}

// takeOf returns the first 1000 items of blends, epoch by epoch, and kills all children so many times meanwhile.
func takeOf(t *testing.T, items int64, at supervisor.Placement, kills int) (got []string) {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), children, blends.With(items), at)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Stop()
	for epoch, all := range run.Epochs(t.Context()) {
		for v, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, fmt.Sprint(epoch, " ", v)); len(got) == 1000 {
				return got
			}
			if kills > 0 && len(got)%250 == 130 {
				kills--
				pids := childrenOf(t)
				if len(pids) == 0 {
					t.Error("there are no children")
				}
				for _, pid := range pids {
					if err := killProcess(pid); err != nil {
						t.Log(err)
					}
				}
			}
		}
	}
	return got
}
