package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A spring is an endless source that knows how many items it has yielded, and whether it has been cleaned up.
type spring struct{ yielded, open atomic.Int64 }

func (s *spring) origin() stages.Origin[int] {
	return stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			s.open.Add(1)
			defer s.open.Add(-1)
			for i := 0; ; i++ {
				s.yielded.Add(1)
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

// A basket is the state of a worker, which is closed.
type basket struct{ s *spring }

func (b basket) Close() error {
	b.s.open.Add(-1)
	return nil
}

func (s *spring) pipeline(workers int) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		in := stages.MapWith(stages.Source(g, "source", s.origin()), "one", func(context.Context) (basket, error) {
			s.open.Add(1)
			return basket{s}, nil
		}, func(_ basket, ctx context.Context, v int) (int, error) { return v, nil }, stages.Mailbox(workers), stages.Ordered)
		return stages.Unbatch(stages.Batch(in, "batch", 8), "undone")
	})
}

// A loop that is left at any item, by break or by a panic of its body, stops the run. When the loop of Items has been
// left, all of the run has ended, and the panic goes on.
func TestF30ALoopThatIsLeftEndsTheRun(t *testing.T) {
	for _, k := range []int{1, 2, 7, 8, 9, 64, 500, 3000} {
		for _, panics := range []bool{false, true} {
			for _, workers := range []int{1, 4} {
				t.Run(fmt.Sprintf("item %d, panic %v, %d workers", k, panics, workers), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var s spring
						var last supervisor.RunEnded
						sup := supervisor.New(supervisor.Config{OnEvent: func(e supervisor.Event) {
							if e, ok := e.(supervisor.RunEnded); ok {
								last = e
							}
						}})
						var out []int
						func() {
							defer func() {
								if r := recover(); (r != nil) != panics || panics && r != "mine" {
									t.Errorf("recovered %v", r)
								}
								// All has been cleaned up when the panic comes by.
								if s.open.Load() != 0 || len(sup.Runs()) != 0 || last.Err != supervisor.ErrStopped {
									t.Errorf("%d are open, %d run, the last event is %+v", s.open.Load(), len(sup.Runs()), last)
								}
							}()
							for v, err := range supervisor.Items(t.Context(), sup, s.pipeline(workers), nil) {
								if err != nil {
									t.Fatal(err)
								}
								if out = append(out, v); len(out) == k {
									if panics {
										panic("mine")
									}
									break
								}
							}
						}()
						wantItems(t, out, numbers(k))
						yielded := s.yielded.Load()
						time.Sleep(time.Hour)
						if s.yielded.Load() != yielded {
							t.Error("the source goes on")
						}
						checkEnd(t, last.Stats, last.Err)
					})
				})
			}
		}
	}
}

// The loop over a run that was deployed stops it too, without waiting and without a call of Stop.
func TestF30APanicInALoopStopsTheRunByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s spring
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), s.pipeline(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if r := recover(); r != "mine" {
					t.Errorf("recovered %v", r)
				}
			}()
			for range run.Items(t.Context()) {
				panic("mine")
			}
		}()
		synctest.Wait()
		if run.Err() != supervisor.ErrStopped || s.open.Load() != 0 {
			t.Errorf("%v, %d are open", run.Err(), s.open.Load())
		}
		run.Stop()
	})
}

// A consumer that never pulls holds the sources at the bound that is described, and Stop ends it all.
func TestF30AConsumerThatNeverPullsLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s spring
		p := s.pipeline(3)
		run := deploy(t, p, supervisor.Config{})
		time.Sleep(24 * time.Hour)
		most := p.Plan().Bounds().Sourced
		if y := s.yielded.Load(); y > most+1 || y == 0 { // one is in the iterator's hands
			t.Errorf("%d were pulled, want at most %d", y, most)
		}
		if err := run.Stop(); err != nil || s.open.Load() != 0 {
			t.Errorf("%v, %d are open", err, s.open.Load())
		}
		if err := run.Wait(t.Context()); err != supervisor.ErrStopped {
			t.Error(err)
		}
		if v, err := run.Next(t.Context()); err != supervisor.ErrStopped {
			t.Errorf("Next: %v, %v", v, err)
		}
	})
}

// Two and more pull at once: each item goes to one of them, in order for each, and each is told the end.
func TestF30PullersShareTheItemsAndTheEnd(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const n = 3000
			run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(_ context.Context, v int) (int, error) {
					if fails && v == n-1 {
						return 0, errBad
					}
					return v, nil
				}, stages.Mailbox(2), stages.Ordered)
			}), supervisor.Config{})
			var mu sync.Mutex
			var all []int
			var wg sync.WaitGroup
			for i := range 3 {
				wg.Go(func() {
					var mine []int
					for {
						v, err := run.Next(t.Context())
						if err != nil {
							if fails && !errors.Is(err, errBad) || !fails && err != io.EOF {
								t.Error(err)
							}
							break
						}
						mine = append(mine, v)
						time.Sleep(time.Duration(i+1) * time.Microsecond) // one that never rests may take all
					}
					if !slices.IsSorted(mine) || len(mine) == 0 {
						t.Errorf("puller %d has got %d items", i, len(mine))
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, mine...)
				})
			}
			wg.Wait()
			slices.Sort(all)
			want := n
			if fails {
				want--
			}
			wantItems(t, all, numbers(want))
			for range 3 { // and whoever asks later
				if _, err := run.Next(t.Context()); fails && !errors.Is(err, errBad) || !fails && err != io.EOF {
					t.Error(err)
				}
			}
			again := 0
			for _, err := range run.Items(t.Context()) {
				if again++; !errors.Is(err, errBad) {
					t.Error(err)
				}
			}
			if want := map[bool]int{false: 0, true: 1}[fails]; again != want {
				t.Errorf("a loop behind the end has %d turns, want %d", again, want)
			}
		})
	}
}

