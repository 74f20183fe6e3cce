package supervisor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
)

// diamond routes numbers by their remainder, and restores their order; inside "odd" lies another diamond if deep.
func diamond(t *testing.T, deep bool) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		in := stages.Map(stages.Source(g, "ints", closed(t)), "before", same)
		way := stages.Route(in, "way", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil }, stages.Mailbox(2))
		odd := stages.Map(way[1], "odd", plus(10), stages.Mailbox(3))
		if deep {
			a, b := stages.Tee(odd, "tee")
			odd = stages.Merge("inner", stages.InputOrder{}, stages.Map(a, "left", plus(100)), stages.Map(b, "right", plus(200)))
		}
		return stages.Map(stages.Merge("order", stages.InputOrder{}, stages.Map(way[0], "even", same), odd), "behind", same)
	})
}

// Letters that do not enter between a fork and its join come out in their order, and those that do come out.
func TestAJoinRestoresTheOrderWhereItCan(t *testing.T) {
	for _, c := range []struct {
		name    string
		deep    bool
		letters [][]stages.Letter
		want    []int
		ordered bool
	}{
		{"before the fork", false, [][]stages.Letter{lettersOf("before", 1, 2, 3, 4)}, []int{11, 2, 13, 4}, true},
		{"at the fork", false, [][]stages.Letter{lettersOf("way", 4, 3, 2, 1)}, []int{4, 13, 2, 11}, true},
		{"behind the join", false, [][]stages.Letter{lettersOf("behind", 4, 3)}, []int{4, 3}, true},
		{"in a branch", false, [][]stages.Letter{lettersOf("odd", 1, 3)}, []int{11, 13}, true},
		{"in both branches and before", false, [][]stages.Letter{lettersOf("odd", 1, 3), lettersOf("even", 2), lettersOf("way", 5, 6)}, []int{2, 6, 11, 13, 15}, false},
		{"at an inner fork", true, [][]stages.Letter{lettersOf("tee", 1, 3), lettersOf("before", 2)}, []int{2, 101, 103, 201, 203}, false},
		{"in a branch of an inner fork", true, [][]stages.Letter{lettersOf("left", 1), lettersOf("before", 2, 3)}, []int{2, 101, 113, 213}, false},
		{"behind it all, with an inner fork", true, [][]stages.Letter{lettersOf("behind", 1), lettersOf("before", 2, 3)}, []int{1, 2, 113, 213}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := replayed(t, diamond(t, c.deep), c.letters...)
			if !c.ordered {
				slices.Sort(got)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// What is asked of a join that has an order to restore is asked of a replay, too.
func TestAJoinWithoutLettersInsideKeepsTheOrderOfMany(t *testing.T) {
	var in, want []int
	for i := range 3000 {
		in = append(in, i)
		if want = append(want, i); i%2 == 1 {
			want[i] += 10
		}
	}
	if got := replayed(t, diamond(t, false), lettersOf("way", in...)); !slices.Equal(got, want) {
		t.Error("the order is another one")
	}
}

func TestLettersOfPartsOfABatchAreRefused(t *testing.T) {
	p := define(func(g *stages.Graph) stages.Stream[[]int] { return dealt(g, stages.Source(g, "ints", closed(t))) })
	_, _, err := replay(t, p, post(lettersOf("odd", []int{1})))
	fault, ok := errors.AsType[*stages.DefinitionError](err)
	if !ok || fault.Stage != "odd" || fault.Line == 0 || !strings.Contains(fault.Reason, `"it" splits, which "whole"`) {
		t.Errorf("got %v", err)
	}
	_, _, err = replay(t, p, post(lettersOf("whole", []int{1})))
	if err == nil || !strings.Contains(err.Error(), `it is a rejoin, which does not work on items; letters can be run by "batch", "it", "odd"`) {
		t.Errorf("got %v", err)
	}
}

// A merge that waits for its inputs, which are empty now, does not wait for ever.
func TestEveryMergeTakesWhatComesOfLetters(t *testing.T) {
	for how, merge := range map[string]func(a, b, c stages.Stream[int]) stages.Stream[int]{
		"by value": func(a, b, c stages.Stream[int]) stages.Stream[int] { return stages.MergeFunc("merge", first, a, b, c) },
		"arrival": func(a, b, c stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("merge", stages.Arrival{}, a, b, c)
		},
		"round robin": func(a, b, c stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("merge", stages.RoundRobin{}, a, b, c)
		},
		"weighted": func(a, b, c stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("merge", stages.Weighted{Weights: []float64{1, 2, 3}}, a, b, c)
		},
		"weighted, with epochs of its own": func(a, b, c stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("merge", stages.Weighted{Weights: []float64{1, 2, 3}, EpochItems: 7}, a, b, c)
		},
		"weighted, until the first end": func(a, b, c stages.Stream[int]) stages.Stream[int] {
			return stages.Merge("merge", stages.Weighted{Weights: []float64{1, 2, 3}, UntilFirstEnd: true}, a, b, c)
		},
	} {
		for at, letters := range map[string][][]stages.Letter{
			"at one input":           {lettersOf("b", 1, 2, 3)},
			"at two inputs":          {lettersOf("a", 1, 2), lettersOf("c", 3)},
			"before and behind":      {lettersOf("a", 1), lettersOf("behind", 2), lettersOf("b", 3)},
			"behind, and not before": {lettersOf("behind", 1, 2, 3)},
		} {
			t.Run(how+" "+at, func(t *testing.T) {
				got := replayed(t, define(func(g *stages.Graph) stages.Stream[int] {
					var ins []stages.Stream[int]
					for _, name := range []string{"a", "b", "c"} {
						times := stages.Epochs(2)
						if how == "weighted, with epochs of its own" {
							times = stages.Forever
						}
						ins = append(ins, stages.Map(stages.Source(g, "source of "+name, closed(t), times), name, same))
					}
					return stages.Map(merge(ins[0], ins[1], ins[2]), "behind", same)
				}), letters...)
				if slices.Sort(got); !slices.Equal(got, []int{1, 2, 3}) {
					t.Errorf("got %v", got)
				}
			})
		}
	}
}
