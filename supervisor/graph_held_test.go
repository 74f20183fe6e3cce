package supervisor_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A rig makes the stages of a graph that is measured: all with the same room, functions that count the calls under way,
// and sinks that wait for a sign.
type rig struct {
	g      *stages.Graph
	small  bool // without waiting rooms
	gauges map[string]*gauge
	open   chan bool // closed: the sinks may go on
}

func (r *rig) opts(more ...stages.Option) []stages.Option {
	if r.small {
		more = append(more, stages.Buffer(0))
	}
	return more
}

// call is what every function does: it takes a moment.
func (r *rig) call(name string) {
	defer r.gauges[name].enter()()
	time.Sleep(time.Microsecond)
}

func (r *rig) source(name string) stages.Stream[int] {
	r.gauges[name] = &gauge{}
	from := endless(new(atomic.Int64))
	if r.small {
		return stages.Source(r.g, name, from, stages.Forever, stages.Buffer(0))
	}
	return stages.Source(r.g, name, from, stages.Forever)
}

func (r *rig) mapped(in stages.Stream[int], name string, opts ...stages.Option) stages.Stream[int] {
	r.gauges[name] = &gauge{}
	return stages.Map(in, name, func(_ context.Context, v int) (int, error) {
		r.call(name)
		return v, nil
	}, r.opts(opts...)...)
}

// some lets those numbers pass that keep says.
func (r *rig) some(in stages.Stream[int], name string, keep func(int) bool, opts ...stages.Option) stages.Stream[int] {
	r.gauges[name] = &gauge{}
	return stages.Filter(in, name, func(_ context.Context, v int) (bool, error) {
		r.call(name)
		return keep(v), nil
	}, r.opts(opts...)...)
}

func (r *rig) route(in stages.Stream[int], name string, n int, to func(int) int, opts ...stages.Option) []stages.Stream[int] {
	r.gauges[name] = &gauge{}
	return stages.Route(in, name, n, func(_ context.Context, v int) (int, error) {
		r.call(name)
		return to(v), nil
	}, r.opts(opts...)...)
}

func (r *rig) fork(in stages.Stream[int], name string, n int, to func(v, branch int) bool, opts ...stages.Option) []stages.Stream[int] {
	r.gauges[name] = &gauge{}
	return stages.Fork(in, name, n, func(_ context.Context, v int, send func(int)) error {
		r.call(name)
		for b := range n {
			if to(v, b) {
				send(b)
			}
		}
		return nil
	}, r.opts(opts...)...)
}

func (r *rig) sink(in stages.Stream[int], name string, opts ...stages.Option) {
	r.picky(in, name, func(int) bool { return true }, opts...)
}

// picky is a sink that waits only for some items.
func (r *rig) picky(in stages.Stream[int], name string, stops func(int) bool, opts ...stages.Option) {
	r.gauges[name] = &gauge{}
	stages.Sink(in, name, func(ctx context.Context, v int) error {
		defer r.gauges[name].enter()()
		if !stops(v) {
			return nil
		}
		select {
		case <-r.open:
		case <-ctx.Done():
		}
		return nil
	}, r.opts(opts...)...)
}

func (r *rig) batch(in stages.Stream[int], name string, n int) stages.Stream[[]int] {
	if r.small {
		return stages.Batch(in, name, n, stages.Buffer(0))
	}
	return stages.Batch(in, name, n)
}

func (r *rig) deal(in stages.Stream[[]int], name string, n int) []stages.Stream[[]int] {
	return stages.RouteBatch(in, name, n, func(_ context.Context, v []int) ([]int, error) {
		to := make([]int, len(v))
		for i := range v {
			to[i] = v[i] % n
		}
		return to, nil
	}, r.opts()...)
}

func (r *rig) parts(in stages.Stream[[]int], name string, opts ...stages.Option) stages.Stream[[]int] {
	r.gauges[name] = &gauge{}
	return stages.Map(in, name, func(_ context.Context, v []int) ([]int, error) {
		r.call(name)
		return v, nil
	}, r.opts(opts...)...)
}

func parity(v int) int { return v % 2 }

