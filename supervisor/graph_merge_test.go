package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
)

// first takes the least of the heads.
func first(heads []*int) int {
	best := -1
	for i, h := range heads {
		if h != nil && (best < 0 || *h < *heads[best]) {
			best = i
		}
	}
	return best
}

// threes is a source of n numbers, which are r modulo 3.
func threes(g *stages.Graph, r, n int) stages.Stream[int] {
	var s []int
	for i := range n {
		s = append(s, 3*i+r)
	}
	return stages.Source(g, fmt.Sprint("source ", r), stages.FromSlice(s))
}

// A function of a MergeFunc that dies at some choice is asked again, up to ten times. Then the run fails.
func TestAFunctionOfAMergeThatDiesIsAskedAgain(t *testing.T) {
	for _, deaths := range []int{1, 2, 10, 11} {
		for at := range 12 {
			for name, die := range map[string]func(){"panic": func() { panic("mine") }, "goexit": func() { mishaps()[1].strike() }} {
				left := deaths
				got, _, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
					return stages.MergeFunc("it", func(heads []*int) int {
						i := first(heads)
						if *heads[i] == at && left > 0 {
							left--
							die()
						}
						return i
					}, threes(g, 0, 4), threes(g, 1, 4), threes(g, 2, 4))
				}))
				at := fmt.Sprintf("%s at %d, %d times", name, at, deaths)
				checkCount(t, got, len(got))
				if deaths < 11 {
					if err != nil || len(got) != 12 {
						t.Errorf("%s: got %v, %v", at, got, err)
					}
					continue
				}
				if p, ok := errors.AsType[*stages.PanicError](err); !ok || p.Stage != "it" || !errors.Is(err, stages.ErrRestarts) || !strings.Contains(err.Error(), `stage "it"`) {
					t.Errorf("%s: got %v, %v", at, got, err)
				}
			}
		}
	}
}

func TestAnInputThatCannotBeFailsTheRun(t *testing.T) {
	for at := range 6 {
		for name, wrong := range map[string]func(heads []*int) int{
			"-1": func([]*int) int { return -1 },
			"n":  func([]*int) int { return 2 },
			"an input that has ended": func(heads []*int) int {
				if i := slices.Index(heads, nil); i >= 0 {
					return i
				}
				return 7
			},
		} {
			got, _, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.MergeFunc("it", func(heads []*int) int {
					i := first(heads)
					if *heads[i] == at {
						return wrong(heads)
					}
					return i
				}, numbersOf(g, "a", 6), numbersOf(g, "b", 0))
			}))
			if checkCount(t, got, at); !errors.Is(err, stages.ErrBranch) || !strings.Contains(err.Error(), `stage "it"`) {
				t.Errorf("%s at %d: got %v, %v", name, at, got, err)
			}
		}
	}
}

// Parts that do not come back as they left fail the run, and name the batch.
func TestAPartThatDoesNotFitFailsTheRun(t *testing.T) {
	for name, change := range map[string]func(part []int) []int{
		"shorter": func(part []int) []int { return part[1:] },
		"longer":  func(part []int) []int { return append(part[:len(part):len(part)], 1) },
	} {
		for batch := range 4 {
			got, s, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
				parts := stages.RouteBatch(stages.Batch(numbersOf(g, "source", 12), "batch", 3), "route", 2, func(_ context.Context, b []int) ([]int, error) {
					return []int{0, b[0] / 3 % 2, 1}, nil
				})
				x := stages.Map(parts[1], "x", func(_ context.Context, part []int) ([]int, error) {
					if part[len(part)-1]/3 == batch {
						return change(part), nil
					}
					return part, nil
				})
				return stages.Unbatch(stages.Rejoin("it", parts[0], x), "unbatch")
			}))
			e, ok := errors.AsType[*stages.ItemError](err)
			if !errors.Is(err, stages.ErrRejoin) || !ok || e.Stage != "it" || e.Item.Index != int64(3*batch) {
				t.Errorf("%s, batch %d: %v", name, batch, err)
			}
			if checkCount(t, got, 3*batch); s.Failed < 3 {
				t.Errorf("%s, batch %d: %s", name, batch, tellStages(s))
			}
		}
	}
}

// Weighted takes in proportion, and in an order that is the same in every run with the same seed, in every epoch another.
func TestWeightedDrawsInProportionAndRepeatably(t *testing.T) {
	run := func(seed uint64, slow bool) (order [][]int, took [][]int) {
		_, _, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
			var in []stages.Stream[int]
			for i, name := range []string{"a", "b", "c"} {
				src := numbersOf(g, name, 3000, stages.Epochs(2))
				in = append(in, stages.Map(src, "is "+name, func(_ context.Context, v int) (int, error) {
					if slow && v%(100+i) == 0 {
						(&site{plant: &plant{graph: &graph{bubble: true}}}).rest(uint64(v))
					}
					return i, nil
				}))
			}
			mixed := stages.Merge("mix", stages.Weighted{Weights: []float64{1, 2, 7}, Seed: seed, UntilFirstEnd: true}, in...)
			return stages.Map(stages.Batch(mixed, "all", 10_000), "tell", func(_ context.Context, epoch []int) (int, error) {
				n := make([]int, 3)
				for _, i := range epoch {
					n[i]++
				}
				order, took = append(order, epoch), append(took, n)
				return 0, nil
			})
		}))
		if err != nil || len(order) != 2 {
			t.Fatalf("%d epochs, %v", len(order), err)
		}
		return order, took
	}
	order, took := run(1, false)
	for _, n := range took {
		if n[2] != 3000 || n[0] < 330 || n[0] > 530 || n[1] < 730 || n[1] > 980 { // 429 and 857 on average
			t.Errorf("took %v, want 1:2:7", n)
		}
	}
	if slices.Equal(order[0], order[1]) {
		t.Error("both epochs have the same order")
	}
	again, _ := run(1, true)
	if !slices.Equal(order[0], again[0]) || !slices.Equal(order[1], again[1]) {
		t.Error("the order is another one when the inputs are slow")
	}
	if other, _ := run(2, false); slices.Equal(order[0], other[0]) {
		t.Error("the seed does not matter")
	}
}

// Rejoins within Rejoins put elements where they were, whatever is missing in which of them.
func TestRejoinsWithinRejoinsPutElementsWhereTheyWere(t *testing.T) {
	for seed := range uint64(40) {
		away := func(part []int) bool { return mix(seed, uint64(part[0]))%3 == 0 }
		var split func(in stages.Stream[[]int], level int, name string) stages.Stream[[]int]
		split = func(in stages.Stream[[]int], level int, name string) stages.Stream[[]int] {
			if level == 0 {
				return stages.Filter(in, name, func(_ context.Context, part []int) (bool, error) { return !away(part), nil })
			}
			n := 1 + int(mix(seed, uint64(level))%3)
			branches := stages.RouteBatch(in, name, n, func(_ context.Context, batch []int) (to []int, err error) {
				for _, v := range batch {
					to = append(to, int(mix(seed+uint64(level), uint64(v))%uint64(n)))
				}
				return to, nil
			})
			for i := range branches {
				branches[i] = split(branches[i], level-1, fmt.Sprint(name, ".", i))
			}
			return stages.Rejoin("re"+name, branches...)
		}
		got, _, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Unbatch(split(stages.Batch(numbersOf(g, "source", 400), "batch", 40), 3, "split"), "unbatch")
		}))
		if err != nil || !slices.IsSorted(got) || len(got) == 0 || len(got) == 400 {
			t.Errorf("seed %d: %d elements, %v: %v", seed, len(got), err, got)
		}
	}
}
