package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// stride tells the outputs of one input from those of the next.
const stride = 10_000

// brokenOff is a function that makes n outputs of each input, and breaks off behind so many of them, in this way, at each
// of its attempts as long as there are some.
func brokenOff(n int, behind func(v int) []int, how func() error, attempts func(v, attempt int)) func(context.Context, int) iter.Seq2[int, error] {
	return func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			a := stages.Attempt(ctx)
			attempts(v, a)
			at := behind(v)
			for i := range n + 1 {
				if a <= len(at) && i == at[a-1] {
					if err := how(); err != nil {
						yield(0, err)
					}
					return
				}
				if i < n && !yield(v*stride+i, nil) {
					return
				}
			}
		}
	}
}

func hows() map[string]func() error {
	return map[string]func() error{
		"panic":  func() error { panic("broken off") },
		"goexit": func() error { runtime.Goexit(); return nil },
		"error":  func() error { return stages.Retryable(errBad) },
	}
}

func checkStrides(t *testing.T, out []int, inputs, n int) {
	t.Helper()
	if len(out) != inputs*n {
		t.Errorf("%d outputs, want %d", len(out), inputs*n)
	}
	for i, v := range out {
		if want := i/n*stride + i%n; v != want {
			t.Fatalf("output %d is %d of input %d, want %d of %d", i, v%stride, v/stride, want%stride, want/stride)
		}
	}
}

// An input whose function breaks off behind any of its outputs, once or twice, has exactly its outputs.
func TestF09AFlatMapThatBreaksOffAnywhereGivesEachOutputOnce(t *testing.T) {
	for how, end := range hows() {
		for _, n := range []int{0, 1, 2, 7, 64, 300} {
			for _, streaming := range []bool{false, true} {
				for _, twice := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %d outputs, streaming %v, twice %v", how, n, streaming, twice), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							behind := func(v int) []int { // input v breaks off behind v outputs
								if twice {
									return []int{v, (v*31 + 7) % (n + 1)}
								}
								return []int{v}
							}
							opts := []stages.FlatMapOption{stages.Mailbox(3), stages.Ordered}
							if streaming {
								opts = append(opts, stages.Streaming)
							}
							r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
								return stages.FlatMap(stages.Source(g, "ints", ints(n+1)), "f", brokenOff(n, behind, end, func(int, int) {}), opts...)
							}), supervisor.Config{})
							if r.err != nil {
								t.Fatal(r.err)
							}
							checkStrides(t, r.out, n+1, n)
							retries := int64(n+1) * int64(len(behind(0)))
							restarts := retries
							if how == "error" {
								restarts = 0
							}
							if r.stats.Retries != retries || r.stats.Restarts != restarts {
								t.Errorf("%d retries, %d restarts, want %d and %d", r.stats.Retries, r.stats.Restarts, retries, restarts)
							}
						})
					})
				}
			}
		}
	}
}

// The same with numbers, sizes and a consumer as they come. What is to be shown is shown only if an attempt has broken off
// while outputs of it were with the consumer already, and while others were waiting.
func TestF09RandomFlatMapsThatBreakOffGiveEachOutputOnce(t *testing.T) {
	passed, waiting := 0, 0
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 9))
			n, inputs, workers, streaming := 1+r.IntN(1024), 3+r.IntN(10), 1+r.IntN(4), seed%2 == 0
			opts := []stages.FlatMapOption{stages.Mailbox(workers), stages.Ordered}
			if streaming {
				opts = append(opts, stages.Streaming)
			}
			if r.IntN(2) == 0 {
				opts = append(opts, stages.Buffer(r.IntN(5)))
			}
			pause := r.IntN(40)
			breaks := make([][]int, inputs)
			for v := range breaks {
				for range r.IntN(3) {
					breaks[v] = append(breaks[v], r.IntN(n+1))
				}
			}
			how := hows()[[]string{"panic", "goexit", "error"}[r.IntN(3)]]
			var run *supervisor.Run[int]
			seen := make(chan int, 1) // the last output that has been handed out
			seen <- -1
			p := define(func(g *stages.Graph) stages.Stream[int] {
				return stages.FlatMap(stages.Source(g, "ints", ints(inputs)), "f",
					brokenOff(n, func(v int) []int { return breaks[v] }, how, func(v, attempt int) {
						last := <-seen
						if streaming && attempt > 1 && last/stride == v && last >= 0 {
							passed++
							if last%stride < breaks[v][attempt-2]-1 {
								waiting++
							}
						}
						seen <- last
					}), opts...)
			})
			run = deploy(t, p, supervisor.Config{})
			var out []int
			for v, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				out = append(out, v)
				<-seen
				seen <- v
				if pause > 0 && len(out)%pause == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			checkStrides(t, out, inputs, n)
			checkEnd(t, run.Stats(), run.Err())
			if t.Failed() {
				t.Logf("seed %d: %d outputs of %d inputs, %d workers, streaming %v, broken off behind %v", seed, n, inputs, workers, streaming, breaks)
			}
		})
	}
	if passed == 0 || waiting == 0 {
		t.Errorf("%d attempts broke off when some of their outputs were out, %d when others waited: it shows nothing", passed, waiting)
	}
}

