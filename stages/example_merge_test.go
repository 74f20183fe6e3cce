package stages_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// source is a source of the words of a text.
func source(g *stages.Graph, name, text string, opts ...stages.SourceOption) stages.Stream[string] {
	return stages.Source(g, name, stages.FromSlice(strings.Fields(text)), opts...)
}

type pair struct{ A, B string }

func ExampleMerge_arrival() {
	p := stages.Define("all", func(g *stages.Graph, cfg pair) stages.Stream[string] {
		a, b := source(g, "a", cfg.A), source(g, "b", cfg.B)
		return stages.Merge("all", stages.Arrival{}, a, b)
	})
	show(p.With(pair{"a b c", "1 2"}))
	// Unordered output:
	// a
	// 1
	// b
	// 2
	// c
}

func ExampleMerge_roundRobin() {
	p := stages.Define("turns", func(g *stages.Graph, cfg pair) stages.Stream[string] {
		a, b := source(g, "a", cfg.A), source(g, "b", cfg.B)
		return stages.Merge("turns", stages.RoundRobin{}, a, b)
	})
	show(p.With(pair{"a b c d", "1 2"}))
	// Output:
	// a
	// 1
	// b
	// 2
	// c
	// d
}

func ExampleMerge_inputOrder() {
	p := stages.Define("both", func(g *stages.Graph, text string) stages.Stream[string] {
		words := stages.Source(g, "words", stages.FromSlice(strings.Fields(text)))
		plain, loud := stages.Tee(words, "copy")
		loud = stages.Map(loud, "upper", upper, stages.Mailbox(4))
		return stages.Merge("both", stages.InputOrder{}, plain, loud)
	})
	show(p.With("a weir"))
	// Output:
	// a
	// A
	// weir
	// WEIR
}

// Two endless sets, mixed three to one, in epochs of 1000 items.
func ExampleMerge_weighted() {
	type Config struct{ Large, Small []string }
	p := stages.Define("mixture", func(g *stages.Graph, cfg Config) stages.Stream[string] {
		large := stages.Source(g, "large", stages.FromSlice(cfg.Large), stages.Forever)
		small := stages.Source(g, "small", stages.FromSlice(cfg.Small), stages.Forever)
		return stages.Merge("mix", stages.Weighted{Weights: []float64{3, 1}, Seed: 1, EpochItems: 1000}, large, small)
	})
	run, err := supervisor.Deploy(context.Background(), supervisor.New(supervisor.Config{}), p.With(Config{[]string{"large"}, []string{"small"}}), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for epoch, words := range run.Epochs(context.Background()) {
		n, large := 0, 0
		for w, err := range words {
			if err != nil {
				fmt.Println(err)
				return
			}
			if n++; w == "large" {
				large++
			}
		}
		if fmt.Println("epoch", epoch, "has", n, "items,", large, "of them large"); epoch == 1 {
			break
		}
	}
	// Output:
	// epoch 0 has 1000 items, 757 of them large
	// epoch 1 has 1000 items, 752 of them large
}

// earliest chooses the smallest head. The heads of inputs that have ended are nil.
func earliest(heads []*string) (at int) {
	for i, h := range heads {
		if h != nil && (heads[at] == nil || *h < *heads[at]) {
			at = i
		}
	}
	return at
}

func ExampleMergeFunc() {
	p := stages.Define("sorted", func(g *stages.Graph, cfg pair) stages.Stream[string] {
		a, b := source(g, "a", cfg.A), source(g, "b", cfg.B)
		return stages.MergeFunc("by time", earliest, a, b)
	})
	show(p.With(pair{"09:00 09:05 09:30", "09:01 09:06"}))
	// Output:
	// 09:00
	// 09:01
	// 09:05
	// 09:06
	// 09:30
}
