package supervisor_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// An account is what accounts does.
type account struct {
	N, Workers int
	Percent    int  // of the items of "keep" may fail
	Batches    bool // before it
	Hook       string
}

var errAccount = errors.New("no account")

// accounts keeps a tenth of its items, and fails half of those: the second, the fourth...
var accounts = stages.Define("accounts", func(g *stages.Graph, a account) stages.Stream[int] {
	g.Errors(errAccount)
	switch a.Hook {
	case "exit":
		g.Hook(stages.Hook{StageExit: func(_ context.Context, s stages.StageInfo, err error) error {
			if s.Stage == "keep" {
				return errAccount
			}
			return err
		}})
	}
	in := stages.Source(g, "ints", ints(a.N))
	if a.Batches {
		in = stages.Unbatch(stages.Batch(in, "batch", 5), "unbatch")
	}
	few := stages.Filter(in, "few", func(_ context.Context, v int) (bool, error) { return v%10 == 9, nil })
	keep := stages.Map(few, "keep", func(_ context.Context, v int) (int, error) {
		if v%20 == 19 {
			return 0, errAccount
		}
		return v, nil
	}, stages.Mailbox(max(a.Workers, 1)), stages.OnError(stages.Skip(stages.Fraction(float64(a.Percent)/100))))
	return stages.Map(keep, "out", func(_ context.Context, v int) (int, error) { return v, nil })
})

// accountsAt are where the stages from "few" to "keep" may be, and with them what is before.
func accountsAt(t *testing.T, a account) map[string]supervisor.Placement {
	all := map[string]supervisor.Placement{"here": supervisor.InProcess{}, "all of it in a child": supervisor.Subprocess{}}
	if a.Batches {
		all["fed"] = regionAt("batch", "keep", supervisor.Subprocess{})
		return all
	}
	all["a child"] = regionAt("few", "keep", supervisor.Subprocess{})
	all["two children"] = regionAt("few", "keep", supervisor.Pool{Size: 2, Of: supervisor.Subprocess{}})
	all["a node"] = regionAt("few", "keep", supervisor.Remote{Addr: serveNode(t, supervisor.NodeConfig{Open: true}, accounts)})
	return all
}

// A fraction is one of the items that the stage itself has finished, wherever that is.
func TestAFractionIsOfTheItemsOfItsStageElsewhereToo(t *testing.T) {
	for name, a := range map[string]account{
		"half":                 {N: 20_000, Percent: 50},
		"less than half":       {N: 20_000, Percent: 45},
		"half, 3 workers":      {N: 20_000, Percent: 52, Workers: 3},
		"half of batches":      {N: 20_000, Percent: 50, Batches: true},
		"less than of batches": {N: 20_000, Percent: 45, Batches: true},
	} {
		for where, at := range accountsAt(t, a) {
			a := a // it is changed below
			t.Run(name+" "+where, func(t *testing.T) {
				if where == "two children" && a.Percent == 50 {
					a.Percent = 55 // one of them may be ahead of the other
				}
				got, err := collectAt(t, children, accounts.With(a), at)
				switch {
				case a.Percent < 50 && !errors.Is(err, stages.ErrBudget):
					t.Errorf("%d items, %v", len(got), err)
				case a.Percent < 50 && len(got) > 900:
					t.Errorf("%d items before the budget was spent", len(got))
				case a.Percent >= 50 && (err != nil || len(got) != 1000):
					t.Errorf("%d items, %v", len(got), err)
				}
			})
		}
	}
}

// What a process had finished counts though it has died.
func TestAFractionIsTheSameThoughAChildDies(t *testing.T) {
	for name, at := range map[string]supervisor.Placement{
		"keyed":  regionAt("few", "keep", supervisor.Subprocess{}),
		"stream": supervisor.Subprocess{},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := supervisor.Deploy(t.Context(), children, accounts.With(account{N: 100_000, Percent: 52}), at)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for v, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, v); len(got)%2000 == 1000 {
					for _, pid := range childrenOf(t) {
						killProcess(pid)
					}
				}
			}
			if err := run.Stop(); err != nil || len(got) != 5000 || !slices.IsSorted(got) {
				t.Errorf("%d items, %v", len(got), err)
			}
			if n := run.Stats().Nodes[0].Lives; n < 2 {
				t.Errorf("%d lives", n)
			}
		})
	}
}
