package supervisor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// stays has four workers at it, for 4 ms each on average: were they as one, they would drain together.
func stays(in stages.Stream[int], name string, opts ...stages.Option) stages.Stream[int] {
	return takes(in, name, func(v int) time.Duration { return time.Duration(1+v%7) * time.Millisecond }, opts...)
}

// steady takes 4 ms for each: what a merge waits for where its inputs are uneven differs from run to run, by more than 2 %.
func steady(in stages.Stream[int], name string, opts ...stages.Option) stages.Stream[int] {
	return takes(in, name, func(int) time.Duration { return 4 * time.Millisecond }, opts...)
}

func takes(in stages.Stream[int], name string, d func(int) time.Duration, opts ...stages.Option) stages.Stream[int] {
	return stages.Map(in, name, func(_ context.Context, v int) (int, error) {
		time.Sleep(d(v))
		return v, nil
	}, append(opts, stages.Mailbox(4))...)
}

// An epoch's end drains nothing: many short epochs take as long as a single one of as many items, and the consumer waits
// no longer between two epochs than within one. Time is that of a bubble: it passes only where everything waits.
func TestTheEndOfAnEpochLeavesNoBubble(t *testing.T) {
	type shape func(source func(name string) stages.Stream[int], opts ...stages.Option) stages.Stream[[]int]
	single := func(in stages.Stream[int]) stages.Stream[[]int] {
		return stages.Map(in, "single", func(_ context.Context, v int) ([]int, error) { return []int{v}, nil })
	}
	for name, build := range map[string]shape{
		"a stage": func(source func(string) stages.Stream[int], opts ...stages.Option) stages.Stream[[]int] {
			return single(stays(source("source"), "a", opts...))
		},
		"two stages": func(source func(string) stages.Stream[int], opts ...stages.Option) stages.Stream[[]int] {
			return single(stays(stays(source("source"), "a", opts...), "b", opts...))
		},
		"little room": func(source func(string) stages.Stream[int], opts ...stages.Option) stages.Stream[[]int] {
			opts = append(opts, stages.Buffer(1))
			return single(stays(stays(source("source"), "a", opts...), "b", opts...))
		},
		"batches": func(source func(string) stages.Stream[int], opts ...stages.Option) stages.Stream[[]int] {
			return stages.Batch(stays(source("source"), "a", opts...), "batch", 8)
		},
		"a diamond": func(source func(string) stages.Stream[int], _ ...stages.Option) stages.Stream[[]int] {
			b := stages.Route(source("source"), "route", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil })
			return single(stages.Merge("join", stages.InputOrder{}, steady(b[0], "a"), steady(b[1], "b")))
		},
		"two sources": func(source func(string) stages.Stream[int], opts ...stages.Option) stages.Stream[[]int] {
			return single(stages.Merge("mix", stages.Arrival{}, steady(source("source"), "a", opts...), steady(source("other"), "b", opts...)))
		},
		"two sources before a stage": func(source func(string) stages.Stream[int], opts ...stages.Option) stages.Stream[[]int] {
			return single(stays(stages.Merge("mix", stages.Arrival{}, source("source"), source("other")), "a", opts...))
		},
	} {
		for order, opts := range map[string][]stages.Option{"unordered": nil, "ordered": {stages.Ordered}} {
			t.Run(name+", "+order, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					// Not multiples of the workers. Where stages of the same speed follow each other, the second may wait for
					// the last results of an epoch, for less than an item takes: there, epochs are longer.
					n, epochs := 301, 10
					if name == "a stage" || name == "batches" || name == "two sources before a stage" {
						n, epochs = 49, 40
					}
					last := func(n, epochs int) (took, within, between time.Duration) {
						return paced(t, n, epochs, define(func(g *stages.Graph) stages.Stream[[]int] {
							return build(func(name string) stages.Stream[int] {
								return stages.Source(g, name, ints(n), stages.Epochs(epochs))
							}, opts...)
						}))
					}
					whole, _, _ := last(n*epochs, 1)
					parts, within, between := last(n, epochs)
					t.Logf("one epoch: %v; %d epochs: %v; longest wait within one %v, between two %v", whole, epochs, parts, within, between)
					if parts > whole*102/100 {
						t.Errorf("%d epochs took %v, one of as many items %v", epochs, parts, whole)
					}
					if between > within {
						t.Errorf("the consumer waited %v between two epochs, within one %v at most", between, within)
					}
				})
			})
		}
	}
}

// paced runs p, and says how long that took and how long the consumer has waited for an output, at most.
func paced(t *testing.T, n, epochs int, p stages.Pipeline[[]int]) (took, within, between time.Duration) {
	t.Helper()
	run := deploy(t, p, supervisor.Config{})
	begun := time.Now()
	seen, last := 0, begun
	for e, outputs := range run.Epochs(t.Context()) {
		first := true
		for _, err := range outputs {
			if err != nil {
				t.Fatal(err)
			}
			switch gap := time.Since(last); {
			case !first:
				within = max(within, gap)
			case e > 0:
				between = max(between, gap)
			}
			first, last = false, time.Now()
			seen++
		}
	}
	if took = time.Since(begun); seen < n*epochs/8 || run.Err() != nil {
		t.Fatalf("%d outputs, %v", seen, run.Err())
	}
	return took, within, between
}
