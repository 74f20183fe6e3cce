package dedupe_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/examples/dedupe"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
	"github.com/weirflow/weir/supervisor"
)

func Example() {
	words := stages.Define("words", func(g *stages.Graph, text string) stages.Stream[string] {
		all := stages.Source(g, "words", stages.FromSlice(strings.Fields(text)))
		return dedupe.Dedupe(all, "dedupe", 2)
	})
	sup := supervisor.New(supervisor.Config{})
	for word, err := range supervisor.Items(context.Background(), sup, words.With("a a b c a"), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(word, " ")
	}
	// Output: a b c a
}

func TestEveryThirdItemComesThrough(t *testing.T) {
	p := stages.Define("sample", func(g *stages.Graph, n int) stages.Stream[int] {
		return dedupe.Sample(stages.Source(g, "in", stages.FromSlice(make([]int, n))), "sample", 3)
	})
	n := 0
	for _, err := range supervisor.Items(t.Context(), supervisor.New(supervisor.Config{}), p.With(1000), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 333 {
		t.Errorf("%d items, want 333", n)
	}
}

// A kind of this package is refused with the line of the build function, as a built-in one is.
func TestFaultsOfForeignKindsAreNamed(t *testing.T) {
	err := stages.Define("faulty", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
		in := stages.Source(g, "in", stages.FromSlice([]int{1}))
		a := dedupe.Sample(in, "a", 2, stages.Mailbox(0))
		return dedupe.Dedupe(a, "a", -3, stages.Buffer(-1))
	}).With(struct{}{}).Err()
	for _, want := range []string{"dedupe_test.go:", `stage "a": mailbox 0`, "name is already taken", "buffer -1", "a memory of -3 items, want at least 1"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.Contains(fmt.Sprint(err), "dedupe.go:") {
		t.Errorf("the line of the constructor is named: %v", err)
	}
}

func TestDedupeDropsWhatItHasSeen(t *testing.T) {
	got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
		return dedupe.Dedupe(in, "dedupe", 2)
	}, 1, 1, 2, 3, 1)
	if !slices.Equal(got.Out, []int{1, 2, 3, 1}) || got.Filtered != 1 || got.Err != nil {
		t.Errorf("got %+v", got)
	}
}

// What its worker has seen is lost with it, so it conforms for items that are different.
func TestDedupeConforms(t *testing.T) {
	stagetest.Conform(t, func(in stages.Stream[string]) stages.Stream[string] {
		return dedupe.Dedupe(in, "dedupe", 2)
	}, "a", "b", "c")
}

func TestPairsConform(t *testing.T) {
	stagetest.Conform(t, func(in stages.Stream[int]) stages.Stream[[2]int] {
		return dedupe.Pairs(in, "pairs")
	}, 1, 2, 3, 4, 5)
}

func TestNeighboursBecomePairs(t *testing.T) {
	p := stages.Define("pairs", func(g *stages.Graph, n int) stages.Stream[[2]int] {
		numbers := make([]int, n)
		for i := range numbers {
			numbers[i] = i
		}
		return dedupe.Pairs(stages.Source(g, "in", stages.FromSlice(numbers)), "pairs")
	})
	next := 0
	for pair, err := range supervisor.Items(t.Context(), supervisor.New(supervisor.Config{}), p.With(1001), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if pair != [2]int{next, next + 1} {
			t.Fatalf("got %v, want %d and the next", pair, next)
		}
		next += 2
	}
	if next != 1000 {
		t.Errorf("%d items in pairs, want 1000", next)
	}
}

// docs/writing-a-stage.md shows pairs.go.
func TestTheGuideShowsThisCode(t *testing.T) {
	code, err := os.ReadFile("pairs.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/writing-a-stage.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(code), ")\n\n")
	if !strings.Contains(string(guide), "```go\n"+body+"```") {
		t.Error("the guide shows another program")
	}
}
