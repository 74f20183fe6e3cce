package supervisor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
	"github.com/weirflow/weir/supervisor"
)

// What stagetest.Run says of a part of a graph is what the runtime makes of it.

func TestRandomChainsGiveWhatStagetestGives(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 2))
			n := r.IntN(300)
			var chain []link
			ordered := true
			for range 1 + r.IntN(5) {
				l := randomLink(r)
				ordered = ordered && (l.ordered || l.workers == 1 || l.kind == "batch" || l.kind == "pairs")
				chain = append(chain, l)
			}
			fails := seed%4 == 0 && ordered // at the last stage, which has no policy
			for i := range chain {
				if k := chain[i].kind; !ordered && (k == "batch" || k == "pairs") { // which items meet depends on the order
					chain[i].kind = "map"
				}
			}
			t.Logf("%+v", chain)
			alike(t, ordered, ordered, givenElems(n), func(in stages.Stream[elem]) stages.Stream[elem] {
				for i, l := range chain {
					in = l.add(in, fmt.Sprintf("%d %s", i, l.kind))
				}
				return stages.Map(in, "last", func(_ context.Context, v elem) (elem, error) {
					if fails && v.Value%50 == 49 {
						return v, errBad
					}
					return v, nil
				})
			})
		})
	}
}

func givenElems(n int) []elem {
	var all []elem
	for i := range n {
		all = append(all, elem{Value: i})
	}
	return all
}

// An upshot is what became of some items.
type upshot struct {
	out      []elem
	filtered int
	failed   []string
	err      error
}

