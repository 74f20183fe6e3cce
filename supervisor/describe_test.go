package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// erased makes one type of all pipelines.
func erased[T any](s stages.Stream[T], opts ...stages.Option) stages.Stream[any] {
	return stages.Map(s, "last", func(_ context.Context, v T) (any, error) { return v, nil }, opts...)
}

// Whatever a pipeline is made of, no more is in flight than its description says: when the consumer has stopped, and
// whenever it stops again. Where waiting rooms are of a fixed size, it is not much less either (they are granted by
// halves).
func TestNoMoreIsInFlightThanDescribed(t *testing.T) {
	none := stages.Buffer(0)
	source := func(g *stages.Graph, opts ...stages.SourceOption) stages.Stream[int] {
		return stages.Source(g, "source", endless(new(atomic.Int64)), opts...)
	}
	for name, c := range map[string]struct {
		tight float64
		build func(g *stages.Graph, emitted *atomic.Int64) stages.Stream[any]
	}{
		"no waiting rooms": {1, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			return erased(stages.Map(stages.Map(source(g, none), "a", same, none), "b", same, none), none)
		}},
		"waiting rooms": {0.8, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			a := stages.Map(source(g, stages.Buffer(7)), "a", same, stages.Buffer(5), stages.Mailbox(4), stages.Ordered)
			return erased(stages.Map(a, "b", same, stages.Buffer(100), stages.Mailbox(3)), stages.Buffer(20))
		}},
		"rooms that follow the flow": {0, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			return erased(stages.Map(stages.Map(source(g), "a", same, stages.Mailbox(4)), "b", same, stages.Mailbox(4), stages.Ordered))
		}},
		"items that are dropped": {0.8, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			odd := stages.Filter(source(g, none), "odd", func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil }, stages.Buffer(3))
			return erased(odd, none)
		}},
		// Two in five places may be those of items that have failed, which are in flight no more; how many are not granted
		// yet at a standstill depends on which of them waited for another attempt.
		"items that fail, and cost workers": {0.6, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			bad := stages.Map(source(g, none), "bad", func(_ context.Context, v int) (int, error) {
				switch v % 5 {
				case 1:
					return 0, errBad
				case 2:
					panic("bad")
				}
				return v, nil
			}, stages.Mailbox(3), stages.Buffer(4), stages.Ordered, stages.OnError(stages.Skip(1<<30)))
			return erased(bad, none)
		}},
		"batches": {0.9, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			return erased(stages.Batch(source(g, none), "batch", 32, none), none)
		}},
		"batches of batches": {0.9, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			b := stages.Batch(source(g, none), "batch", 8, stages.Buffer(10))
			return erased(stages.Batch(b, "batches", 4, none), none)
		}},
		"batches that are undone": {0, func(g *stages.Graph, _ *atomic.Int64) stages.Stream[any] {
			return erased(stages.Unbatch(stages.Batch(source(g, none), "batch", 32, none), "unbatch"), none)
		}},
		"a flatmap": {0, func(g *stages.Graph, emitted *atomic.Int64) stages.Stream[any] {
			return erased(stages.FlatMap(source(g, none), "many", several(100, emitted), none), none)
		}},
		"a flatmap of several workers": {0, func(g *stages.Graph, emitted *atomic.Int64) stages.Stream[any] {
			return erased(stages.FlatMap(source(g, none), "many", several(1024, emitted), stages.Mailbox(4), stages.Buffer(10), stages.Ordered), none)
		}},
		"a flatmap that streams": {0, func(g *stages.Graph, emitted *atomic.Int64) stages.Stream[any] {
			return erased(stages.FlatMap(source(g, none), "many", several(1<<40, emitted), stages.Streaming, none), none)
		}},
		"several that stream, in order": {0, func(g *stages.Graph, emitted *atomic.Int64) stages.Stream[any] {
			return erased(stages.FlatMap(source(g, none), "many", several(700, emitted), stages.Streaming, stages.Mailbox(4), stages.Buffer(9), stages.Ordered), none)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				emitted := new(atomic.Int64)
				p := define(func(g *stages.Graph) stages.Stream[any] { return c.build(g, emitted) })
				bounds := p.Plan().Bounds()
				if line := fmt.Sprintf("Of the sources' items, at most %d are in flight.\n", bounds.Sourced); !strings.Contains(p.String(), line) {
					t.Errorf("got %s, want %s", p, line)
				}
				run := deploy(t, p, supervisor.Config{})
				most := int64(0)
				for taken := range 500 {
					time.Sleep(time.Minute) // all of them are at a standstill
					s := run.Stats()
					most = max(most, s.InFlight)
					if s.InFlight > bounds.Sourced {
						t.Fatalf("%d are in flight when %d have been taken, at most %d are said to be", s.InFlight, taken, bounds.Sourced)
					}
					for i, h := range bounds.Stages[1:] {
						st, before := s.Stages[i+1], s.Stages[i]
						if has := before.Out - st.Out - st.Filtered - st.Failed; h.Results == 0 && st.Kind != "batch" && has > h.Items {
							t.Fatalf("stage %q has %d, described as at most %d", st.Stage, has, h.Items)
						}
						if waiting := emitted.Load() - st.Out; st.Stage == "many" && waiting > h.Results {
							t.Fatalf("%d outputs wait, described as at most %d", waiting, h.Results)
						}
					}
					if waiting := s.Stages[len(s.Stages)-1].Out - s.Outputs; waiting > bounds.Outlet.Items {
						t.Fatalf("%d wait for the consumer, described as at most %d", waiting, bounds.Outlet.Items)
					}
					if _, err := run.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if least := int64(c.tight * float64(bounds.Sourced)); most < least {
					t.Errorf("at most %d were in flight, of %d that are described: want %d at least", most, bounds.Sourced, least)
				}
			})
		})
	}
}

// several makes n outputs of each input, and counts them.
func several(n int, emitted *atomic.Int64) func(context.Context, int) iter.Seq2[int, error] {
	return func(context.Context, int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				emitted.Add(1)
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}

// Three stages of one worker without waiting rooms hold 16 items at most: so it is promised.
func TestTheSmallestPipelineIsDescribedAsPromised(t *testing.T) {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		s := stages.Source(g, "source", ints(1), stages.Buffer(0))
		for _, name := range []string{"a", "b", "c"} {
			s = stages.Map(s, name, same, stages.Buffer(0))
		}
		return s
	})
	// One more is in the iterator's hand.
	if b := p.Plan().Bounds(); b.Items != 13 || b.Items+1 > 16 || b.Sourced != b.Items {
		t.Errorf("got %+v", b)
	}
}

// A run is described as its pipeline is, with where each stage is.
func TestARunSaysWhereItsStagesAre(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	p := squares.With(4)
	run, err := supervisor.Deploy(t.Context(), sup, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Stop()
	text := run.String()
	if want := "run " + string(run.ID()) + " at inprocess of pipeline \"squares\", 2 stages\n"; !strings.HasPrefix(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
	for _, stage := range []string{"ints", "square"} {
		if !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool {
			return strings.HasPrefix(l, stage+" ") && strings.Contains(l, "  this process")
		}) {
			t.Errorf("%q is nowhere:\n%s", stage, text)
		}
	}
	if rest := strings.SplitAfter(p.String(), "\n\n")[2]; !strings.HasSuffix(text, rest) {
		t.Errorf("got %s, want %s at its end", text, rest)
	}
}
