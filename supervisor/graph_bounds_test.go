package supervisor_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A gauge counts the calls that run at the same time.
type gauge struct{ busy, most atomic.Int64 }

func (m *gauge) enter() func() {
	if b := m.busy.Add(1); b > m.most.Load() {
		m.most.Store(b)
	}
	return func() { m.busy.Add(-1) }
}

// In branches, too, a stage works on as many items at once as its mailbox says.
func TestMailboxesInBranchesAreExact(t *testing.T) {
	for name, mix := range map[string]stages.Mix{"input order": stages.InputOrder{}, "arrival": stages.Arrival{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fork, a, b, sink gauge
				got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
					out := stages.Route(stages.Source(g, "ints", ints(400)), "fork", 3, func(_ context.Context, v int) (int, error) {
						defer fork.enter()()
						time.Sleep(time.Millisecond)
						return v % 3, nil
					}, stages.Mailbox(12))
					slow := func(m *gauge) func(context.Context, int) (int, error) {
						return func(_ context.Context, v int) (int, error) {
							defer m.enter()()
							time.Sleep(10 * time.Millisecond)
							return v, nil
						}
					}
					stages.Sink(out[2], "sink", func(ctx context.Context, v int) error {
						_, err := slow(&sink)(ctx, v)
						return err
					}, stages.Mailbox(4))
					x := stages.Map(out[0], "a", slow(&a), stages.Mailbox(3))
					y := stages.Map(out[1], "b", slow(&b), stages.Mailbox(2))
					return stages.Merge("join", mix, x, y)
				}))
				if err != nil || len(got) != 267 {
					t.Fatalf("%d items, %v", len(got), err)
				}
				for name, c := range map[string]struct {
					m    *gauge
					want int64
				}{"fork": {&fork, 12}, "a": {&a, 3}, "b": {&b, 2}, "sink": {&sink, 4}} {
					if n := c.m.most.Load(); n != c.want {
						t.Errorf("%s: %d at once, want %d", name, n, c.want)
					}
				}
			})
		})
	}
}

// diamonds are graphs behind an endless source. Each hands on the numbers that it gets.
func diamonds() map[string]func(in stages.Stream[int], opts ...stages.Option) stages.Stream[int] {
	half := func(_ context.Context, v int) (int, error) { return v / 3 % 2, nil }
	return map[string]func(in stages.Stream[int], opts ...stages.Option) stages.Stream[int]{
		"route and input order": func(in stages.Stream[int], opts ...stages.Option) stages.Stream[int] {
			b := stages.Route(in, "route", 2, half, opts...)
			return stages.Merge("join", stages.InputOrder{}, stages.Map(b[0], "a", same, opts...), stages.Map(b[1], "b", same, opts...))
		},
		"route and arrival": func(in stages.Stream[int], opts ...stages.Option) stages.Stream[int] {
			b := stages.Route(in, "route", 2, half, opts...)
			return stages.Merge("join", stages.Arrival{}, stages.Map(b[0], "a", same, opts...), stages.Map(b[1], "b", same, opts...))
		},
		"tee and input order": func(in stages.Stream[int], opts ...stages.Option) stages.Stream[int] {
			a, b := stages.Tee(in, "tee")
			odd := stages.Filter(a, "odd", func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil }, opts...)
			even := stages.Filter(b, "even", func(_ context.Context, v int) (bool, error) { return v%2 == 0, nil }, opts...)
			return stages.Merge("join", stages.InputOrder{}, odd, even)
		},
		"everything to one branch": func(in stages.Stream[int], opts ...stages.Option) stages.Stream[int] {
			b := stages.Route(in, "route", 3, func(context.Context, int) (int, error) { return 1, nil }, opts...)
			x := stages.Map(b[0], "a", same, opts...)
			y := stages.Map(b[1], "b", same, opts...)
			return stages.Merge("join", stages.InputOrder{}, x, y, stages.Map(b[2], "c", same, opts...))
		},
		"parts": func(in stages.Stream[int], opts ...stages.Option) stages.Stream[int] {
			b := stages.RouteBatch(stages.Batch(in, "batch", 4), "route", 2, func(_ context.Context, v []int) ([]int, error) {
				to := make([]int, len(v))
				for i := range v {
					to[i] = v[i] / 3 % 2
				}
				return to, nil
			}, opts...)
			x := stages.Map(b[0], "a", func(_ context.Context, v []int) ([]int, error) { return v, nil }, opts...)
			return stages.Unbatch(stages.Rejoin("join", x, b[1]), "unbatch")
		},
	}
}

