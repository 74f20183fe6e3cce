package stages_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
)

func same(_ context.Context, v int) (int, error) { return v, nil }

func itself(v int) int { return v }

func noSums(context.Context, int) (stages.Aggregator[int, int], error) { return nil, nil }

func numbers(g *stages.Graph, name string, opts ...stages.SourceOption) stages.Stream[int] {
	return stages.Source(g, name, stages.FromSlice([]int{1, 2, 3}), opts...)
}

func faults(build func(g *stages.Graph) stages.Stream[int]) error {
	return stages.Define("faulty", func(g *stages.Graph, _ struct{}) stages.Stream[int] { return build(g) }).With(struct{}{}).Err()
}

// Each mistake is refused by the definition, and says which stage and why.
func TestMistakesAreNamed(t *testing.T) {
	passing := func(context.Context) (stages.Worker[int, int], error) { return nil, nil }
	for name, c := range map[string]struct {
		build func(g *stages.Graph) stages.Stream[int]
		want  []string
	}{
		"a mailbox of none": {func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(numbers(g, "in"), "m", same, stages.Mailbox(0))
		}, []string{`stage "m": mailbox 0, want at least 1`}},
		"a negative buffer": {func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(numbers(g, "in", stages.Buffer(math.MinInt)), "m", same, stages.Buffer(-1))
		}, []string{`stage "in": buffer -9223372036854775808`, `stage "m": buffer -1, want at least 0`}},
		"a name twice": {func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Map(numbers(g, "in"), "m", same), "m", same)
		}, []string{`stage "m": the name is already taken, at line `}},
		"an empty name": {func(g *stages.Graph) stages.Stream[int] { return stages.Map(numbers(g, "in"), "", same) },
			[]string{"the stage's name is empty"}},
		"a stream used twice": {func(g *stages.Graph) stages.Stream[int] {
			in := numbers(g, "in")
			stages.Map(in, "a", same)
			return stages.Map(in, "b", same)
		}, []string{`stage "b": the stream of "in" is already consumed by "a"`, `stage "a": its stream is not consumed`}},
		"a stream returned and used": {func(g *stages.Graph) stages.Stream[int] {
			in := numbers(g, "in")
			stages.Map(in, "a", same)
			return in
		}, []string{`stage "in": its stream is returned, and also consumed by "a"`}},
		"a stream left": {func(g *stages.Graph) stages.Stream[int] {
			numbers(g, "other")
			return numbers(g, "in")
		}, []string{`stage "other": its stream is not consumed`}},
		"nil functions": {func(g *stages.Graph) stages.Stream[int] {
			s := stages.Map[int, int](numbers(g, "in"), "map", nil)
			s = stages.Filter(s, "filter", nil)
			s = stages.FlatMap[int, int](s, "flatmap", nil)
			s = stages.MapWith[int, int, int](s, "mapwith", nil, nil)
			s = stages.FlatMapWith[int, int, int](s, "flatmapwith", nil, nil)
			s = stages.Attach(s, "attach", stages.Kind[int, int]{Name: "k"})
			return stages.AttachSerial(s, "serial", stages.SerialKind[int, int]{Name: "k"})
		}, []string{`"map": its function is nil`, `"filter": its function is nil`, `"flatmap": its function is nil`, `"mapwith": its function is nil`,
			`"flatmapwith": its function is nil`, `"attach": its function is nil`, `"serial": its function is nil`}},
		"no origin": {func(g *stages.Graph) stages.Stream[int] {
			a := stages.Source(g, "zero", stages.Origin[int]{})
			stages.Source(g, "seq", stages.FromSeq[int](nil))
			stages.Source(g, "func", stages.FromFunc[int](nil))
			stages.Source(g, "chan", stages.FromChan[int](nil))
			return a
		}, []string{`"zero": its origin is empty`, `"seq": FromSeq was given a nil function`, `"func": FromFunc was given a nil function`, `"chan": FromChan was given a nil channel`}},
		"a bad pattern": {func(g *stages.Graph) stages.Stream[int] {
			files := stages.Source(g, "list", stages.FromFiles(".", "[*"))
			return stages.Map(files, "n", func(context.Context, string) (int, error) { return 0, nil })
		}, []string{`stage "list": pattern "[*": syntax error in pattern`}},
		"no batches": {func(g *stages.Graph) stages.Stream[int] {
			return stages.Unbatch(stages.Batch(numbers(g, "in"), "b", 0), "u")
		}, []string{`stage "b": batches of 0 items, want at least 1`}},
		"no size to batch by": {func(g *stages.Graph) stages.Stream[int] {
			s := stages.Unbatch(stages.BatchBySize(numbers(g, "in"), "none", 0, func(int) int { return 1 }), "u")
			return stages.Unbatch(stages.BatchBySize(s, "nil", 1, nil), "v")
		}, []string{`stage "none": batches of size 0, want at least 1`, `stage "nil": its function is nil`}},
		"aggregates of nothing": {func(g *stages.Graph) stages.Stream[int] {
			s := stages.Aggregate[int, int, stages.Aggregator[int, int]](numbers(g, "in"), "a", nil, stages.MaxHeld(0))
			s = stages.AggregateByKey[int, int, int](s, "k", nil, noSums)
			return stages.AggregateByKey[int, int, int, stages.Aggregator[int, int]](s, "o", itself, nil)
		}, []string{`"a": its function is nil`, `"a": at most 0 items held, want at least 1`, `"k": its function is nil`, `"o": its function is nil`}},
		"groups": {func(g *stages.Graph) stages.Stream[int] {
			s := stages.AggregateByKey(numbers(g, "in"), "none", itself, noSums, stages.Groups(0))
			s = stages.AggregateByKey(s, "many", itself, noSums, stages.Groups(1<<30+1))
			s = stages.AggregateByKey(s, "good", itself, noSums, stages.Groups(1), stages.MaxWait(time.Second), stages.MaxHeld(1), stages.DropLast)
			s = stages.Aggregate(s, "a", func(context.Context) (stages.Aggregator[int, int], error) { return nil, nil }, stages.Groups(4))
			return stages.Unbatch(stages.Batch(s, "b", 2, stages.Groups(4)), "u")
		}, []string{`stage "none": 0 groups, want at least 1`, `stage "many": 1073741825 groups, want at most`,
			`stage "a": Groups means nothing to a stage of kind "aggregate"`, `stage "b": Groups means nothing to a stage of kind "batch"`}},
		"units forgotten": {func(g *stages.Graph) stages.Stream[int] {
			s := stages.Map(numbers(g, "in"), "m", same, stages.Timeout(5))
			return stages.Unbatch(stages.Batch(s, "b", 2, stages.MaxWait(5)), "u")
		}, []string{`stage "m": timeout 5ns, want at least 1µs`, `stage "b": wait of at most 5ns, want at least 1µs`}},
		"no epochs": {func(g *stages.Graph) stages.Stream[int] {
			numbers(g, "minus", stages.Epochs(-2))
			return numbers(g, "in", stages.Epochs(0))
		}, []string{`stage "in": 0 epochs, want at least 1, or Forever`, `stage "minus": -2 epochs`}},
		"a channel twice": {func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "in", stages.FromChan(make(chan int)), stages.Forever)
		}, []string{`stage "in": a channel has one epoch`}},
		"impossible budgets": {func(g *stages.Graph) stages.Stream[int] {
			s := stages.Map(numbers(g, "in"), "count", same, stages.OnError(stages.Skip(-1)))
			s = stages.Map(s, "zero", same, stages.OnError(stages.Skip(stages.Fraction(0))))
			s = stages.Map(s, "much", same, stages.OnError(stages.Skip(stages.Fraction(1.1))))
			return stages.Map(s, "nan", same, stages.OnError(stages.Skip(stages.Fraction(math.NaN()))))
		}, []string{`"count": a budget of -1 failures`, `"zero": a budget of a fraction of 0,`, `"much": a budget of a fraction of 1.1`, `"nan": a budget of a fraction of NaN`}},
		"waiting where nothing is held": {func(g *stages.Graph) stages.Stream[int] {
			return stages.AttachSerial(numbers(g, "in"), "s", stages.SerialKind[int, int]{Name: "plain", Open: passing}, stages.MaxWait(time.Second), stages.DropLast, stages.MaxHeld(0))
		}, []string{`MaxWait means nothing to a plain, which holds no items back`, `DropLast means nothing`, `at most 0 items held, want at least 1`}},
		"an order that is none": {func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(numbers(g, "in"), "m", same, stages.Order(7))
		},
			[]string{`stage "m": order 7, want Ordered or Unordered`}},
		"the zero stream as input": {func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Stream[int]{}, "m", same)
		}, []string{`stage "m": its input is the zero Stream`}},
		"the zero stream as output": {func(g *stages.Graph) stages.Stream[int] { return stages.Stream[int]{} },
			[]string{`the build function returned the zero Stream`}},
		"a panic": {func(g *stages.Graph) stages.Stream[int] { panic("mine") },
			[]string{"the build function panicked: mine", "define_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := faults(c.build)
			if err == nil {
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), `stage "good"`) {
				t.Error(err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
			if e, ok := errors.AsType[*stages.DefinitionError](err); !ok || e.Pipeline != "faulty" {
				t.Errorf("got %T", err)
			}
		})
	}
}

