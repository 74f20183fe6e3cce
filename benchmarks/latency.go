package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A latency is measured item by item: how long it takes from its beginning to the consumer.
type latency struct {
	name, about string
	items       int    // in a full run
	parts       int    // turns that the contenders take
	hops        int    // hand-overs on the way, if they are all that the time is spent on
	base        string // the contender that the others are compared with
	contenders  []sprinter
}

// A sprinter is one way of getting single items through three stages.
type sprinter struct {
	name string
	run  func(ctx context.Context, n int) ([]time.Duration, error)
}

func latencies(s *supervisor.Supervisor) []latency {
	return []latency{
		{"first", "from Deploy to the first item", 300, 30, 0, baseline, []sprinter{
			{"weir", firstWeir(s)},
			{baseline, firstChannels},
		}},
		{"warm", "one item through a pipeline that is parked", 300, 5, 0, baseline, []sprinter{
			{"weir", warmWeir(s)},
			{baseline, warmChannels},
		}},
		{"hop", "1000 items per second", 1200, 5, 4, baseline, []sprinter{
			{"weir", hopWeir(s)},
			{baseline, hopChannels},
		}},
	}
}

// measure lets the contenders take turns, in parts of the n items.
func (l *latency) measure(ctx context.Context, cs []sprinter, n int) ([]row, error) {
	took := make([][]time.Duration, len(cs))
	allocs := make([][]float64, len(cs))
	part := max(n/l.parts, 1)
	for i := range l.parts {
		for j := range cs {
			k := (i + j) % len(cs)
			s, err := measure(part, func() error {
				defer watch(l.name, cs[k].name)()
				t, err := cs[k].run(ctx, part)
				took[k] = append(took[k], t...)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("work %s, %s: %w", l.name, cs[k].name, err)
			}
			allocs[k] = append(allocs[k], s.allocs)
		}
	}
	base := slices.IndexFunc(cs, func(s sprinter) bool { return s.name == l.base })
	var rows []row
	for k, c := range cs {
		r := row{
			Work: l.name, Contender: c.name, AllocsPerItem: median(allocs[k]),
			NsPerItem: float64(percentile(took[k], .5)), P99Ns: float64(percentile(took[k], .99)),
		}
		r.Ratio = r.NsPerItem / float64(percentile(took[base], .5))
		if l.base != baseline {
			r.Base = l.base
		}
		if l.hops > 0 {
			r.NsPerHop = r.NsPerItem / float64(l.hops)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// firstWeir deploys a pipeline, takes one item and stops it: the stopping is not timed.
func firstWeir(s *supervisor.Supervisor) func(context.Context, int) ([]time.Duration, error) {
	p := threeSteps("first", ints).With(3)
	return func(ctx context.Context, n int) (took []time.Duration, _ error) {
		for range n {
			begun := time.Now()
			run, err := supervisor.Deploy(ctx, s, p, supervisor.InProcess{})
			if err != nil {
				return took, err
			}
			for v, err := range run.Items(ctx) {
				took = append(took, time.Since(begun))
				if err != nil || v != trivial(0) {
					return took, fmt.Errorf("first item %d, want %d (error %v)", v, trivial(0), err)
				}
				break
			}
			if err := run.Stop(); err != nil {
				return took, err
			}
		}
		return took, nil
	}
}

func channelSteps(c <-chan int) <-chan int {
	for _, f := range steps() {
		c = channelStage(c, 1, 128, f)
	}
	return c
}

func firstChannels(_ context.Context, n int) (took []time.Duration, _ error) {
	for range n {
		begun := time.Now()
		c := channelSteps(channelSource(3, 128, same))
		<-c
		took = append(took, time.Since(begun))
		for range c {
		}
	}
	return took, nil
}

// pause is long enough for all goroutines of a pipeline to park.
const pause = time.Millisecond

// warmWeir sends items, one at a time, through a pipeline that has parked.
func warmWeir(s *supervisor.Supervisor) func(context.Context, int) ([]time.Duration, error) {
	def := threeSteps("warm", func(gate chan int) stages.Origin[int] { return stages.FromChan(gate) })
	return func(ctx context.Context, n int) ([]time.Duration, error) {
		gate := make(chan int, 1)
		run, err := supervisor.Deploy(ctx, s, def.With(gate), supervisor.InProcess{})
		if err != nil {
			return nil, err
		}
		defer run.Stop()
		return knock(n, gate, func() (int, error) { return run.Next(ctx) })
	}
}

func warmChannels(_ context.Context, n int) ([]time.Duration, error) {
	gate := make(chan int, 1)
	defer close(gate)
	c := channelSteps(gate)
	return knock(n, gate, func() (int, error) { return <-c, nil })
}

// knock puts n items in, one after the other has come out. The item before the first is not timed: it starts the last
// goroutines.
func knock(n int, in chan<- int, next func() (int, error)) (took []time.Duration, _ error) {
	for i := range n + 1 {
		time.Sleep(pause)
		begun := time.Now()
		in <- i
		v, err := next()
		if i > 0 {
			took = append(took, time.Since(begun))
		}
		if err != nil || v != trivial(i) {
			return took, fmt.Errorf("item %d came out as %d, want %d (error %v)", i, v, trivial(i), err)
		}
	}
	return took, nil
}

// A beat is a source that yields, once per pause, how long it is after begun.
type beat struct {
	begun time.Time
	n     int
}

func (b beat) items() iter.Seq2[time.Duration, error] {
	return func(yield func(time.Duration, error) bool) {
		for range b.n {
			time.Sleep(pause)
			if !yield(time.Since(b.begun), nil) {
				return
			}
		}
	}
}

func hopWeir(s *supervisor.Supervisor) func(context.Context, int) ([]time.Duration, error) {
	def := stages.Define("hop", func(g *stages.Graph, b beat) stages.Stream[time.Duration] {
		s := stages.Source(g, "source", stages.FromSeq(func(context.Context) iter.Seq2[time.Duration, error] { return b.items() }))
		for _, name := range []string{"first", "second", "third"} {
			s = stages.Map(s, name, func(_ context.Context, d time.Duration) (time.Duration, error) { return d, nil })
		}
		return s
	})
	return func(ctx context.Context, n int) (took []time.Duration, _ error) {
		b := beat{time.Now(), n}
		for sent, err := range supervisor.Items(ctx, s, def.With(b), supervisor.InProcess{}) {
			if err != nil {
				return took, err
			}
			took = append(took, time.Since(b.begun)-sent)
		}
		return took, nil
	}
}

func hopChannels(_ context.Context, n int) (took []time.Duration, _ error) {
	b := beat{time.Now(), n}
	source := make(chan time.Duration, 128)
	go func() {
		for d := range b.items() {
			source <- d
		}
		close(source)
	}()
	var c <-chan time.Duration = source
	for range stepCount {
		c = channelStage(c, 1, 128, func(d time.Duration) time.Duration { return d })
	}
	for sent := range c {
		took = append(took, time.Since(b.begun)-sent)
	}
	return took, nil
}
