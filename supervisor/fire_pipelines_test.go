package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A quarry is what runs while its processes are killed: the stages ints, first, second, small, large, apart and last.
type quarry struct {
	N       int
	Of      string // what first is: "maps", "many", "streaming", "tee"
	Batches int    // 0: small, large and apart are not there; 1: large is not; 2: batches of batches
	Apart   bool   // batches are taken apart again
	Workers int    // of first and second
	Ordered bool
	Poison  int // the input that ends its process; 0: none does
}

func (c quarry) options() []stages.FlatMapOption {
	order := stages.FlatMapOption(stages.Unordered)
	if c.Ordered || c.Workers == 1 {
		order = stages.Ordered
	}
	return []stages.FlatMapOption{stages.Mailbox(c.Workers), order}
}

var quarries = stages.Define("quarries", func(g *stages.Graph, c quarry) stages.Stream[[]int] {
	var opts []stages.Option
	for _, o := range c.options() {
		opts = append(opts, o.(stages.Option))
	}
	s := stages.Source(g, "ints", ints(c.N))
	if c.Poison > 0 {
		return stages.Map(stages.Batch(stages.Map(stages.Map(s, "first", c.poisoned, opts...), "second", same, opts...), "small", 7), "last", theBatch)
	}
	switch c.Of {
	case "maps":
		s = stages.Map(s, "first", spinning, opts...)
	case "many":
		s = stages.FlatMap(s, "first", upToFour, c.options()...)
	case "streaming":
		s = stages.FlatMap(s, "first", upToFour, append(c.options(), stages.Streaming)...)
	case "tee":
		mix := stages.Mix(stages.Arrival{})
		if c.Ordered {
			mix = stages.InputOrder{}
		}
		a, b := stages.Tee(s, "first")
		s = stages.Merge("join", mix, stages.Map(a, "all", spinning, opts...), stages.Filter(b, "odd", oddOnly, opts...))
	}
	s = stages.Map(s, "second", same, opts...)
	switch {
	case c.Batches == 0:
		return stages.Map(s, "last", alone)
	case c.Batches == 1 && c.Apart:
		return stages.Map(stages.Unbatch(stages.Batch(s, "small", 7), "apart"), "last", alone)
	case c.Batches == 1:
		return stages.Map(stages.Batch(s, "small", 7), "last", theBatch)
	case c.Apart:
		return stages.Unbatch(stages.Map(stages.Batch(stages.Batch(s, "small", 7), "large", 3), "last", func(_ context.Context, b [][]int) ([][]int, error) { return b, nil }), "apart")
	}
	return stages.Map(stages.Batch(stages.Batch(s, "small", 7), "large", 3), "last", func(_ context.Context, b [][]int) ([]int, error) { return slices.Concat(b...), nil })
})

func theBatch(_ context.Context, b []int) ([]int, error) { return b, nil }

func (c quarry) poisoned(_ context.Context, v int) (int, error) {
	if v == c.Poison {
		os.Exit(9)
	}
	return v, nil
}

func alone(_ context.Context, v int) ([]int, error) { return []int{v}, nil }

// of returns what comes of input v.
func (c quarry) of(v int) (out []int) {
	switch {
	case c.Of == "tee" && v%2 == 1:
		return []int{v, v}
	case c.Of == "tee" || c.Of == "maps":
		return []int{v}
	}
	for i := range v % 5 {
		out = append(out, 10*v+i)
	}
	return out
}

// spin works for a while.
func spin() {
	for begun := time.Now(); time.Since(begun) < 20*time.Microsecond; {
	}
}

func spinning(_ context.Context, v int) (int, error) {
	spin()
	return v, nil
}

// upToFour makes v%5 items of v.
func upToFour(_ context.Context, v int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		spin()
		for i := range v % 5 {
			if !yield(10*v+i, nil) {
				return
			}
		}
	}
}

// check wants all that comes of what was yielded, each exactly once, in order if that is promised.
func (c quarry) check(got []int, s supervisor.Stats) error {
	var want []int
	nothing := 0
	for i := range int(s.Yielded) {
		out := c.of(i)
		if want = append(want, out...); len(out) == 0 {
			nothing++
		}
	}
	if s.Failed != 0 || s.Filtered != int64(nothing) || s.Delivered != s.Yielded-s.Filtered {
		return fmt.Errorf("of %d inputs, of %d of which nothing comes, %d were delivered, %d have failed and %d were filtered", s.Yielded, nothing, s.Delivered, s.Failed, s.Filtered)
	}
	if !c.Ordered && c.Workers > 1 {
		slices.Sort(got)
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("of %d inputs: outputs from %d on are %v, want %v", s.Yielded, i, got[i:min(i+8, len(got))], want[i:min(i+8, len(want))])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("of %d inputs: %d outputs, want %d", s.Yielded, len(got), len(want))
	}
	return nil
}

func (c quarry) String() string {
	name := c.Of
	if c.Batches > 0 {
		name += []string{"", " in batches", " in batches of batches"}[c.Batches]
	}
	if c.Apart {
		name += ", taken apart"
	}
	if c.Ordered || c.Workers == 1 {
		return name + ", ordered"
	}
	return name
}