func TestAStreamOfAnotherGraphIsRefused(t *testing.T) {
	var stolen stages.Stream[int]
	stages.Define("one", func(g *stages.Graph, _ int) stages.Stream[int] { stolen = numbers(g, "in"); return stolen }).With(0)
	err := stages.Define("two", func(g *stages.Graph, _ int) stages.Stream[int] { return stolen }).With(0).Err()
	if err == nil || !strings.Contains(err.Error(), `returned a stream of another graph, "one"`) {
		t.Error(err)
	}
}

func TestADefinitionWithoutNameOrFunctionIsRefused(t *testing.T) {
	for _, d := range []*stages.Definition[int, int]{
		stages.Define[int, int]("none", nil),
		stages.Define("", func(g *stages.Graph, _ int) stages.Stream[int] { return numbers(g, "in") }),
	} {
		if err := d.With(0).Err(); err == nil {
			t.Errorf("%q was accepted", d.Name())
		}
	}
	if (stages.Pipeline[int]{}).Err() == nil {
		t.Error("the zero Pipeline was accepted")
	}
}

func TestFaultsComeAllAtOnceWithTheirLines(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	err := stages.Define("faulty", func(g *stages.Graph, _ int) stages.Stream[int] {
		s := stages.Map(numbers(g, "in"), "a", same, stages.Mailbox(0)) // two lines below Caller
		s = stages.Map(s, "a", same)
		return stages.Unbatch(
			stages.Batch(s, "b", -1),
			"u",
		)
	}).With(0).Err()
	for _, want := range []string{
		fmt.Sprintf(`define_test.go:%d: pipeline "faulty": stage "a": mailbox 0`, line+2),
		fmt.Sprintf(`define_test.go:%d: pipeline "faulty": stage "a": the name is already taken, at line %d`, line+3, line+2),
		fmt.Sprintf(`define_test.go:%d: pipeline "faulty": stage "b": batches of -1`, line+5),
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "define_test.go:"); n != 3 {
		t.Errorf("%d faults, want 3:\n%v", n, err)
	}
}

func TestAPipelineCanBeMadeManyTimes(t *testing.T) {
	builds := 0
	d := stages.Define("d", func(g *stages.Graph, n int) stages.Stream[int] {
		builds++
		return stages.Map(numbers(g, "in"), "m", same, stages.Mailbox(n))
	})
	if builds != 0 {
		t.Error("Define has called the build function")
	}
	for n := range 3 {
		if err := d.With(n + 1).Err(); err != nil {
			t.Error(err)
		}
	}
	if d.With(0).Err() == nil || builds != 4 {
		t.Errorf("%d builds", builds)
	}
}
