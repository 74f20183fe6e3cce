package supervisor_test

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/weirflow/weir/stages"
)

// A lethal is a pipeline of which some items kill the process in which a stage works on them.
type lethal struct {
	N, Workers int
	Any        bool   // any order
	Streaming  bool   // the stage "many"
	Plain      bool   // there is no stage "many"
	Where      string // the stage that is fatal; "open", "flush" or "source" if no item is
	Fault      string // a key of deadly
	At         []int  // values there
	Policy     string // as that of a shape, of the fatal stage
	Budget     int
	Letters    string
	Tries      bool          // the values are what Attempt says
	Slow       time.Duration // that "map" takes
}

func (l lethal) at(ctx context.Context, stage string, v int) {
	if l.Where != stage || !slices.Contains(l.At, v) {
		return
	}
	shape{Fault: l.Fault, Every: v + 1}.work(ctx, cell{V: v})
}

func (l lethal) policy(stage string) (all []stages.AnyOption) {
	if p, ok := (shape{Policy: l.Policy, Budget: l.Budget, Letters: l.Letters}).policy(); ok && stage == l.Where {
		all = append(all, stages.OnError(p))
	}
	return all
}

func (l lethal) pool(stage string) (all []stages.FlatMapOption) {
	for _, o := range l.policy(stage) {
		all = append(all, o)
	}
	if all = append(all, stages.Mailbox(l.Workers), stages.Ordered); l.Any {
		all[len(all)-1] = stages.Unordered
	}
	return all
}

func (l lethal) mapper(stage string) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) {
		if l.at(ctx, stage, v); l.Slow > 0 {
			<-time.After(l.Slow)
		}
		return v, nil
	}
}

// A lethalBatcher is a batch of five that takes its items in one go.
type lethalBatcher struct {
	l    lethal
	held []int
}

func (b *lethalBatcher) Process(ctx context.Context, v int, emit func([]int) bool) error {
	_, err := b.Collect(ctx, []int{v}, emit)
	return err
}

func (b *lethalBatcher) Collect(ctx context.Context, items []int, emit func([]int) bool) (int, error) {
	n := min(len(items), 5-len(b.held))
	for _, v := range items[:n] {
		b.l.at(ctx, "gather", v)
		b.held = append(b.held, v)
	}
	if len(b.held) == 5 {
		emit(b.held)
		b.held = nil
	}
	return n, nil
}

func (b *lethalBatcher) Held() int { return len(b.held) }

func (b *lethalBatcher) Flush(ctx context.Context, emit func([]int) bool) error {
	b.l.at(ctx, "flush", 0)
	emit(b.held)
	b.held = nil
	return nil
}

var lethals = stages.Define("lethals", func(g *stages.Graph, l lethal) stages.Stream[[]int] {
	s := stages.Source(g, "source", stages.FromFunc(func(ctx context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < l.N; i++ {
				l.at(ctx, "source", i)
				if !yield(i, nil) {
					return
				}
			}
		}
	}))
	s = stages.Map(s, "map", l.mapper("map"), optionsOf(l.pool("map"))...)
	many := l.pool("many")
	if l.Streaming {
		many = append(many, stages.Streaming)
	}
	if l.Plain {
		return l.rest(s)
	}
	return l.rest(stages.FlatMap(s, "many", func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range 3 {
				if l.at(ctx, "many", 10*v+i); !yield(10*v+i, nil) {
					return
				}
			}
		}
	}, many...))
})

// rest is what comes behind the stage "many".
func (l lethal) rest(s stages.Stream[int]) stages.Stream[[]int] {
	s = stages.Map(s, "behind", func(ctx context.Context, v int) (int, error) {
		if l.at(ctx, "behind", v); l.Tries {
			return stages.Attempt(ctx), nil
		}
		return v, nil
	}, optionsOf(l.pool("behind"))...)
	var serial []stages.SerialOption
	for _, o := range l.policy("gather") {
		serial = append(serial, o)
	}
	b := stages.AttachSerial(s, "gather", stages.SerialKind[int, []int]{
		Name: "gather", Holds: true, MaxHeld: 5, MaxOutputs: 1,
		Open: func(ctx context.Context) (stages.Worker[int, []int], error) {
			l.at(ctx, "open", 0)
			return &lethalBatcher{l: l}, nil
		},
	}, serial...)
	return stages.Map(b, "sum", func(ctx context.Context, b []int) ([]int, error) {
		for _, v := range b {
			l.at(ctx, "sum", v)
		}
		return b, nil
	}, optionsOf(l.pool("sum"))...)
}

func optionsOf(in []stages.FlatMapOption) (all []stages.Option) {
	for _, o := range in {
		all = append(all, o.(stages.Option))
	}
	return all
}
