package supervisortest

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Placements yields, by name, the placements that p should not notice:
//
//   - this process;
//   - a child;
//   - a node on a loopback port, with TLS and a join token, that is started for the test and ends with it;
//   - a pool of two children for the longest part of the graph that may have copies;
//   - the longest part of the graph, but not all of it, in one child.
//
// The node is part of the test's own process: that nothing but the configuration travels is what children show, and what a node has
// of its own, the network, TLS and its rules, is the same there. So the race detector sees both sides, and what a run
// leaves behind on the node is found.
//
// The name is what ParsePlacement reads. What the graph cannot do is left out, and t's log says why: a source of this process,
// values that cannot be encoded, a graph in which every stage has a state.
//
// s must come from supervisor.Main, called in TestMain, and p have been given to it. Otherwise the test fails, with what to
// add, and only this process is yielded: a test that means nothing else needs no Placements.
func Placements[Out any](t testing.TB, s *supervisor.Supervisor, p stages.Pipeline[Out]) iter.Seq2[string, supervisor.Placement] {
	t.Helper()
	return func(yield func(string, supervisor.Placement) bool) {
		t.Helper()
		if here := (supervisor.InProcess{}); !yield(here.String(), here) || p.Err() != nil {
			return
		}
		check := func(at supervisor.Placement) error { return supervisor.Check(s, p, at) }
		node := func(_ *plan.Graph, check func(supervisor.Placement) error) (supervisor.Placement, error) {
			return node(t, p.Blueprint(), check)
		}
		for _, form := range []func(*plan.Graph, func(supervisor.Placement) error) (supervisor.Placement, error){
			child, node, pool, region,
		} {
			at, err := form(p.Plan(), check)
			if noMain(err) {
				t.Errorf("%v\nAdd this to the package's tests, with all pipelines that they run:\n\n%s", err, testMain)
				return
			}
			if err != nil {
				t.Logf("pipeline %q is not run at %v: %v", p.Name(), at, err)
				continue
			}
			if !yield(at.String(), at) {
				return
			}
		}
	}
}

// testMain is what a package's tests need for children.
const testMain = `var sup *supervisor.Supervisor

func TestMain(m *testing.M) {
	sup = supervisor.Main(thumbnails)
	os.Exit(m.Run())
}
`

// noMain reports whether nothing but a missing Main is wrong.
func noMain(err error) bool {
	refused, ok := errors.AsType[*supervisor.PlacementError](err)
	return errors.Is(err, supervisor.ErrNoMain) && !(ok && refused != nil)
}

// child is the whole graph in a child.
func child(_ *plan.Graph, check func(supervisor.Placement) error) (supervisor.Placement, error) {
	at := supervisor.Subprocess{}
	return at, check(at)
}

// pool is the longest part that may have copies in a pool of two children.
func pool(g *plan.Graph, check func(supervisor.Placement) error) (supervisor.Placement, error) {
	return widest(g, supervisor.Pool{Size: 2, Of: supervisor.Subprocess{}}, check)
}

// region is the longest part, but not all, in a child.
func region(g *plan.Graph, check func(supervisor.Placement) error) (supervisor.Placement, error) {
	return widest(g, supervisor.Subprocess{}, check)
}

// widest places the longest part of the graph that can be there, and of equal ones the first; all of it only if it is one
// stage. If none can be, it returns why not the longest.
func widest(g *plan.Graph, on supervisor.Placement, check func(supervisor.Placement) error) (supervisor.Placement, error) {
	var parts []*plan.Region
	for from := range g.Stages {
		for to := from; to < len(g.Stages); to++ {
			if r, err := g.Region(from, to); err == nil && len(r.Stages) < len(g.Stages) {
				parts = append(parts, r)
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b *plan.Region) int { return len(b.Stages) - len(a.Stages) })
	var at supervisor.Placement = supervisor.Regions{}
	err := errors.New("it has no part with one way in and one way out")
	for i, r := range parts {
		p := supervisor.Region{From: g.Stages[r.From].Name, On: on}
		if r.From != r.To {
			p.To = g.Stages[r.To].Name
		}
		cannot := check(supervisor.Regions{p})
		if cannot == nil || noMain(cannot) || i == 0 {
			at, err = supervisor.Regions{p}, cannot
		}
		if cannot == nil || noMain(cannot) {
			break
		}
	}
	return at, err
}