// measured are graphs with branches and joins of every kind. least is how much of what is described they reach, at least,
// without waiting rooms, and before the sinks go on.
func measured() map[string]struct {
	least float64
	build func(r *rig) stages.Stream[int]
} {
	type entry = struct {
		least float64
		build func(r *rig) stages.Stream[int]
	}
	four := stages.Mailbox(4)
	two := func(mix stages.Mix) entry {
		return entry{0.9, func(r *rig) stages.Stream[int] {
			x := r.mapped(r.source("source"), "x", four)
			return r.mapped(stages.Merge("join", mix, x, r.mapped(r.source("other"), "y")), "last")
		}}
	}
	return map[string]entry{
		"route and input order": {0.5, func(r *rig) stages.Stream[int] {
			b := r.route(r.source("source"), "route", 2, parity)
			return stages.Merge("join", stages.InputOrder{}, r.mapped(b[0], "a"), r.mapped(b[1], "b"))
		}},
		"route and arrival": {0.7, func(r *rig) stages.Stream[int] {
			b := r.route(r.source("source"), "route", 3, func(v int) int { return v % 3 }, four)
			return stages.Merge("join", stages.Arrival{}, r.mapped(b[0], "a", four), r.mapped(b[1], "b"), b[2])
		}},
		"all to one branch": {0, func(r *rig) stages.Stream[int] {
			b := r.route(r.source("source"), "route", 2, func(int) int { return 1 })
			return stages.Merge("join", stages.InputOrder{}, r.mapped(b[0], "a"), r.mapped(b[1], "b", four))
		}},
		"tee and input order": {0, func(r *rig) stages.Stream[int] {
			a, b := stages.Tee(r.source("source"), "tee")
			odd := r.some(a, "odd", func(v int) bool { return v%2 == 1 }, four)
			return stages.Merge("join", stages.InputOrder{}, odd, r.some(b, "even", func(v int) bool { return v%2 == 0 }))
		}},
		"tee and sink": {0, func(r *rig) stages.Stream[int] {
			a, b := stages.Tee(r.source("source"), "tee")
			r.sink(r.mapped(b, "before"), "sink", four)
			return r.mapped(a, "a")
		}},
		// The branches hold different items: what the sinks keep is not what is on its way to the consumer.
		"tee and two sinks": {0.4, func(r *rig) stages.Stream[int] {
			a, b := stages.Tee(r.source("source"), "tee")
			c, d := stages.Tee(b, "again")
			r.picky(c, "some", func(v int) bool { return v < 4 }, stages.Mailbox(5))
			r.picky(d, "others", func(v int) bool { return v >= 4 && v < 12 }, stages.Mailbox(9))
			return r.mapped(a, "a")
		}},
		"fork and sinks": {0, func(r *rig) stages.Stream[int] {
			b := r.fork(r.source("source"), "fork", 3, func(v, b int) bool { return b == 2 || v%2 == b })
			r.sink(b[0], "even", four)
			r.sink(b[1], "odd", stages.Mailbox(5))
			return r.some(b[2], "rare", func(v int) bool { return v%8 == 7 })
		}},
		"fork, some to several": {0, func(r *rig) stages.Stream[int] {
			b := r.fork(r.source("source"), "fork", 4, func(v, b int) bool { return v%(b+2) == 0 }, four)
			r.sink(b[3], "sink")
			x := stages.Merge("join", stages.InputOrder{}, b[0], r.mapped(b[1], "a", four))
			return stages.Merge("last", stages.Arrival{}, x, b[2])
		}},
		"route with a sink": {0.8, func(r *rig) stages.Stream[int] {
			b := r.route(r.source("source"), "route", 2, func(v int) int { return v % 3 / 2 })
			r.sink(b[1], "sink", four)
			return r.mapped(b[0], "a")
		}},
		"round robin":         two(stages.RoundRobin{}),
		"weighted":            two(stages.Weighted{Weights: []float64{3, 1}, Seed: 7}),
		"epochs of a mixture": two(stages.Weighted{Weights: []float64{1, 1}, Seed: 7, EpochItems: 100}),
		"arrival":             two(stages.Arrival{}),
		"by value": {0.9, func(r *rig) stages.Stream[int] {
			least := func(heads []*int) (at int) {
				for i, h := range heads {
					if h != nil && (heads[at] == nil || *h < *heads[at]) {
						at = i
					}
				}
				return at
			}
			return r.mapped(stages.MergeFunc("join", least, r.mapped(r.source("source"), "x"), r.source("other")), "last", four)
		}},
		"batches in parts": {0, func(r *rig) stages.Stream[int] {
			b := r.deal(r.batch(r.source("source"), "batch", 8), "deal", 2)
			return stages.Unbatch(stages.Rejoin("join", r.parts(b[0], "a", four), b[1]), "unbatch")
		}},
		"batches of what has parted": {0, func(r *rig) stages.Stream[int] {
			a, b := stages.Tee(r.source("source"), "tee")
			x := stages.Unbatch(r.batch(a, "batch", 8), "unbatch")
			return stages.Merge("join", stages.InputOrder{}, x, r.mapped(b, "b", four))
		}},
		"nested": {0, func(r *rig) stages.Stream[int] {
			outer := r.route(r.source("source"), "outer", 3, func(v int) int { return v / 4 % 3 }, four)
			a, b := stages.Tee(outer[0], "tee")
			r.sink(b, "sink", four)
			inner := r.route(r.mapped(a, "a", four), "inner", 2, parity)
			x := stages.Merge("near", stages.InputOrder{}, inner[0], r.mapped(inner[1], "b"))
			return stages.Merge("far", stages.InputOrder{}, x, outer[1], r.mapped(outer[2], "c", four))
		}},
	}
}

