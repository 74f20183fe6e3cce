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

// A stage works on as many items at once as its mailbox says: never more, and, when there is work, no fewer.
func TestAMailboxIsTheNumberOfItemsWorkedOnAtOnce(t *testing.T) {
	for _, n := range []int{1, 3, 8} {
		for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
			t.Run(fmt.Sprint(n, order), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var busy, most atomic.Int64
					begun := time.Now()
					_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
						return stages.Map(stages.Source(g, "ints", ints(240)), "f", func(_ context.Context, v int) (int, error) {
							if b := busy.Add(1); b > most.Load() {
								most.Store(b)
							}
							time.Sleep(time.Second)
							busy.Add(-1)
							return v, nil
						}, stages.Mailbox(n), order)
					}))
					if err != nil {
						t.Fatal(err)
					}
					if m := most.Load(); m != int64(n) {
						t.Errorf("%d at once, want %d", m, n)
					}
					if d, ideal := time.Since(begun), 240*time.Second/time.Duration(n); d != ideal {
						t.Errorf("took %v, want %v", d, ideal)
					}
				})
			})
		}
	}
}

// Cheap items, then some that block: those are shared out although the estimate said nanoseconds.
func TestItemsThatAreSuddenlySlowAreSharedOut(t *testing.T) {
	for _, order := range []stages.Order{stages.Ordered, stages.Unordered} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(20_000)), "sometimes slow", func(_ context.Context, v int) (int, error) {
					if v >= 10_000 && v < 10_008 {
						time.Sleep(50 * time.Millisecond)
					}
					return v, nil
				}, stages.Mailbox(4), order)
			}))
			if err != nil {
				t.Fatal(err)
			}
			// One after the other they would take 400 ms, shared out ideally 100; some are found behind others.
			if d := time.Since(begun); d > 250*time.Millisecond {
				t.Errorf("8 items of 50 ms took %v with 4 workers", d)
			}
		})
	}
}

func TestAStoppedConsumerStopsTheSource(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []stages.Option
		source []stages.SourceOption
		most   int64
	}{
		"no waiting room": {[]stages.Option{stages.Buffer(0)}, []stages.SourceOption{stages.Buffer(0)}, 16},
		"default":         {nil, nil, 3*(1+1024) + 1025 + 1024}, // stages, outlet, ring
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var yielded atomic.Int64
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					s := stages.Source(g, "source", endless(&yielded), c.source...)
					for _, name := range []string{"a", "b", "c"} {
						s = stages.Map(s, name, same, c.opts...)
					}
					return s
				}), supervisor.Config{})
				time.Sleep(time.Hour)
				if y := yielded.Load(); y > c.most {
					t.Errorf("%d were pulled, want at most %d", y, c.most)
				}
				if s := run.Stats(); s.InFlight != s.Yielded || s.Yielded > c.most {
					t.Errorf("got %+v", s)
				}
			})
		})
	}
}

// A consumer of 1 ms per item, behind cheap stages, has at most 20 items ahead of it.
func TestASlowConsumerHasLittleAheadOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var yielded atomic.Int64
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			s := stages.Source(g, "source", endless(&yielded))
			for _, name := range []string{"a", "b", "c"} {
				s = stages.Map(s, name, same)
			}
			return s
		}), supervisor.Config{})
		n := int64(0)
		for range run.Items(t.Context()) {
			time.Sleep(time.Millisecond)
			n++
			if ahead := yielded.Load() - n; n > 500 && ahead > 20 {
				t.Fatalf("%d are ahead of item %d", ahead, n)
			}
			if n == 3000 {
				break
			}
		}
	})
}

// Large items wait in small numbers, because their bytes are counted.
func TestLargeItemsDoNotPileUp(t *testing.T) {
	const size = 8 << 20
	var yielded atomic.Int64
	block := make([]byte, size)
	run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]byte] {
		s := stages.Map(stages.Source(g, "source", endless(&yielded)), "large", func(context.Context, int) ([]byte, error) { return block, nil })
		return stages.Map(s, "same", func(_ context.Context, b []byte) ([]byte, error) { return b, nil })
	}), supervisor.Config{})
	n := int64(0)
	for range run.Items(t.Context()) {
		if n++; n == 20_000 {
			break
		}
	}
	s := run.Stats()
	if waiting := s.Stages[1].Out - n; waiting > 24 {
		t.Errorf("%d blocks of %d MiB wait", waiting, size>>20)
	}
}

// An idle pipeline has no timer: virtual time jumps from one item to the next, and nothing else happens on the way.
func TestAnIdlePipelineArmsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			s := stages.Source(g, "source", stages.FromChan(c))
			for _, name := range []string{"a", "b", "c"} {
				s = stages.Map(s, name, same, stages.Mailbox(4))
			}
			return s
		}), supervisor.Config{})
		go func() {
			for i := range 5000 {
				c <- i
			}
		}()
		for range 5000 {
			if _, err := run.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		// The ticks of the last pieces may still be armed, for 2 x 2 ms. After that there must be none: were one re-armed
		// every 2 ms, this would take 1.8 million wake-ups of the scheduler for every hour.
		time.Sleep(10 * time.Millisecond)
		begun := time.Now()
		wall := wallClock()
		time.Sleep(1000 * time.Hour)
		if d := time.Since(begun); d != 1000*time.Hour {
			t.Errorf("slept %v", d)
		}
		if d := wallClock() - wall; d > 2*time.Second {
			t.Errorf("1000 hours of idling took %v", d)
		}
	})
}
