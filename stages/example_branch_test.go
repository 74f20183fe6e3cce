package stages_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/weirflow/weir/stages"
)

// The branches of ExampleRoute.
const (
	prose = iota
	code
	kinds
)

func kindOf(_ context.Context, doc string) (int, error) {
	if strings.HasPrefix(doc, "func ") {
		return code, nil
	}
	return prose, nil
}

func quote(_ context.Context, s string) (string, error) { return "`" + s + "`", nil }

func ExampleRoute() {
	p := stages.Define("docs", func(g *stages.Graph, texts []string) stages.Stream[string] {
		docs := stages.Source(g, "docs", stages.FromSlice(texts))
		byKind := stages.Route(docs, "kind", kinds, kindOf)
		p := stages.Map(byKind[prose], "prose", upper)
		c := stages.Map(byKind[code], "code", quote, stages.Mailbox(4))
		return stages.Merge("all", stages.InputOrder{}, p, c)
	})
	show(p.With([]string{"a weir", "func main()", "lets through"}))
	// Output:
	// A WEIR
	// `func main()`
	// LETS THROUGH
}

// byLength returns a branch for each word of the batch.
func byLength(_ context.Context, words []string) ([]int, error) {
	to := make([]int, len(words))
	for i, w := range words {
		if len(w) > 4 {
			to[i] = 1
		}
	}
	return to, nil
}

// each makes a function for batches of one for words.
func each(f func(string) string) func(context.Context, []string) ([]string, error) {
	return func(_ context.Context, words []string) ([]string, error) {
		out := make([]string, len(words))
		for i, w := range words {
			out[i] = f(w)
		}
		return out, nil
	}
}

func ExampleRouteBatch() {
	initials := each(func(w string) string { return w[:1] + "." })
	capitals := each(strings.ToUpper)
	p := stages.Define("words", func(g *stages.Graph, text string) stages.Stream[[]string] {
		words := stages.Batch(stages.Source(g, "words", stages.FromSlice(strings.Fields(text))), "batch", 4)
		parts := stages.RouteBatch(words, "by length", 2, byLength)
		short := stages.Map(parts[0], "short", capitals)
		long := stages.Map(parts[1], "long", initials, stages.Mailbox(4))
		return stages.Rejoin("whole", short, long)
	})
	show(p.With("a weir regulates the water level of a river"))
	// Output:
	// [A WEIR r. THE]
	// [w. l. OF A]
	// [r.]
}

func ExampleTee() {
	var audited atomic.Int64
	p := stages.Define("rows", func(g *stages.Graph, text string) stages.Stream[string] {
		rows := stages.Source(g, "rows", stages.FromSlice(strings.Fields(text)))
		rows, audit := stages.Tee(rows, "copy")
		stages.Sink(audit, "audit", func(_ context.Context, row string) error {
			audited.Add(int64(len(row)))
			return nil
		})
		return stages.Map(rows, "upper", upper)
	})
	show(p.With("a weir"))
	fmt.Println("audited", audited.Load())
	// Output:
	// A
	// WEIR
	// audited 5
}

// divisors sends a number down every branch that it belongs to. 5 and 7 belong to none, and are filtered.
func divisors(_ context.Context, v int, to func(branch int)) error {
	if v%2 == 0 {
		to(0)
	}
	if v%3 == 0 {
		to(1)
	}
	return nil
}

func ExampleFork() {
	p := stages.Define("divisors", func(g *stages.Graph, numbers []int) stages.Stream[string] {
		in := stages.Source(g, "numbers", stages.FromSlice(numbers))
		by := stages.Fork(in, "divisors", 2, divisors)
		even := stages.Map(by[0], "even", name("even"))
		third := stages.Map(by[1], "third", name("third"))
		return stages.Merge("all", stages.InputOrder{}, even, third)
	})
	show(p.With([]int{2, 3, 5, 6, 7}))
	// Output:
	// 2 even
	// 3 third
	// 6 even
	// 6 third
}

func name(as string) func(context.Context, int) (string, error) {
	return func(_ context.Context, v int) (string, error) { return fmt.Sprint(v, " ", as), nil }
}

// The short words are the pipeline's output; the long ones end in the Sink.
func ExampleSink() {
	var long []string // written by the sink's one worker, read when the run has ended
	p := stages.Define("words", func(g *stages.Graph, text string) stages.Stream[string] {
		words := stages.Source(g, "words", stages.FromSlice(strings.Fields(text)))
		by := stages.Route(words, "by length", 2, func(_ context.Context, w string) (int, error) { return min(len(w)/5, 1), nil })
		stages.Sink(by[1], "long", func(_ context.Context, w string) error {
			long = append(long, w)
			return nil
		})
		return by[0]
	})
	show(p.With("a weir regulates the water"))
	fmt.Println("long:", long)
	// Output:
	// a
	// weir
	// the
	// long: [regulates water]
}