// Whatever a graph is made of, no more is in flight than its description says, at any stage and in all, and no function is
// called more often at once than its mailbox says: when the consumer and the sinks have stopped, when the consumer goes on,
// and when all do.
func TestNoMoreIsInFlightInAGraphThanDescribed(t *testing.T) {
	for name, c := range measured() {
		for _, small := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", no waiting rooms", false: ", rooms that follow the flow"}[small], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &rig{small: small, gauges: map[string]*gauge{}, open: make(chan bool)}
					p := define(func(g *stages.Graph) stages.Stream[int] {
						r.g = g
						return c.build(r)
					})
					bounds := p.Plan().Bounds()
					if line := fmt.Sprintf("Of the sources' items, at most %d are in flight.\n", bounds.Sourced); !strings.Contains(p.String(), line) {
						t.Errorf("got %s, want %s", p, line)
					}
					run := deploy(t, p, supervisor.Config{})
					most := int64(0)
					look := func() {
						time.Sleep(time.Minute) // all of them are at a standstill
						s := run.Stats()
						most = max(most, s.InFlight)
						if err := tooMuch(p.Plan(), bounds, s); err != nil {
							t.Fatalf("%v, when %d have been taken: %s\n%s", err, s.Outputs, tellStages(s), p)
						}
					}
					// take takes up to n, and reports whether there were so many.
					take := func(n int) bool {
						for k := range n {
							ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
							_, err := run.Next(ctx)
							if cancel(); err != nil {
								return false
							}
							if k%16 > 0 {
								continue
							}
							if n := run.Stats().InFlight; n > bounds.Sourced {
								t.Fatalf("%d are in flight, at most %d are said to be", n, bounds.Sourced)
							}
						}
						return true
					}
					look()
					for n := 0; n < 60 && take(1); n++ {
						look()
					}
					for n := 0; n < 2 && take(700); n++ {
						look()
					}
					if least := int64(c.least * float64(bounds.Sourced)); small && most < least {
						t.Errorf("at most %d were in flight, of %d that are described: want %d at least", most, bounds.Sourced, least)
					}
					close(r.open)
					for _, n := range []int{1, 10, 100, 1000} {
						if !take(n) {
							t.Fatalf("nothing comes out any more: %s", tellStages(run.Stats()))
						}
						look()
					}
					for _, s := range p.Plan().Stages {
						if m, ok := r.gauges[s.Name]; ok && m.most.Load() > int64(s.Mailbox) {
							t.Errorf("stage %q works on %d at once, its mailbox is %d", s.Name, m.most.Load(), s.Mailbox)
						}
					}
				})
			})
		}
	}
}

