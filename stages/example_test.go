package stages_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// show runs a pipeline and prints what comes out.
func show[Out any](p stages.Pipeline[Out]) {
	for v, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			fmt.Println("failed:", err)
			return
		}
		fmt.Println(v)
	}
}

func Example() {
	type Config struct{ Text string }
	lengths := stages.Define("lengths", func(g *stages.Graph, cfg Config) stages.Stream[[]int] {
		words := stages.Source(g, "words", stages.FromSlice(strings.Fields(cfg.Text)))
		lengths := stages.Map(words, "length", func(_ context.Context, w string) (int, error) { return len(w), nil },
			stages.Mailbox(4), stages.Ordered)
		return stages.Batch(lengths, "batch", 3)
	})
	show(lengths.With(Config{"a weir lets through what the stream can take"}))
	// Output:
	// [1 4 4]
	// [7 4 3]
	// [6 3 4]
}

// Each worker has an adder of its own, opened when it starts.
func ExampleMapWith() {
	sums := stages.Define("sums", func(g *stages.Graph, lines []string) stages.Stream[int] {
		return stages.MapWith(stages.Source(g, "lines", stages.FromSlice(lines)), "sum", newAdder, (*adder).sum)
	})
	show(sums.With([]string{"1 2 3", "4 5"}))
	// Output:
	// 6
	// 9
}

type adder struct{ scratch []string }

func newAdder(context.Context) (*adder, error) { return &adder{}, nil }

func (p *adder) sum(_ context.Context, line string) (sum int, err error) {
	p.scratch = append(p.scratch[:0], strings.Fields(line)...)
	for _, s := range p.scratch {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Another order each epoch, drawn from the seed.
func ExampleShuffled() {
	shuffled := stages.Define("shuffled", func(g *stages.Graph, paths []string) stages.Stream[string] {
		return stages.Source(g, "paths", stages.Shuffled(paths, 42), stages.Epochs(2))
	})
	show(shuffled.With([]string{"a", "b", "c"}))
	// Output:
	// c
	// a
	// b
	// a
	// c
	// b
}

// Each of two trainers reads its share of one shuffled list.
func ExampleShard() {
	type Config struct {
		Paths       []string
		Rank, World int
	}
	share := stages.Define("share", func(g *stages.Graph, cfg Config) stages.Stream[string] {
		return stages.Source(g, "paths", stages.Shard(stages.Shuffled(cfg.Paths, 42), cfg.Rank, cfg.World))
	})
	paths := []string{"a", "b", "c", "d", "e"}
	for rank := range 2 {
		fmt.Println("rank", rank)
		show(share.With(Config{paths, rank, 2}))
	}
	// Output:
	// rank 0
	// e
	// c
	// rank 1
	// a
	// d
}

func ExampleFlatMap() {
	words := stages.Define("words", func(g *stages.Graph, lines []string) stages.Stream[string] {
		in := stages.Source(g, "lines", stages.FromSlice(lines))
		return stages.FlatMap(in, "split", func(_ context.Context, line string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for w := range strings.FieldsSeq(line) {
					if !yield(w, nil) {
						return
					}
				}
			}
		})
	})
	show(words.With([]string{"one two", "", "three"}))
	// Output:
	// one
	// two
	// three
}

func ExampleFilter() {
	odd := stages.Define("odd", func(g *stages.Graph, n []int) stages.Stream[int] {
		return stages.Filter(stages.Source(g, "n", stages.FromSlice(n)), "odd", func(_ context.Context, v int) (bool, error) {
			return v%2 == 1, nil
		})
	})
	show(odd.With([]int{1, 2, 3, 4, 5}))
	// Output:
	// 1
	// 3
	// 5
}

// Up to ten numbers may be unreadable; the eleventh fails the run.
func ExampleOnError() {
	parse := stages.Define("parse", func(g *stages.Graph, texts []string) stages.Stream[int] {
		in := stages.Source(g, "texts", stages.FromSlice(texts))
		return stages.Map(in, "parse", func(_ context.Context, s string) (int, error) { return strconv.Atoi(s) },
			stages.OnError(stages.Skip(10)))
	})
	show(parse.With([]string{"1", "two", "3"}))
	// Output:
	// 1
	// 3
}

func ExampleItemID() {
	named := stages.Define("named", func(g *stages.Graph, batches [][]string) stages.Stream[string] {
		words := stages.Unbatch(stages.Source(g, "in", stages.FromSlice(batches)), "each")
		return stages.Map(words, "name", func(ctx context.Context, s string) (string, error) {
			return fmt.Sprint(stages.ItemID(ctx), " ", s), nil
		})
	})
	show(named.With([][]string{{"a", "b"}, {"c"}}))
	// Output:
	// in/0/0.0 a
	// in/0/0.1 b
	// in/0/1 c
}

// All mistakes come at once.
func ExampleDefinitionError() {
	faulty := stages.Define("faulty", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
		in := stages.Source(g, "in", stages.FromSlice([]int{1}))
		a := stages.Map(in, "a", same, stages.Mailbox(0))
		return stages.Map(a, "a", same, stages.Buffer(-1))
	})
	err := faulty.With(struct{}{}).Err()
	for e := range strings.Lines(err.Error()) {
		_, reason, _ := strings.Cut(e, "faulty\": ")
		reason, _, _ = strings.Cut(reason, ", at line")
		fmt.Println(strings.TrimSpace(reason))
	}
	var fault *stages.DefinitionError
	fmt.Println(errors.As(err, &fault), fault.Stage)
	// Output:
	// stage "a": mailbox 0, want at least 1
	// stage "a": the name is already taken
	// stage "a": buffer -1, want at least 0
	// true a
}

