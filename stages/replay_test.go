package stages_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// lettersOf are n letters of a stage, for the number 1.
func lettersOf(t *testing.T, stage string, n int) iter.Seq2[stages.Letter, error] {
	payload, err := new(msgpack.Codec).Append(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(stages.Letter, error) bool) {
		for i := range n {
			if !yield(stages.Letter{Stage: stage, Item: stages.ID{Source: "source", Index: int64(i)}, Codec: "msgpack", Payload: payload}, nil) {
				return
			}
		}
	}
}

// forever is a source without end.
func forever(g *stages.Graph, name string) stages.Stream[int] {
	return stages.Source(g, name, stages.FromSlice([]int{1}), stages.Forever)
}

func addOne(_ context.Context, v int) (int, error) { return v + 1, nil }

func TestAReplayPutsLettersBeforeTheirStage(t *testing.T) {
	p := stages.Define("test", func(g *stages.Graph, _ int) stages.Stream[[]int] {
		a, b := stages.Map(forever(g, "x"), "a", addOne), stages.Map(forever(g, "y"), "b", addOne)
		return stages.Batch(stages.Merge("both", stages.Weighted{Weights: []float64{1, 1}, EpochItems: 5}, a, b), "batch", 4)
	}).With(0)
	r, err := p.Replaying(t.Context(), lettersOf(t, "b", 3))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	line := map[string]int{}
	for _, s := range r.Plan().Stages {
		names, line[s.Name] = append(names, s.Name), s.Line
		if s.Feed != nil && s.Epochs != 1 {
			t.Errorf("%q has %d epochs", s.Name, s.Epochs)
		}
		if s.Mix != nil && s.Mix.EpochItems != 0 {
			t.Errorf("%q makes epochs of %d items", s.Name, s.Mix.EpochItems)
		}
	}
	if got := strings.Join(names, ", "); got != "x, a, y, b: letters, b: with letters, b, both, batch" {
		t.Errorf("got the stages %s", got)
	}
	for _, s := range p.Plan().Stages {
		if line[s.Name] != s.Line {
			t.Errorf("%q was at line %d, and is at line %d", s.Name, s.Line, line[s.Name])
		}
	}
	if line["b: letters"] != line["b"] || line["b: with letters"] != line["b"] {
		t.Errorf("what stands before the stage, at line %d, is at others: %v", line["b"], line)
	}
}

func TestAReplayIsRefusedWhereLettersCannotBe(t *testing.T) {
	calls := 0
	for _, c := range []struct {
		name  string
		build func(g *stages.Graph, _ int) stages.Stream[int]
		want  string
	}{
		{"an input that no codec carries", func(g *stages.Graph, _ int) stages.Stream[int] {
			in := stages.Map(stages.Source(g, "source", stages.FromSlice([]int{1})), "before", func(context.Context, int) (any, error) { return 0, nil })
			return stages.Map(in, "it", func(context.Context, any) (int, error) { return 0, nil })
		}, `stage "it": it has letters, which cannot be decoded`},
		{"a build function that makes something else", func(g *stages.Graph, _ int) stages.Stream[int] {
			calls++
			return stages.Map(stages.Source(g, "source", stages.FromSlice([]int{1})), []string{"it", "that"}[calls-1], addOne)
		}, `has made no stage "it"`},
		{"a build function that dies", func(g *stages.Graph, _ int) stages.Stream[int] {
			if calls++; calls == 4 {
				panic("the second time")
			}
			return stages.Map(stages.Source(g, "source", stages.FromSlice([]int{1})), "it", addOne)
		}, "panicked: the second time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := stages.Define("test", c.build).With(0)
			if err := p.Err(); err != nil {
				t.Fatal(err)
			}
			_, err := p.Replaying(t.Context(), lettersOf(t, "it", 1))
			if _, ok := errors.AsType[*stages.DefinitionError](err); !ok || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), `pipeline "test"`) != 1 {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if p.Err() != nil {
				t.Errorf("the pipeline itself is faulty now: %v", p.Err())
			}
		})
	}
}

func TestTheZeroPipelineIsNotReplayed(t *testing.T) {
	if _, err := (stages.Pipeline[int]{}).Replaying(t.Context(), lettersOf(t, "it", 1)); err == nil {
		t.Error("no error")
	}
}

// However many letters are wrong, the error can be read.
func TestNotAllWrongLettersAreTold(t *testing.T) {
	p := stages.Define("test", func(g *stages.Graph, _ int) stages.Stream[int] {
		return stages.Map(stages.Source(g, "source", stages.FromSlice([]int{1})), "it", addOne)
	}).With(0)
	_, err := p.Replaying(t.Context(), lettersOf(t, "nobody", 1000))
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("all of one kind: got %v", err)
	}
	_, err = p.Replaying(t.Context(), func(yield func(stages.Letter, error) bool) {
		for i := 0; yield(stages.Letter{Stage: strings.Repeat("x", i+1)}, nil); i++ { // without end
		}
	})
	if err == nil || strings.Count(err.Error(), "no such stage") != 8 || !strings.HasSuffix(err.Error(), "and others") {
		t.Errorf("of many kinds: got %v", err)
	}
}

// A value can be asked whether it is the same.
func TestPipelinesCanBeCompared(t *testing.T) {
	d := stages.Define("test", func(g *stages.Graph, _ int) stages.Stream[int] {
		return stages.Source(g, "source", stages.FromSlice([]int{1}))
	})
	p := d.With(0)
	if q := p; q != p || d.With(0) == p {
		t.Error("a copy is another one, or another one is the same")
	}
}

// A join with letters behind its fork would wait for what has no place in the order; any other join keeps its own.
func TestAReplayMakesJoinsDoWithoutAnOrder(t *testing.T) {
	p := stages.Define("test", func(g *stages.Graph, _ int) stages.Stream[int] {
		join := func(name string, in stages.Stream[int]) stages.Stream[int] {
			way := stages.Route(in, name+" way", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil })
			return stages.Merge(name, stages.InputOrder{}, way[0], stages.Map(way[1], name+" odd", addOne, stages.Mailbox(2)))
		}
		return join("second", join("first", forever(g, "source")))
	}).With(0)
	for _, c := range []struct {
		letters       string
		first, second plan.How
	}{
		{"first odd", plan.Arrival, plan.InputOrder},
		{"second odd", plan.InputOrder, plan.Arrival},
		{"second way", plan.InputOrder, plan.InputOrder},
	} {
		r, err := p.Replaying(t.Context(), lettersOf(t, c.letters, 1))
		if err != nil {
			t.Fatal(err)
		}
		how := map[string]plan.How{}
		for _, s := range r.Plan().Stages {
			if s.Mix != nil {
				how[s.Name] = s.Mix.How
			}
			if !s.Ordered {
				t.Errorf("letters of %q: %q is not ordered", c.letters, s.Name)
			}
		}
		if how["first"] != c.first || how["second"] != c.second {
			t.Errorf("letters of %q: the joins are %v and %v, want %v and %v", c.letters, how["first"], how["second"], c.first, c.second)
		}
	}
}