// Without waiting rooms, graphs of stages of one worker hold little: what has no Buffer of its own, a merge, a tee, an
// unbatch and the consumer, has no more room than what is before it needs.
func TestTheSmallestGraphsAreDescribedAsPromised(t *testing.T) {
	for name, c := range map[string]struct {
		items, sourced int64
		build          func(r *rig) stages.Stream[int]
	}{
		// source, route, a, b, two inputs of the join, the consumer
		"a diamond": {1 + 1 + 2*1 + 2*9 + 9, 31, func(r *rig) stages.Stream[int] {
			b := r.route(r.source("source"), "route", 2, parity)
			return stages.Merge("join", stages.InputOrder{}, r.mapped(b[0], "a"), r.mapped(b[1], "b"))
		}},
		// The tee has 9 items, and 18 outputs of them may wait.
		"a tee": {1 + 9 + 18 + 2*1 + 2*9 + 9, 39, func(r *rig) stages.Stream[int] {
			a, b := stages.Tee(r.source("source"), "tee")
			return stages.Merge("join", stages.InputOrder{}, r.mapped(a, "a"), r.mapped(b, "b"))
		}},
		"a diamond in a diamond": {1 + 1 + 1 + 3*1 + 2*9 + 2*9 + 9, 51, func(r *rig) stages.Stream[int] {
			b := r.route(r.source("source"), "route", 2, parity)
			c := r.route(b[0], "inner", 2, parity)
			near := stages.Merge("near", stages.InputOrder{}, r.mapped(c[0], "a"), r.mapped(c[1], "b"))
			return stages.Merge("far", stages.InputOrder{}, near, r.mapped(b[1], "c"))
		}},
		"a merge": {2*1 + 2*1 + 2*9 + 9, 31, func(r *rig) stages.Stream[int] {
			return stages.Merge("join", stages.Arrival{}, r.mapped(r.source("source"), "a"), r.mapped(r.source("other"), "b"))
		}},
	} {
		p := define(func(g *stages.Graph) stages.Stream[int] {
			return c.build(&rig{g: g, small: true, gauges: map[string]*gauge{}})
		})
		if b := p.Plan().Bounds(); b.Items != c.items || b.Sourced != c.sourced {
			t.Errorf("%s: %d, of the sources %d, want %d and %d\n%s", name, b.Items, b.Sourced, c.items, c.sourced, p)
		}
	}
}

// tooMuch compares what a run holds, at a standstill, with what is described.
func tooMuch(g *plan.Graph, bounds plan.Bounds, s supervisor.Stats) error {
	if s.InFlight > bounds.Sourced {
		return fmt.Errorf("%d are in flight, at most %d are said to be", s.InFlight, bounds.Sourced)
	}
	waiting, rings := s.Yielded, int64(0)
	for i, sp := range g.Stages {
		st, h := s.Stages[i], bounds.Stages[i]
		here := st.In - st.Filtered - st.Failed // and nothing has come of them yet, or not all has left
		switch {
		case sp.Feed != nil:
			waiting, rings = waiting-st.Out, rings+h.Items
			continue
		case sp.Kind == "tee":
			if waiting := 2*here - st.Out; waiting > h.Results {
				return fmt.Errorf("at %q %d outputs wait, described as at most %d", sp.Name, waiting, h.Results)
			}
			here -= st.Out / 2
		case sp.Kind == "batch":
			here -= st.Out * int64(sp.MaxHeld)
		case sp.Kind == "unbatch", sp.Kind == "fork", sp.Kind == "route batch", sp.Kind == "rejoin":
			continue // as many come of one as of another only by chance
		case sp.Outs > 0:
			here -= st.Out
		default:
			continue // a sink does not say what it is through with
		}
		if here > h.Items {
			return fmt.Errorf("at %q there are %d, described as at most %d", sp.Name, here, h.Items)
		}
	}
	if waiting > rings {
		return fmt.Errorf("%d wait at the sources, described as at most %d", waiting, rings)
	}
	last := g.Stages[g.Outlet.Stage]
	if waiting := s.Stages[last.Index].Out - s.Outputs; last.Outs == 1 && waiting > bounds.Outlet.Items {
		return fmt.Errorf("%d wait for the consumer, described as at most %d", waiting, bounds.Outlet.Items)
	}
	return nil
}