func ExamplePipeline_String() {
	doubles := stages.Define("doubles", func(g *stages.Graph, n int) stages.Stream[[]int] {
		ints := stages.Source(g, "ints", stages.FromSlice(make([]int, n)), stages.Buffer(0))
		doubles := stages.Map(ints, "double", func(_ context.Context, v int) (int, error) { return 2 * v, nil },
			stages.Mailbox(4), stages.Buffer(8), stages.OnError(stages.Skip(10)))
		return stages.Batch(doubles, "batch", 32, stages.Buffer(0))
	})
	fmt.Print(doubles.With(100))
	// Output:
	// pipeline "doubles", 3 stages
	//
	// stage         kind    from    items  mailbox  room  order      holds
	// ints          source  -       int    -        0     -          1
	// double        map     ints    int    4        8     unordered  12     skips 10
	// batch         batch   double  []int  1        0     ordered    33     holds back 32
	// the consumer  outlet  batch   []int  -        flow  -          9
	//
	// At most 55 items are held.
	// Of the sources' items, at most 334 are in flight.
	// Where their size is fixed, their values, as inputs and as outputs, take at most 200 bytes, without the chunks around them; elsewhere bytes are not bounded.
	// Rooms that follow the flow of strings, or of slices of numbers, are kept near 32 MiB each.
}

func ExamplePipeline_Mermaid() {
	halves := stages.Define("halves", func(g *stages.Graph, n int) stages.Stream[int] {
		parity := func(_ context.Context, v int) (int, error) { return v % 2, nil }
		branches := stages.Route(stages.Source(g, "ints", stages.FromSlice(make([]int, n))), "parity", 2, parity)
		halves := stages.Map(branches[0], "half", func(_ context.Context, v int) (int, error) { return v / 2, nil }, stages.Mailbox(4))
		return stages.Merge("all", stages.InputOrder{}, halves, branches[1])
	})
	fmt.Print(halves.With(100).Mermaid())
	// Output:
	// flowchart LR
	//   s0(["ints<br/>source"])
	//   s1{"parity<br/>route, mailbox 1"}
	//   s2["half<br/>map, mailbox 4"]
	//   s3{{"all<br/>merge"}}
	//   out(("the consumer"))
	//   s0 -->|"int, ≤ 1025"| s1
	//   s1 -->|"[0] int, ≤ 1028"| s2
	//   s2 -->|"int, ≤ 1025"| s3
	//   s1 -->|"[1] int, ≤ 1025"| s3
	//   s3 -->|"int, ≤ 1025"| out
}
