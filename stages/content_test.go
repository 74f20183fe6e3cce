package stages_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// between is the difference between two graphs with one source each, made by two processes.
func between[T any](t *testing.T, there, here stages.Origin[T]) string {
	t.Helper()
	text := func(from stages.Origin[T]) string {
		p := stages.Define("p", func(g *stages.Graph, _ struct{}) stages.Stream[T] { return stages.Source(g, "list", from) }).With(struct{}{})
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		return plan.FingerprintText(p.Plan())
	}
	return plan.Difference(text(there), text(here))
}

func TestWhatASourceIsMadeOfIsCompared(t *testing.T) {
	words := []string{"a", "b", "c"}
	many := make([]int, 100_000)
	other := slices.Clone(many)
	other[77_777] = 1
	for name, c := range map[string]struct {
		got  string
		want []string // in order; none: they are the same
	}{
		"equal slices":      {between(t, stages.FromSlice(words), stages.FromSlice(slices.Clone(words))), nil},
		"an empty one":      {between(t, stages.FromSlice(words), stages.FromSlice[string](nil)), []string{`stage "list": origin a slice of 3 (sha256 `, "there, a slice of 0 here"}},
		"another element":   {between(t, stages.FromSlice(many), stages.FromSlice(other)), []string{"a slice of 100000 (sha256 ", "there, a slice of 100000 (sha256 "}},
		"large equal ones":  {between(t, stages.FromSlice(many), stages.FromSlice(slices.Clone(many))), nil},
		"functions":         {between(t, stages.FromSlice([]func(){nil}), stages.FromSlice([]func(){nil})), nil},
		"more functions":    {between(t, stages.FromSlice([]func(){nil}), stages.FromSlice([]func(){nil, nil})), []string{"a slice of 1 there, a slice of 2 here"}},
		"panics":            {between(t, stages.FromSlice([]explosive{{1}}), stages.FromSlice([]explosive{{2}, {1}})), []string{"a slice of 1 there, a slice of 2 here"}},
		"another seed":      {between(t, stages.Shuffled(words, 1), stages.Shuffled(words, 2)), []string{"shuffled by seed 1: a slice of 3 (", "there, shuffled by seed 2: a slice of 3 ("}},
		"another rank":      {between(t, stages.Shard(stages.FromSlice(words), 0, 2), stages.Shard(stages.FromSlice(words), 1, 2)), []string{"shard 0 of 2 of a slice of 3 (", "there, shard 1 of 2 of a slice"}},
		"another world":     {between(t, stages.Shard(stages.FromFunc(nothing), 0, 2), stages.Shard(stages.FromFunc(nothing), 0, 3)), []string{"shard 0 of 2 of a function there, shard 0 of 3"}},
		"another pattern":   {between(t, stages.FromFiles("x", "*.jpg"), stages.FromFiles("x", "*.png")), []string{`the files of "x" like ["*.jpg"] there, the files of "x" like ["*.png"] here`}},
		"another kind":      {between(t, stages.FromFunc(nothing), stages.FromSlice([]int{})), []string{"a function there, a slice of 0 here"}},
		"a channel":         {between(t, stages.FromChan(make(chan int)), stages.FromFunc(nothing)), []string{"a channel there, a function here"}},
		"several functions": {between(t, stages.FromFunc(nothing), stages.FromFunc(nothing)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			rest := c.got
			for _, want := range c.want {
				at := strings.Index(rest, want)
				if at < 0 {
					t.Fatalf("%q is not in %q", want, c.got)
				}
				rest = rest[at+len(want):]
			}
			if (c.got == "") != (c.want == nil) {
				t.Errorf("got %q", c.got)
			}
		})
	}
}

func nothing(context.Context, stages.Position) iter.Seq2[int, error] {
	return func(func(int, error) bool) {}
}

// Elements of a megabyte are not gathered into one block of all of them.
func TestLargeElementsAreComparedOneByOne(t *testing.T) {
	large := make([][]byte, 40)
	for i := range large {
		large[i] = make([]byte, 1<<20)
	}
	other := slices.Clone(large)
	other[39] = make([]byte, 1<<20)
	if d := between(t, stages.FromSlice(large), stages.FromSlice(other)); d != "" {
		t.Errorf("equal ones differ: %s", d)
	}
	other[39][1<<19] = 1
	if d := between(t, stages.FromSlice(large), stages.FromSlice(other)); d == "" {
		t.Error("different ones do not differ")
	}
}

// A build function that depends on more than its Config is found out, as far as it shows in the graph.
func TestOptionsOfKindsAreCompared(t *testing.T) {
	size := 0
	d := stages.Define("p", func(g *stages.Graph, _ struct{}) stages.Stream[[]int] {
		s := stages.Unbatch(stages.Batch(numbers(g, "in"), "batch", 8+size, stages.MaxHeld(4)), "each")
		s = stages.Map(s, "work", same, stages.Mailbox(4), stages.OnError(stages.Skip(5)))
		return stages.BatchBySize(s, "pack", 100+size, itself)
	})
	text := func() string { return plan.FingerprintText(d.With(struct{}{}).Plan()) }
	before := text()
	if got := plan.Difference(before, text()); got != "" {
		t.Errorf("built twice: %s", got)
	}
	size = 1
	now := text()
	if got := plan.Difference(before, now); got != `stage "batch": size 8 there, 9 here` {
		t.Errorf("got %s", got)
	}
	_, before, _ = strings.Cut(before, "stage: \"pack\"\n")
	_, now, _ = strings.Cut(now, "stage: \"pack\"\n")
	if got := plan.Difference(before, now); !strings.Contains(got, "size 100 there, 101 here") {
		t.Errorf("got %s", got)
	}
}
