package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// repeat yields v n times, and does at before each.
func repeat(n int, at func(ctx context.Context, v, i int) error) func(context.Context, int) iter.Seq2[int, error] {
	return func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if err := at(ctx, v, i); err != nil {
					yield(0, err)
					return
				}
				if !yield(v*n+i, nil) {
					return
				}
			}
		}
	}
}

func TestAFailedAttemptLeavesNoTrace(t *testing.T) {
	const n, each = 300, 7
	for name, opts := range map[string][]stages.FlatMapOption{
		"buffered": nil, "streaming": {stages.Streaming},
		"buffered, 3 workers": {stages.Mailbox(3), stages.Ordered}, "streaming, 3 workers": {stages.Mailbox(3), stages.Ordered, stages.Streaming},
	} {
		for fail := range each {
			t.Run(fmt.Sprint(name, " at ", fail), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
						return stages.FlatMap(stages.Source(g, "ints", ints(n)), "many", repeat(each, func(ctx context.Context, v, i int) error {
							if v%10 == 0 && i == fail && stages.Attempt(ctx) < 3 {
								panic("twice")
							}
							return nil
						}), opts...)
					}))
					if err != nil {
						t.Fatal(err)
					}
					checkCount(t, got, n*each)
					if s.Restarts != 60 || s.Delivered != n {
						t.Errorf("got %+v", s)
					}
				})
			})
		}
	}
}

func TestAnErrorWithdrawsTheOutputsOfItsInput(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.FlatMap(stages.Source(g, "ints", ints(100)), "many", repeat(5, func(_ context.Context, v, i int) error {
			if v%2 == 1 && i == 4 {
				return errors.New("at the last one")
			}
			return nil
		}), stages.OnError(stages.Skip(50)))
	}))
	if err != nil || len(got) != 250 || s.Delivered != 50 || s.Failed != 50 {
		t.Errorf("%v, %d items, %+v", err, len(got), s)
	}
}

func TestTooManyOutputsFailTheInput(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		opts []stages.FlatMapOption
		err  error
	}{
		"1024":                 {1024, nil, nil},
		"1025":                 {1025, nil, stages.ErrTooMany},
		"a million":            {1_000_000, nil, stages.ErrTooMany},
		"a million, streaming": {1_000_000, []stages.FlatMapOption{stages.Streaming}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.FlatMap(stages.Source(g, "ints", ints(1)), "many", repeat(c.n, func(context.Context, int, int) error { return nil }), c.opts...)
			}))
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Fatal(err)
			}
			if c.err == nil {
				checkCount(t, got, c.n)
			}
		})
	}
	big := make([]byte, 1<<20)
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]byte] {
		return stages.FlatMap(stages.Source(g, "ints", ints(1)), "many", func(context.Context, int) iter.Seq2[[]byte, error] {
			return func(yield func([]byte, error) bool) {
				for range 65 {
					if !yield(big, nil) {
						return
					}
				}
			}
		})
	}))
	if !errors.Is(err, stages.ErrTooMany) {
		t.Errorf("65 MiB: %v", err)
	}
}

// Streaming outputs come while their input is still worked on, and no faster than they are taken.
func TestStreamingOutputsComeAtOnceAndWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.FlatMap(stages.Source(g, "ints", ints(1)), "many", repeat(1_000_000, func(_ context.Context, v, i int) error {
				if made.Add(1); i < 10 {
					time.Sleep(time.Second)
				}
				return nil
			}), stages.Streaming)
		}), supervisor.Config{})
		begun := time.Now()
		for i := range 10 {
			v, err := run.Next(t.Context())
			if err != nil || v != i || time.Since(begun) != time.Duration(i+1)*time.Second {
				t.Fatalf("%d, %v after %v", v, err, time.Since(begun))
			}
		}
		synctest.Wait()
		if m := made.Load(); m > 4000 {
			t.Errorf("%d were made for a consumer that has stopped", m)
		}
	})
}

