package stages_test

import (
	"context"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
)

var update = flag.Bool("update", false, "write the golden files anew")

// described are pipelines of every shape.
func described() map[string]interface {
	String() string
	Mermaid() string
	DOT() string
} {
	type wide struct{ A, B float64 }
	read := func(_ context.Context, v int) (string, error) { return "", nil }
	pick := func(context.Context, int) (int, error) { return 0, nil }
	deal := func(context.Context, []int) ([]int, error) { return nil, nil }
	drop := func(context.Context, int) error { return nil }
	split := func(context.Context, string) iter.Seq2[wide, error] { return nil }
	batch := func(_ context.Context, v []int) ([]int, error) { return v, nil }
	return map[string]interface {
		String() string
		Mermaid() string
		DOT() string
	}{
		"chain": define("chain", func(g *stages.Graph) stages.Stream[wide] {
			s := stages.Map(numbers(g, "list"), "read \"it\"", read, stages.Mailbox(8), stages.Timeout(time.Second), stages.OnError(stages.Skip(stages.Fraction(0.01))))
			w := stages.FlatMap(s, "split", split, stages.Mailbox(2), stages.Ordered, stages.Buffer(4))
			b := stages.Batch(w, "batch", 32, stages.DropLast, stages.MaxWait(time.Minute))
			return stages.Unbatch(b, "unbatch")
		}),
		"bounded": define("bounded", func(g *stages.Graph) stages.Stream[int] {
			s := numbers(g, "source", stages.Buffer(0), stages.Epochs(3))
			for _, name := range []string{"a", "b", "c"} {
				s = stages.Map(s, name, same, stages.Buffer(0))
			}
			return s
		}),
		"diamonds": define("diamonds", func(g *stages.Graph) stages.Stream[int] {
			outer := stages.Route(numbers(g, "source"), "outer", 2, pick, stages.Mailbox(2))
			inner := stages.Route(outer[0], "inner", 2, pick)
			a := stages.Map(inner[0], "a", same, stages.Mailbox(4))
			b := stages.Filter(inner[1], "b", func(context.Context, int) (bool, error) { return true, nil })
			near := stages.Merge("near", stages.InputOrder{}, a, b)
			return stages.Merge("far", stages.InputOrder{}, near, outer[1])
		}),
		"rejoin": define("rejoin", func(g *stages.Graph) stages.Stream[[]int] {
			parts := stages.RouteBatch(stages.Batch(numbers(g, "source"), "batch", 16), "split", 3, deal, stages.Buffer(2))
			return stages.Rejoin("join", stages.Map(parts[0], "x", batch, stages.Mailbox(2)), parts[1], stages.Map(parts[2], "z", batch))
		}),
		"tee": define("tee", func(g *stages.Graph) stages.Stream[int] {
			a, b := stages.Tee(numbers(g, "source"), "tee")
			stages.Sink(b, "log", drop, stages.Mailbox(3), stages.OnError(stages.Skip(5)))
			return stages.Map(a, "main", same)
		}),
		"weighted": define("weighted", func(g *stages.Graph) stages.Stream[int] {
			m := stages.Merge("mix", stages.Weighted{Weights: []float64{0.7, 0.3}, Seed: 1, EpochItems: 1000}, numbers(g, "web", stages.Forever), numbers(g, "books", stages.Forever))
			return stages.Merge("again", stages.RoundRobin{}, m)
		}),
	}
}

func define[Out any](name string, build func(g *stages.Graph) stages.Stream[Out]) stages.Pipeline[Out] {
	return stages.Define(name, func(g *stages.Graph, _ struct{}) stages.Stream[Out] { return build(g) }).With(struct{}{})
}

func TestDescriptionsAreAsTheyWere(t *testing.T) {
	for name, p := range described() {
		for _, c := range []struct{ ext, got string }{{".txt", p.String()}, {".mmd", p.Mermaid()}, {".dot", p.DOT()}} {
			t.Run(name+c.ext, func(t *testing.T) {
				file := filepath.Join("testdata", "describe", name+c.ext)
				if *update {
					if err := os.WriteFile(file, []byte(c.got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if c.got != strings.ReplaceAll(string(want), "\r\n", "\n") {
					t.Errorf("got\n%s\nwant\n%s", c.got, want)
				}
			})
		}
	}
}

// Of a pipeline that cannot be deployed, what is wrong with it is all there is to say.
func TestAFaultyPipelineIsDescribedByItsFaults(t *testing.T) {
	p := define("bad", func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(numbers(g, "in", stages.Buffer(-1)), "m", same, stages.Mailbox(0))
	})
	lines := strings.Split(p.String(), "\n")
	if len(lines) != 5 || lines[0] != `pipeline "bad" cannot be deployed:` || !strings.HasPrefix(lines[2], "  describe_test.go:") ||
		!strings.HasSuffix(lines[2], `stage "in": buffer -1, want at least 0`) || !strings.HasSuffix(lines[3], `stage "m": mailbox 0, want at least 1`) {
		t.Errorf("got %q", lines)
	}
	if p.Mermaid() != "" || p.DOT() != "" {
		t.Errorf("drawn: %s%s", p.Mermaid(), p.DOT())
	}
	if zero := (stages.Pipeline[int]{}).String(); !strings.Contains(zero, "the zero Pipeline") {
		t.Errorf("got %s", zero)
	}
}

func TestWhatIsTooLongIsCut(t *testing.T) {
	var v struct{ A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P int }
	text := describe(v)
	if !strings.Contains(text, "struct { A int; B int; ") || !strings.Contains(text, "… ") || strings.Contains(text, "P int") {
		t.Errorf("got %s", text)
	}
}

func describe[T any](v T) string {
	return define("one", func(g *stages.Graph) stages.Stream[T] { return stages.Source(g, "one", stages.FromSlice([]T{v})) }).String()
}
