package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// lengths is a source of which epoch e has lens[e] items.
func lengths(g *stages.Graph, src int, lens []int) stages.Stream[elem] {
	s := &site{plant: &plant{graph: &graph{epochs: len(lens)}}, vertex: &vertex{lens: lens, buffer: -1}, name: fmt.Sprint("source ", src)}
	return stages.Map(s.source(g, src), fmt.Sprint("from ", src), func(_ context.Context, p parcel) (elem, error) {
		return elem{p[0].Src*1000 + p[0].Index, p[0].Epoch}, nil
	})
}

// Sources of one graph may have epochs of any length. Each epoch of the graph has those of all of them, and none of
// another; a batch behind the merge never has two.
func TestEpochsOfSeveralSourcesStayTogether(t *testing.T) {
	for how, merge := range map[string]func(ins ...stages.Stream[elem]) stages.Stream[elem]{
		"arrival": func(ins ...stages.Stream[elem]) stages.Stream[elem] {
			return stages.Merge("mix", stages.Arrival{}, ins...)
		},
		"round robin": func(ins ...stages.Stream[elem]) stages.Stream[elem] {
			return stages.Merge("mix", stages.RoundRobin{}, ins...)
		},
		"weighted": func(ins ...stages.Stream[elem]) stages.Stream[elem] {
			return stages.Merge("mix", stages.Weighted{Weights: []float64{1, 5, 2}, Seed: 1}, ins...)
		},
		"by value": func(ins ...stages.Stream[elem]) stages.Stream[elem] {
			return stages.MergeFunc("mix", func(heads []*elem) int {
				best := -1
				for i, h := range heads {
					if h != nil && (best < 0 || h.Value%1000 < heads[best].Value%1000) {
						best = i
					}
				}
				return best
			}, ins...)
		},
	} {
		for _, lens := range [][3][]int{
			{{0}, {0}, {0}},
			{{0}, {1}, {0}},
			{{1, 1}, {1, 1}, {1, 1}},
			{{0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}},
			{{100, 0, 1}, {0, 100, 1}, {1, 1, 100}},
			{{3, 3, 3, 3}, {0, 50, 1, 20}, {700, 0, 0, 700}},
		} {
			t.Run(fmt.Sprint(how, lens), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]elem] {
						return stages.Batch(merge(lengths(g, 0, lens[0]), lengths(g, 1, lens[1]), lengths(g, 2, lens[2])), "batch", 7)
					}), supervisor.Config{})
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					next := 0
					for e, batches := range run.Epochs(ctx) {
						if e != next {
							t.Fatalf("epoch %d, want %d", e, next)
						}
						next++
						var got [3][]int
						for b, err := range batches {
							if err != nil {
								t.Fatal(err)
							}
							for _, v := range b {
								if v.Epoch != e {
									t.Fatalf("%v in epoch %d", v, e)
								}
								got[v.Value/1000] = append(got[v.Value/1000], v.Value%1000)
							}
						}
						for src := range got {
							if checkCount(t, got[src], len(got[src])); len(got[src]) != lens[src][e] {
								t.Errorf("epoch %d: %d items of source %d, want %d", e, len(got[src]), src, lens[src][e])
							}
						}
					}
					if next != len(lens[0]) {
						t.Errorf("%d epochs, want %d", next, len(lens[0]))
					}
				})
			})
		}
	}
}

// An inner break throws the rest of an epoch away, in every branch. The next epoch is whole, and in order.
func TestAnInnerBreakInADiamondGoesOnToTheNextEpoch(t *testing.T) {
	const n = 6000
	for name, build := range diamonds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					return build(stages.Source(g, "source", ints(n), stages.Epochs(30)), stages.Mailbox(2), stages.Ordered)
				}), supervisor.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				next := 0
				for e, items := range run.Epochs(ctx) {
					if e != next {
						t.Fatalf("epoch %d, want %d", e, next)
					}
					if next++; e%4 == 3 {
						continue // without a look at it
					}
					var got []int
					for v, err := range items {
						if err != nil {
							t.Fatalf("%v: %s", err, tellStages(run.Stats()))
						}
						if got = append(got, v); e%4 != 0 && len(got) == 30*e {
							break
						}
					}
					want := n
					if e%4 != 0 {
						want = 30 * e
					}
					if name == "route and arrival" {
						slices.Sort(got)
					}
					if len(got) != want {
						t.Fatalf("epoch %d: %d items, want %d", e, len(got), want)
					}
					if name != "route and arrival" || want == n {
						checkCount(t, got, want)
					}
				}
				if next != 30 || run.Err() != nil {
					t.Errorf("%d epochs, %v", next, run.Err())
				}
				if err := run.Wait(ctx); err != nil {
					t.Error(err)
				}
				if s := run.Stats(); s.InFlight != 0 || s.Yielded >= 30*n || s.Filtered == 0 || s.Failed != 0 {
					t.Errorf("the sources have not gone on: %s", tellStages(s))
				}
			})
		})
	}
}