// inRuntime feeds in to what build adds in a run.
func inRuntime(t *testing.T, in []elem, build func(stages.Stream[elem]) stages.Stream[elem]) (o upshot) {
	t.Helper()
	told := make(chan bool)
	sup := supervisor.New(supervisor.Config{OnEvent: func(e supervisor.Event) {
		switch e := e.(type) {
		case supervisor.ItemFailed:
			o.failed = append(o.failed, e.Err.Error())
		case supervisor.RunEnded:
			close(told)
		}
	}})
	run, err := supervisor.Deploy(t.Context(), sup, define(func(g *stages.Graph) stages.Stream[elem] {
		return build(stages.Source(g, "given", stages.FromSlice(in)))
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			o.err = err
			break
		}
		o.out = append(o.out, v)
	}
	run.Stop()
	<-told
	o.filtered = int(run.Stats().Filtered)
	return o
}

// alike runs what build adds both ways. Unless it is ordered, items may come in any order; unless it is exact,
// a run that fails may give less.
func alike(t *testing.T, ordered, exact bool, in []elem, build func(stages.Stream[elem]) stages.Stream[elem]) {
	t.Helper()
	want := inRuntime(t, in, build)
	r := stagetest.Run(t, build, in...)
	got := upshot{out: r.Out, filtered: r.Filtered, err: r.Err}
	for _, e := range r.Failed {
		got.failed = append(got.failed, e.Error())
	}
	for _, o := range []*upshot{&want, &got} {
		slices.Sort(o.failed)
		if !ordered {
			slices.SortFunc(o.out, func(a, b elem) int { return cmp.Compare(a.Value, b.Value) })
		}
	}
	if (want.err == nil) != (got.err == nil) || errors.Is(want.err, errBad) != errors.Is(got.err, errBad) {
		t.Fatalf("stagetest fails with %v, the run with %v", got.err, want.err)
	}
	if n := len(want.out); !exact && want.err != nil && n < len(got.out) {
		got.out = got.out[:n] // what else has come out of other branches depends on time
	}
	if !slices.Equal(got.out, want.out) {
		t.Errorf("stagetest gives %d items, a run %d: differ at %d\n%v\n%v", len(got.out), len(want.out), differ(got.out, want.out), got.out, want.out)
	}
	if want.err != nil {
		return // what is in flight then depends on time
	}
	if got.filtered != want.filtered {
		t.Errorf("stagetest says that %d items are filtered, a run %d", got.filtered, want.filtered)
	}
	if !slices.Equal(got.failed, want.failed) {
		t.Errorf("failed in stagetest: %q\nin a run: %q", got.failed, want.failed)
	}
}

// Branched graphs: every way to part, and every way to come together.
func TestBranchedGraphsGiveWhatStagetestGives(t *testing.T) {
	type stream = stages.Stream[elem]
	add := func(in stream, name string) stream {
		return link{kind: "map", workers: 3, ordered: true, buffer: -1, size: len(name), dies: 7, fails: 23}.add(in, name)
	}
	three := func(in stream) []stream {
		return stages.Route(in, "route", 3, func(_ context.Context, v elem) (int, error) {
			if v.Value%31 == 30 {
				return 3, nil
			}
			return v.Value / 2 % 3, nil
		}, stages.OnError(stages.Skip(1<<20)), stages.Mailbox(2), stages.Ordered)
	}
	merged := func(mix stages.Mix) func(stream) stream {
		return func(in stream) stream {
			r := three(in)
			flat := link{kind: "flatmap", workers: 2, ordered: true, buffer: -1, size: 5, dies: 11}.add(r[2], "flat")
			return stages.Merge("merge", mix, flat, add(r[0], "a"), add(r[1], "b"))
		}
	}
	for name, c := range map[string]struct {
		unordered bool
		build     func(stream) stream
	}{
		"arrival":                   {true, merged(stages.Arrival{})},
		"in the order of the input": {false, merged(stages.InputOrder{})},
		"to no branch, and to two": {false, func(in stream) stream {
			f := stages.Fork(in, "fork", 3, func(_ context.Context, v elem, to func(int)) error {
				for b := range v.Value % 4 {
					to(b)
				}
				return nil
			})
			stages.Sink(f[1], "sink", func(_ context.Context, v elem) error {
				if v.Value%5 == 0 {
					return errBad
				}
				return nil
			}, stages.OnError(stages.Skip(1<<20)))
			return stages.Merge("merge", stages.InputOrder{}, f[2], add(f[0], "a"))
		}},
		"within one another": {false, func(in stream) stream {
			a, b := stages.Tee(in, "tee")
			r := three(a)
			inner := stages.Merge("inner", stages.InputOrder{}, add(r[1], "one"), add(r[2], "two"), r[0])
			return stages.Merge("outer", stages.InputOrder{}, add(b, "b"), inner)
		}},
		"pairs in a branch": {false, func(in stream) stream {
			r := three(in)
			pairs := link{kind: "pairs", workers: 1, buffer: -1, dies: 13}.add(r[1], "pairs")
			stages.Sink(pairs, "sink", func(context.Context, elem) error { return nil })
			return stages.Merge("merge", stages.InputOrder{}, r[0], r[2])
		}},
		"parts of batches": {false, func(in stream) stream {
			parts := stages.RouteBatch(stages.Batch(in, "batch", 7), "deal", 3, func(_ context.Context, b []elem) ([]int, error) {
				var to []int
				for _, v := range b {
					to = append(to, v.Value*v.Value%3)
				}
				return to, nil
			})
			for i := range parts {
				parts[i] = stages.Map(parts[i], fmt.Sprint("part ", i), func(_ context.Context, b []elem) ([]elem, error) {
					if b[0].Value%17 == 3 {
						return nil, errBad
					}
					return append([]elem(nil), b...), nil
				}, stages.OnError(stages.Skip(1<<20)))
			}
			return stages.Unbatch(stages.Rejoin("rejoin", parts...), "items")
		}},
		"a part that does not fit": {false, func(in stream) stream {
			parts := stages.RouteBatch(stages.Batch(in, "batch", 7), "deal", 2, func(_ context.Context, b []elem) ([]int, error) {
				return make([]int, len(b)), nil
			})
			short := stages.Map(parts[0], "short", func(_ context.Context, b []elem) ([]elem, error) { return b[1:], nil })
			return stages.Unbatch(stages.Rejoin("rejoin", short, parts[1]), "items")
		}},
		"a function that fails the run": {false, func(in stream) stream {
			same := func(_ context.Context, v elem) (elem, error) {
				if v.Value == 20 {
					return v, errBad
				}
				return v, nil
			}
			r := stages.Route(in, "route", 2, func(_ context.Context, v elem) (int, error) { return v.Value % 2, nil })
			return stages.Merge("merge", stages.InputOrder{}, stages.Map(r[0], "even", same), r[1])
		}},
	} {
		for _, n := range []int{0, 1, 2, 30, 200} {
			t.Run(fmt.Sprintf("%s, %d items", name, n), func(t *testing.T) {
				t.Parallel()
				alike(t, !c.unordered, false, givenElems(n), c.build)
			})
		}
	}
}