func TestAStreamingStageThatIsNotDeterministicFailsItsItem(t *testing.T) {
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.FlatMap(stages.Source(g, "ints", ints(1)), "many", func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				if stages.Attempt(ctx) > 1 {
					yield(0, nil)
					return
				}
				for i := range 5000 {
					if !yield(i, nil) {
						return
					}
				}
				panic("once")
			}
		}, stages.Streaming, stages.OnError(stages.Skip(10)))
	}))
	if !errors.Is(err, stages.ErrNotDeterministic) {
		t.Error(err)
	}
}

var fates = law("fates", func(g *stages.Graph, n int) stages.Stream[[]int] {
	many := stages.FlatMap(stages.Source(g, "ints", ints(n)), "many", repeat(10, func(context.Context, int, int) error { return nil }))
	some := stages.Map(many, "some", func(_ context.Context, v int) (int, error) {
		if v/10%4 == 1 && v%10 == 3 { // one in ten of what was made of every fourth
			return 0, errBad
		}
		return v, nil
	}, stages.Mailbox(3), stages.Ordered, stages.OnError(stages.Skip(1000)))
	few := stages.Filter(some, "few", func(_ context.Context, v int) (bool, error) { return v/10%4 < 2, nil })
	return stages.Batch(few, "batch", 13)
})

// An item is failed if anything made of it is, else delivered if anything of it came out, else filtered.
func TestTheFateOfAnItemIsThatOfAllThatWasMadeOfIt(t *testing.T) {
	everywhere(t, fates, 1000, func(t *testing.T, r played[[]int]) {
		if s := r.stats; r.err != nil || s.Failed != 250 || s.Filtered != 500 || s.Delivered != 250 || s.InFlight != 0 {
			t.Errorf("%v, %+v", r.err, s)
		}
	})
}

func TestIdentitiesSayWhereAnItemComesFrom(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{} // guarded by mu
	note := func(ctx context.Context, v int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[stages.ItemID(ctx).String()] = v
		return v, nil
	}
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		a := stages.FlatMap(stages.Source(g, "ints", ints(3)), "a", repeat(2, func(context.Context, int, int) error { return nil }))
		b := stages.FlatMap(a, "b", repeat(2, func(context.Context, int, int) error { return nil }), stages.Streaming)
		c := stages.Map(b, "note", note)
		batches := stages.Batch(c, "batch", 5)
		return stages.Map(stages.Unbatch(batches, "each"), "again", note)
	}))
	if err != nil {
		t.Fatal(err)
	}
	for id, v := range map[string]int{
		"ints/0/0.0.0": 0, "ints/0/0.0.1": 1, "ints/0/0.1.0": 2, "ints/0/2.1.1": 11, // behind two FlatMaps
		"ints/0/0.0.0.0": 0, "ints/0/0.0.0.4": 4, "ints/0/1.0.1.0": 5, "ints/0/2.1.0.1": 11, // elements of batches, named after the first
	} {
		if got, ok := seen[id]; !ok || got != v {
			t.Errorf("%s is %d (%v), want %d", id, got, ok, v)
		}
	}
	if len(seen) != 24 {
		t.Errorf("%d identities, want 24: %v", len(seen), seen)
	}
}

// splitter is state of one worker, which has to be closed.
type splitter struct{ open *atomic.Int64 }

func (s *splitter) Close() error { s.open.Add(-1); return nil }

func (s *splitter) split(ctx context.Context, v int) iter.Seq2[int, error] {
	return repeat(3, func(ctx context.Context, v, i int) error {
		if v%100 == 7 && i == 1 && stages.Attempt(ctx) == 1 {
			panic("once")
		}
		return nil
	})(ctx, v)
}

func TestFlatMapWithHasStatePerWorker(t *testing.T) {
	var opened, open atomic.Int64
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.FlatMapWith(stages.Source(g, "ints", ints(1000)), "split", func(context.Context) (*splitter, error) {
			opened.Add(1)
			open.Add(1)
			return &splitter{&open}, nil
		}, (*splitter).split, stages.Mailbox(2), stages.Ordered, stages.OnError(stages.Fail()))
	}))
	if err != nil {
		t.Fatal(err)
	}
	checkCount(t, got, 3000)
	if n := opened.Load(); s.Restarts != 10 || n < 11 || n > 12 || open.Load() != 0 {
		t.Errorf("%d restarts, %d opened, %d left open", s.Restarts, n, open.Load())
	}
}