// Deadlines of Next that are up before an item comes, at the very moment at which it comes, or behind it, by two pullers:
// none of them takes an item along.
func TestF30ANextThatTimesOutConsumesNothing(t *testing.T) {
	timeouts, items := 0, 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			const n = 60
			r := rand.New(rand.NewPCG(seed, 30))
			run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "drip", drip(n)), "f", same, stages.Mailbox(1+r.IntN(3)), stages.Ordered)
			}), supervisor.Config{})
			var mu sync.Mutex
			var all []int
			var wg sync.WaitGroup
			for range 1 + r.IntN(2) {
				r := rand.New(rand.NewPCG(seed, r.Uint64()))
				wg.Go(func() {
					for {
						// Items come at whole seconds: so may deadlines.
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(5))*500*time.Millisecond)
						v, err := run.Next(ctx)
						cancel()
						mu.Lock()
						switch {
						case err == nil:
							all = append(all, v)
							items++
						case err == context.DeadlineExceeded:
							timeouts++
						default:
							if err != io.EOF {
								t.Error(err)
							}
							mu.Unlock()
							return
						}
						mu.Unlock()
						if r.IntN(10) == 0 {
							time.Sleep(1500 * time.Millisecond)
						}
						if err != nil {
							time.Sleep(time.Millisecond) // a deadline of nothing must not spin
						}
					}
				})
			}
			wg.Wait()
			slices.Sort(all) // two goroutines append in any order
			wantItems(t, all, numbers(n))
			if s := run.Stats(); s.Delivered != n || s.InFlight != 0 || run.Err() != nil {
				t.Errorf("seed %d: %v, %+v", seed, run.Err(), s)
			}
		})
	}
	if timeouts < items/2 {
		t.Errorf("%d timeouts and %d items: it shows nothing", timeouts, items)
	}
}

// A consumer of one item a second for ten minutes, then none for ten: nothing is restarted, no worker is thought to hang,
// and the sources pull no more than is described.
func TestF32ASlowConsumerOnlySlowsTheSources(t *testing.T) {
	for name, opts := range map[string][]stages.Option{
		"rooms that follow the flow": {stages.Mailbox(3), stages.Ordered, stages.Timeout(10 * time.Second)},
		"no rooms":                   {stages.Buffer(0), stages.Timeout(10 * time.Second)},
		"rooms":                      {stages.Buffer(50), stages.Mailbox(2)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s spring
				p := define(func(g *stages.Graph) stages.Stream[int] {
					in := stages.Map(stages.Source(g, "source", s.origin()), "one", same, opts...)
					r := stages.Route(in, "route", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil }, opts...)
					both := stages.Merge("both", stages.InputOrder{}, stages.Map(r[0], "a", same, opts...), stages.Map(r[1], "b", same, opts...))
					return stages.Unbatch(stages.Batch(both, "batch", 4, stages.MaxWait(time.Second)), "undone")
				})
				most := p.Plan().Bounds().Sourced
				run := deploy(t, p, supervisor.Config{})
				taken := int64(0)
				check := func() {
					t.Helper()
					stats := run.Stats()
					if stats.InFlight > most || s.yielded.Load()-taken > most+1 {
						t.Fatalf("%d are in flight, %d were pulled when %d were taken, described as at most %d", stats.InFlight, s.yielded.Load(), taken, most)
					}
				}
				for range 600 {
					if _, err := run.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
					taken++
					time.Sleep(time.Second)
					check()
				}
				before := s.yielded.Load()
				for range 10 {
					time.Sleep(time.Minute)
					check()
				}
				if s.yielded.Load() != before {
					t.Errorf("%d more were pulled for a consumer that has stopped", s.yielded.Load()-before)
				}
				for range 600 { // it is as if nothing had been
					if _, err := run.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				run.Stop()
				run.Wait(t.Context())
				if s := run.Stats(); s.Restarts != 0 || s.Retries != 0 || s.Failed != 0 {
					t.Errorf("got %+v", s)
				}
				for e := range run.Events(t.Context()) {
					switch e.(type) {
					case supervisor.WorkerRestarted, supervisor.StageHung, supervisor.ItemRetried, supervisor.ItemFailed:
						t.Errorf("told %+v", e)
					}
				}
			})
		})
	}
}