// A consumer that has stopped stops the source, whatever lies between. Then nothing goes on.
func TestAStoppedConsumerStopsTheSourceOfADiamond(t *testing.T) {
	for name, build := range diamonds() {
		for bounds, c := range map[string]struct {
			opts   []stages.Option
			source []stages.SourceOption
			room   int64
		}{"no waiting room": {[]stages.Option{stages.Buffer(0)}, []stages.SourceOption{stages.Buffer(0)}, 32}, "default": {nil, nil, 1025}} {
			t.Run(name+", "+bounds, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var yielded atomic.Int64
					run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
						return build(stages.Source(g, "source", endless(&yielded), c.source...), c.opts...)
					}), supervisor.Config{})
					time.Sleep(time.Hour)
					y := yielded.Load()
					if most := 9 * c.room; y > most || y == 0 { // no graph has more stages and inputs, with ring and outlet
						t.Errorf("%d were pulled, want at most %d: %s", y, most, tellStages(run.Stats()))
					}
					time.Sleep(time.Hour)
					if n := yielded.Load(); n != y {
						t.Errorf("%d were pulled, and an hour later %d", y, n)
					}
					for v := range 1000 { // it has not hung
						if got, err := run.Next(t.Context()); err != nil || got < 0 || name != "route and arrival" && got != v {
							t.Fatalf("item %d is %d, %v", v, got, err)
						}
					}
				})
			})
		}
	}
}

// A slow consumer has little ahead of it.
func TestASlowConsumerOfADiamondHasLittleAheadOfIt(t *testing.T) {
	for name, build := range diamonds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var yielded atomic.Int64
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					return build(stages.Source(g, "source", endless(&yielded)))
				}), supervisor.Config{})
				n := int64(0)
				for range run.Items(t.Context()) {
					time.Sleep(time.Millisecond)
					n++
					if ahead := yielded.Load() - n; n > 1500 && ahead > 80 {
						t.Fatalf("%d are ahead of item %d: %s", ahead, n, tellStages(run.Stats()))
					}
					if n == 2000 {
						break
					}
				}
			})
		})
	}
}

// A Sink that has stopped stops the source; the other branch is given what there is room for, and goes on with the Sink.
func TestAStoppedSinkStopsTheSource(t *testing.T) {
	for _, opts := range [][]stages.Option{{stages.Buffer(0)}, nil} {
		t.Run(fmt.Sprint(opts), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var yielded, sunk atomic.Int64
				release := make(chan bool)
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					a, b := stages.Tee(stages.Source(g, "source", endless(&yielded)), "tee")
					stages.Sink(b, "sink", func(ctx context.Context, _ int) error {
						select {
						case <-release:
						case <-ctx.Done():
						}
						sunk.Add(1)
						return nil
					}, opts...)
					return stages.Map(a, "a", same, opts...)
				}), supervisor.Config{})
				take := func() (n int64) {
					for {
						ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
						_, err := run.Next(ctx)
						if cancel(); err != nil {
							return n
						}
						n++
					}
				}
				n, most := take(), int64(40)
				if opts == nil {
					most = 5 * 1025
				}
				if y := yielded.Load(); n > most || y > most+1025 {
					t.Errorf("%d were pulled, %d came out, want at most %d", y, n, most)
				}
				if m := take(); m > 0 {
					t.Errorf("then %d more came out", m)
				}
				before := n
				close(release)
				for range 1000 {
					if _, err := run.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if s := sunk.Load(); s < 1000-most || s > before+1000+2*1025 {
					t.Errorf("the sink has had %d", s)
				}
			})
		})
	}
}

// A branch of which nothing comes does not hold up the others, however long it lasts.
func TestABranchOfWhichNothingComesHoldsUpNobody(t *testing.T) {
	for name, pick := range map[string]func(v int) int{
		"all to the first":    func(int) int { return 0 },
		"all to the last":     func(int) int { return 2 },
		"one in a while":      func(v int) int { return map[bool]int{true: 1}[v%1250 == 1249] },
		"one, then the other": func(v int) int { return v / 1800 },
	} {
		for _, opts := range [][]stages.Option{{stages.Buffer(0)}, {stages.Buffer(1), stages.Mailbox(3)}, nil} {
			n := 2000
			if opts == nil {
				n = 5000 // more than the rooms may hold
			}
			t.Run(fmt.Sprint(name, opts), func(t *testing.T) {
				got, _, err := reap(t, define(func(g *stages.Graph) stages.Stream[int] {
					b := stages.Route(stages.Source(g, "source", ints(n)), "route", 3, func(_ context.Context, v int) (int, error) { return pick(v), nil }, opts...)
					inner := stages.Route(stages.Map(b[0], "a", same, opts...), "inner", 2, func(_ context.Context, v int) (int, error) { return v % 10 / 9, nil }, opts...)
					x := stages.Merge("inner join", stages.InputOrder{}, stages.Map(inner[0], "x", same, opts...), stages.Map(inner[1], "y", same, opts...))
					return stages.Merge("join", stages.InputOrder{}, b[2], x, stages.Map(b[1], "b", same, opts...))
				}))
				if err != nil {
					t.Error(err)
				}
				if checkCount(t, got, len(got)); len(got) != n {
					t.Errorf("%d items, want %d", len(got), n)
				}
			})
		}
	}
}
