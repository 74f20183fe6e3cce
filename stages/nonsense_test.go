package stages_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// What makes no sense does not compile; its neighbour that does, does.
func TestNonsenseDoesNotCompile(t *testing.T) {
	const frame = `package p
import ("context"; "iter"; "time"; "github.com/weirflow/weir/stages")
type conn struct{}
func open(context.Context) (*conn, error) { return nil, nil }
func (*conn) put(context.Context, int) (string, error) { return "", nil }
func f(context.Context, int) (string, error) { return "", nil }
type sums struct{}
func openSums(context.Context) (*sums, error) { return nil, nil }
func openGroup(context.Context, bool) (*sums, error) { return nil, nil }
func (*sums) Process(context.Context, int, func(string) bool) error { return nil }
func (*sums) Flush(context.Context, func(string) bool) error { return nil }
func (*sums) Held() int { return 0 }
func large(v int) bool { return v > 2 }
func many(context.Context, int) iter.Seq2[string, error] { return nil }
var d = stages.Define("d", func(g *stages.Graph, cfg int) stages.Stream[int] { return stages.Source(g, "s", stages.FromSlice([]int{1})) })
var _ = time.Second
func _(ctx context.Context, g *stages.Graph, in stages.Stream[int]) { %s }`
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "source", nil)
	for _, c := range []struct {
		name, code string
		ok         bool
	}{
		{"map takes a mailbox", `stages.Map(in, "m", f, stages.Mailbox(4), stages.Ordered, stages.Timeout(time.Second))`, true},
		{"batch takes no mailbox", `stages.Batch(in, "b", 8, stages.Mailbox(4))`, false},
		{"batch waits", `stages.Batch(in, "b", 8, stages.MaxWait(time.Second), stages.DropLast, stages.Buffer(2))`, true},
		{"map does not wait", `stages.Map(in, "m", f, stages.MaxWait(time.Second))`, false},
		{"batch has no timeout", `stages.Batch(in, "b", 8, stages.Timeout(time.Second))`, false},
		{"aggregates need no type parameters", `var _ stages.Stream[string] = stages.Aggregate(in, "a", openSums, stages.MaxWait(time.Second))`, true},
		{"nor do groups", `var _ stages.Stream[string] = stages.AggregateByKey(in, "a", large, openGroup, stages.Groups(4), stages.DropLast)`, true},
		{"an aggregator flushes", `stages.Aggregate(in, "a", open)`, false},
		{"an aggregator takes what comes", `stages.Aggregate(stages.Map(in, "m", f), "a", openSums)`, false},
		{"the key is that of open", `stages.AggregateByKey(in, "a", func(int) int { return 0 }, openGroup)`, false},
		{"a key can be compared", `stages.AggregateByKey(in, "a", func(int) []int { return nil }, func(context.Context, []int) (*sums, error) { return nil, nil })`, false},
		{"an aggregate has no mailbox", `stages.Aggregate(in, "a", openSums, stages.Mailbox(2))`, false},
		{"map has no groups", `stages.Map(in, "m", f, stages.Groups(4))`, false},
		{"sizes are whole numbers", `stages.BatchBySize(in, "b", 8, func(int) float64 { return 1 })`, false},
		{"batches by size", `var _ stages.Stream[[]int] = stages.BatchBySize(in, "b", 8, func(int) int { return 1 }, stages.MaxHeld(9))`, true},
		{"source has epochs", `stages.Source(g, "s", stages.FromSlice([]int{1}), stages.Epochs(3))`, true},
		{"source has no order", `stages.Source(g, "s", stages.FromSlice([]int{1}), stages.Ordered)`, false},
		{"map has no epochs", `stages.Map(in, "m", f, stages.Epochs(3))`, false},
		{"map does not stream", `stages.Map(in, "m", f, stages.Streaming)`, false},
		{"flatmap streams", `stages.FlatMap(in, "m", many, stages.Streaming, stages.Mailbox(2))`, true},
		{"a count is a budget", `stages.OnError(stages.Skip(100))`, true},
		{"a fraction is a budget", `stages.OnError(stages.Skip(stages.Fraction(0.01)))`, true},
		{"a bare float is no budget", `stages.OnError(stages.Skip(0.01))`, false},
		{"a policy is no option", `stages.Map(in, "m", f, stages.Skip(100))`, false},
		{"a mailbox is a whole number", `stages.Map(in, "m", f, stages.Mailbox(2.5))`, false},
		{"a mailbox may be a variable", `n := 3; stages.Map(in, "m", f, stages.Mailbox(n))`, true},
		{"state by method expression", `stages.MapWith(in, "m", open, (*conn).put)`, true},
		{"state of the wrong type", `stages.MapWith(in, "m", open, func(s string, ctx context.Context, v int) (int, error) { return 0, nil })`, false},
		{"items of the wrong type", `stages.Map(stages.Map(in, "m", f), "n", f)`, false},
		{"config of the wrong type", `d.With("x")`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := parser.ParseFile(fset, "p.go", fmt.Sprintf(frame, "_ = func() { "+c.code+" }"), 0)
			if err != nil {
				t.Fatal(err)
			}
			conf := types.Config{Importer: imp}
			_, err = conf.Check("p", fset, []*ast.File{file}, nil)
			if (err == nil) != c.ok {
				t.Errorf("%s: %v", c.code, err)
			}
		})
	}
}