// A brittle pile is one that dies at some items and in some of its flushes, each time once.
type brittlePile struct {
	pile
	dies  func(v int) bool
	flush func() bool
	takes time.Duration // before it dies
	rest  func(time.Duration)
}

func (b *brittlePile) Process(ctx context.Context, v int, emit func([]int) bool) error {
	if b.dies(v) {
		b.rest(b.takes)
		panic("once")
	}
	return b.pile.Process(ctx, v, emit)
}

func (b *brittlePile) Flush(ctx context.Context, emit func([]int) bool) error {
	if b.flush() {
		b.rest(b.takes)
		panic("in flush")
	}
	return b.pile.Flush(ctx, emit)
}

// An aggregator dies at one item, at the moment at which its first item has waited long enough, or a little before or
// after it, and again in the flush that follows: each item is in one batch, and in its order. Items come every second, so
// every moment is exact.
func TestF10AnAggregateThatDiesWhenItMustFlushLosesNothing(t *testing.T) {
	const n, size = 17, 5
	halves := 0 // deaths with a batch begun
	flushes := 0
	synctest.Test(t, func(t *testing.T) {
		sup := supervisor.New(supervisor.Config{})
		for at := -1; at < n; at++ {
			for _, wait := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3500 * time.Millisecond, time.Hour} {
				for _, takes := range []time.Duration{0, time.Second, 2 * time.Second} {
					for dying := range 3 { // flushes that die
						died, left, held := false, dying, 0
						all := func(context.Context, int) error { return nil }
						begun := time.Now()
						r := playOn(t, sup, define(func(g *stages.Graph) stages.Stream[[]int] {
							return stages.Aggregate(stages.Source(g, "drip", drip(n)), "f", func(context.Context) (*brittlePile, error) {
								b := &brittlePile{pile: pile{size: size, at: all}, takes: takes, rest: func(d time.Duration) { time.Sleep(d) }}
								b.dies = func(v int) bool {
									if v != at || died {
										return false
									}
									died, held = true, b.Held()
									return true
								}
								b.flush = func() bool {
									if left == 0 {
										return false
									}
									left--
									flushes++
									return true
								}
								return b, nil
							}, stages.MaxWait(wait))
						}))
						what := fmt.Sprintf("death at %d, wait %v, takes %v, %d flushes die", at, wait, takes, dying)
						if r.err != nil {
							t.Fatalf("%s: %v", what, r.err)
						}
						if all := slices.Concat(r.out...); !slices.Equal(all, numbers(n)) {
							t.Fatalf("%s: %v", what, r.out)
						}
						for _, b := range r.out {
							if len(b) == 0 || len(b) > size {
								t.Errorf("%s: %v", what, r.out)
							}
						}
						if r.stats.Delivered != n || r.stats.Failed != 0 || died != (at >= 0) {
							t.Errorf("%s: %+v", what, r.stats)
						}
						if held > 0 {
							halves++
						}
						if d := time.Since(begun); d > time.Minute {
							t.Errorf("%s: took %v", what, d)
						}
					}
				}
			}
		}
	})
	if halves < 100 || flushes < 100 {
		t.Errorf("%d deaths with a batch begun, %d in a flush: it shows nothing", halves, flushes)
	}
}

// The same by key: each item is in one batch of its key, in its order.
func TestF10GroupsThatDieWhenTheyMustFlushLoseNothing(t *testing.T) {
	const n, keys = 17, 3
	synctest.Test(t, func(t *testing.T) {
		sup := supervisor.New(supervisor.Config{})
		for at := -1; at < n; at++ {
			for _, wait := range []time.Duration{2 * time.Second, 3 * time.Second, 3500 * time.Millisecond, time.Hour} {
				for dying := range 3 {
					died, left := false, dying
					all := func(context.Context, int) error { return nil }
					r := playOn(t, sup, define(func(g *stages.Graph) stages.Stream[[]int] {
						return stages.AggregateByKey(stages.Source(g, "drip", drip(n)), "f", func(v int) int { return v % keys },
							func(context.Context, int) (*brittlePile, error) {
								return &brittlePile{pile: pile{size: 4, at: all}, takes: time.Second, rest: func(d time.Duration) { time.Sleep(d) },
									dies: func(v int) bool {
										dies := v == at && !died
										died = died || dies
										return dies
									},
									flush: func() bool {
										left--
										return left >= 0
									}}, nil
							}, stages.MaxWait(wait))
					}))
					what := fmt.Sprintf("death at %d, wait %v, %d flushes die", at, wait, dying)
					if r.err != nil {
						t.Fatalf("%s: %v", what, r.err)
					}
					next := []int{0, 1, 2}
					count := 0
					for _, b := range r.out {
						for _, v := range b {
							if v%keys != b[0]%keys || next[v%keys] != v {
								t.Fatalf("%s: %v", what, r.out)
							}
							next[v%keys] += keys
							count++
						}
					}
					if count != n || r.stats.Delivered != n || r.stats.Failed != 0 {
						t.Errorf("%s: %d items, %v", what, count, r.out)
					}
				}
			}
		}
	})
}
