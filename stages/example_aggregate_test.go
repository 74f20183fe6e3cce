package stages_test

import (
	"context"
	"fmt"

	"github.com/weirflow/weir/stages"
)

// Batches of at most ten letters, whatever the number of words.
func ExampleBatchBySize() {
	packs := stages.Define("packs", func(g *stages.Graph, words []string) stages.Stream[[]string] {
		in := stages.Source(g, "words", stages.FromSlice(words))
		return stages.BatchBySize(in, "pack", 10, func(w string) int { return len(w) })
	})
	show(packs.With([]string{"one", "two", "three", "seventeen", "a", "four-and-twenty", "six"}))
	// Output:
	// [one two]
	// [three]
	// [seventeen a]
	// [four-and-twenty]
	// [six]
}

type point struct {
	Key   string
	Value float64
}

// means is the mean of all that has come since the last flush. (Its state follows from what it holds, so the one that
// replaces it after a panic ends up with the same.)
type means struct {
	sum  float64
	held int
}

func newMeans(context.Context) (*means, error) { return &means{}, nil }

func (m *means) Process(_ context.Context, p point, _ func(float64) bool) error {
	m.sum += p.Value
	m.held++
	return nil
}

func (m *means) Held() int { return m.held }

func (m *means) Flush(_ context.Context, emit func(float64) bool) error {
	emit(m.sum / float64(m.held))
	*m = means{}
	return nil
}

// A mean of every three points, and of what is left.
func ExampleAggregate() {
	p := stages.Define("means", func(g *stages.Graph, points []point) stages.Stream[float64] {
		return stages.Aggregate(stages.Source(g, "points", stages.FromSlice(points)), "mean", newMeans, stages.MaxHeld(3))
	})
	show(p.With([]point{{"a", 1}, {"b", 2}, {"a", 6}, {"c", 5}}))
	// Output:
	// 3
	// 5
}

// bucket collects texts of like length.
type bucket struct {
	size int
	held []string
}

func (b *bucket) Process(ctx context.Context, s string, emit func([]string) bool) error {
	if b.held = append(b.held, s); len(b.held) == b.size {
		return b.Flush(ctx, emit)
	}
	return nil
}

func (b *bucket) Held() int { return len(b.held) }

func (b *bucket) Flush(_ context.Context, emit func([]string) bool) error {
	emit(b.held)
	b.held = nil
	return nil
}

// Batches of words of the same length: the longer the words, the fewer. The rest comes in the order of its oldest words.
func ExampleAggregateByKey() {
	buckets := stages.Define("buckets", func(g *stages.Graph, words []string) stages.Stream[[]string] {
		open := func(_ context.Context, length int) (*bucket, error) { return &bucket{size: 12 / length}, nil }
		return stages.AggregateByKey(stages.Source(g, "words", stages.FromSlice(words)), "bucket",
			func(s string) int { return len(s) }, open, stages.Groups(16))
	})
	show(buckets.With([]string{"three", "one", "two", "seven", "six", "eight", "a", "ten", "four"}))
	// Output:
	// [three seven]
	// [one two six ten]
	// [eight]
	// [a]
	// [four]
}

// splitter is a kind that hands its outputs over as they are.
type splitter struct{}

func (splitter) Process(_ context.Context, s string, emit func(byte) bool) error {
	for i := range len(s) {
		emit(s[i])
	}
	return nil
}

func (splitter) Func() func(context.Context, string) ([]byte, error) {
	return func(_ context.Context, s string) ([]byte, error) { return []byte(s), nil }
}

func ExampleOneToMany() {
	letters := stages.Define("letters", func(g *stages.Graph, words []string) stages.Stream[byte] {
		return stages.Attach(stages.Source(g, "words", stages.FromSlice(words)), "split", stages.Kind[string, byte]{
			Name: "split",
			Open: func(context.Context) (stages.Worker[string, byte], error) { return splitter{}, nil },
		})
	})
	show(letters.With([]string{"no", "", "W"}))
	// Output:
	// 110
	// 111
	// 87
}

// runs makes one of items in a row that are equal, and takes them as they come.
type runs struct {
	v, n int
}

func (r *runs) Process(ctx context.Context, v int, emit func(string) bool) error {
	for {
		if n, err := r.Collect(ctx, []int{v}, emit); n == 1 || err != nil {
			return err
		}
	}
}

func (r *runs) Collect(_ context.Context, items []int, emit func(string) bool) (int, error) {
	for i, v := range items {
		if r.n > 0 && v != r.v {
			emit(fmt.Sprintf("%d times %d", r.n, r.v))
			r.n = 0
			return i, nil // v comes again
		}
		r.v = v
		r.n++
	}
	return len(items), nil
}

func (r *runs) Held() int { return r.n }

func (r *runs) Flush(_ context.Context, emit func(string) bool) error {
	emit(fmt.Sprintf("%d times %d", r.n, r.v))
	r.n = 0
	return nil
}

func ExampleCollector() {
	lengths := stages.Define("lengths", func(g *stages.Graph, n []int) stages.Stream[string] {
		return stages.AttachSerial(stages.Source(g, "n", stages.FromSlice(n)), "runs", stages.SerialKind[int, string]{
			Name: "runs", Holds: true,
			Open: func(context.Context) (stages.Worker[int, string], error) { return &runs{}, nil },
		})
	})
	show(lengths.With([]int{7, 7, 7, 1, 7, 7}))
	// Output:
	// 3 times 7
	// 1 times 1
	// 2 times 7
}