// An inner break goes on to the next epoch of several sources, and of a merge that has epochs of its own.
func TestAnInnerBreakGoesOnInEverySource(t *testing.T) {
	for name, mix := range map[string]stages.Mix{
		"arrival": stages.Arrival{}, "round robin": stages.RoundRobin{},
		"weighted":        stages.Weighted{Weights: []float64{3, 1}, Seed: 5},
		"until first end": stages.Weighted{Weights: []float64{3, 1}, Seed: 5, UntilFirstEnd: true},
		"its own epochs":  stages.Weighted{Weights: []float64{3, 1}, Seed: 5, EpochItems: 5000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				epochs := stages.Epochs(20)
				if name == "its own epochs" {
					epochs = stages.Forever
				}
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					a := stages.Source(g, "a", ints(10_000), epochs)
					b := stages.Map(stages.Source(g, "b", ints(300), epochs), "b again", same)
					return stages.Map(stages.Merge("mix", mix, a, b), "same", same)
				}), supervisor.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				next := 0
				for e, items := range run.Epochs(ctx) {
					if e != next {
						t.Fatalf("epoch %d, want %d", e, next)
					}
					if next++; next == 20 {
						break
					}
					got := 0
					for _, err := range items {
						if err != nil {
							t.Fatalf("%v: %s", err, tellStages(run.Stats()))
						}
						if got++; e%3 != 0 && got == 10*e {
							break
						}
					}
					switch {
					case e%3 != 0:
					case name == "until first end":
						if got < 900 || got > 1600 { // 300 of b, and three times as many of a
							t.Errorf("epoch %d: %d items", e, got)
						}
					default:
						if got != map[bool]int{true: 5000, false: 10_300}[name == "its own epochs"] {
							t.Errorf("epoch %d: %d items", e, got)
						}
					}
				}
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// heldBack yields n numbers per epoch, those of the second one when the gate is opened.
func heldBack(n int, gate chan bool) func(context.Context, stages.Position) iter.Seq2[int, error] {
	return func(ctx context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			if from.Epoch > 0 {
				select {
				case <-gate:
				case <-ctx.Done():
					return
				}
			}
			for i := int(from.Index); i < n; i++ {
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}

// The end of an epoch is known at once, whatever the branches have to do in the next one: a merge does not wait for an
// item to know that there is none.
func TestAnEpochEndsWithoutAnItemOfTheNext(t *testing.T) {
	for name, build := range diamonds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan bool)
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					src := stages.Source(g, "source", stages.FromFunc(heldBack(10, gate)), stages.Epochs(2))
					return build(src)
				}), supervisor.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				seen := 0
				for e, items := range run.Epochs(ctx) {
					n := 0
					for _, err := range items {
						if err != nil {
							if errors.Is(err, context.DeadlineExceeded) {
								t.Fatalf("epoch %d does not end: %s", e, tellStages(run.Stats()))
							}
							t.Fatal(err)
						}
						n++
					}
					if seen++; n != 10 {
						t.Errorf("epoch %d: %d items", e, n)
					}
					if e == 0 {
						close(gate)
					}
				}
				if seen != 2 {
					t.Errorf("%d epochs", seen)
				}
			})
		})
	}
}

// What an epoch gives does not depend on how much of the one before was wanted.
func TestAnEpochDoesNotDependOnTheOneBefore(t *testing.T) {
	for name, mix := range map[string]stages.Mix{
		"round robin":     stages.RoundRobin{},
		"weighted":        stages.Weighted{Weights: []float64{3, 1}, Seed: 5},
		"until first end": stages.Weighted{Weights: []float64{3, 1}, Seed: 5, UntilFirstEnd: true},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(wanted int) (epochs [][]elem) {
				synctest.Test(t, func(t *testing.T) {
					run := deploy(t, define(func(g *stages.Graph) stages.Stream[elem] {
						return stages.Merge("mix", mix, lengths(g, 0, []int{3000, 3001, 2000, 7}), lengths(g, 1, []int{2000, 2000, 1, 3}))
					}), supervisor.Config{})
					for e, items := range run.Epochs(t.Context()) {
						var got []elem
						for v, err := range items {
							if err != nil {
								t.Fatal(err)
							}
							if got = append(got, v); e%2 == 0 && len(got) == wanted {
								break
							}
						}
						epochs = append(epochs, got)
					}
				})
				return epochs
			}
			want := run(0)
			for _, wanted := range []int{1, 2, 501} {
				for e, got := range run(wanted) {
					if e%2 == 0 {
						got = append(got, want[e][min(len(got), len(want[e])):]...)
					}
					if !slices.Equal(got, want[e]) {
						t.Errorf("epoch %d, of the others %d items: %d items, want %d, differ at %d", e, wanted, len(got), len(want[e]), differ(got, want[e]))
					}
				}
			}
		})
	}
}
