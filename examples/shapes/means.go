package shapes

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weirflow/weir/stages"
)

// A Reading is what a sensor says, so long after the one before.
type Reading struct {
	After time.Duration
	Key   string
	Value float64
}

// A Mean is that of a key's readings.
type Mean struct {
	Key  string
	Mean float64
	N    int
}

// Sensors is the configuration of Means.
type Sensors struct {
	Readings []Reading
	Every    time.Duration
}

// Means emits the mean of each key when the first reading since the last means has waited so long.
var Means = stages.Define("means", func(g *stages.Graph, cfg Sensors) stages.Stream[Mean] {
	readings := stages.Source(g, "readings", stages.FromSeq(cfg.read))
	return stages.Aggregate(readings, "mean", openMeans, stages.MaxWait(cfg.Every))
})

// read yields the readings in their time. It watches ctx while it waits: a run that is stopped must not wait for it.
func (cfg Sensors) read(ctx context.Context) iter.Seq2[Reading, error] {
	return func(yield func(Reading, error) bool) {
		for _, r := range cfg.Readings {
			select {
			case <-time.After(r.After):
			case <-ctx.Done():
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// means is an aggregator: it holds what it has been given until it is flushed.
type means struct {
	sum  map[string]float64
	n    map[string]int
	held int
}

func openMeans(context.Context) (*means, error) {
	return &means{sum: map[string]float64{}, n: map[string]int{}}, nil
}

// Process implements stages.Worker.
func (m *means) Process(_ context.Context, r Reading, _ func(Mean) bool) error {
	m.sum[r.Key] += r.Value
	m.n[r.Key]++
	m.held++
	return nil
}

// Held implements stages.Flusher. All readings since the last Flush are needed: should this aggregator die, they are
// given to the next one.
func (m *means) Held() int { return m.held }

// Flush implements stages.Flusher.
func (m *means) Flush(_ context.Context, emit func(Mean) bool) error {
	for _, key := range slices.Sorted(maps.Keys(m.n)) {
		emit(Mean{key, m.sum[key] / float64(m.n[key]), m.n[key]})
	}
	clear(m.sum)
	clear(m.n)
	m.held = 0
	return nil
}
