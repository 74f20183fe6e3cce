package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// spots are the items at which something happens: the first ones, one in the middle, the last.
func spots(n int) []int { return []int{0, 1, n / 2, n - 1} }

// repeated is want, each item so many times.
func repeated(want []int, times int) (all []int) {
	for _, v := range want {
		for range times {
			all = append(all, v)
		}
	}
	return all
}

func TestF01APanicAtTheFirstAttemptIsAsIfItHadNotHappened(t *testing.T) {
	const n = 60
	for name, k := range kinds() {
		for _, at := range spots(n) {
			for _, workers := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, item %d, %d workers", name, at, workers), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var opened, calls, passed atomic.Int32
						h := &harm{workers: workers, policy: stages.OnError(stages.Fail()), open: func() { opened.Add(1) },
							at: func(_ context.Context, v int) error {
								if v == at && calls.Add(1) == 1 {
									panic("once")
								}
								passed.Add(1)
								return nil
							}}
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return k.build(stages.Source(g, "ints", ints(n)), h)
						}), supervisor.Config{})
						if r.err != nil {
							t.Fatal(r.err)
						}
						wantItems(t, r.out, repeated(numbers(n), k.times))
						restarts := told[supervisor.WorkerRestarted](r.events)
						if len(restarts) != 1 || r.stats.Restarts != 1 || restarts[0].Stage != "f" {
							t.Fatalf("%d restarts, want 1: %+v", r.stats.Restarts, restarts)
						}
						p, ok := errors.AsType[*stages.PanicError](restarts[0].Err)
						if !ok || p.Value != "once" || p.Stage != "f" || !strings.Contains(p.Stack, "fault_rows_panic_test.go") {
							t.Errorf("got %+v", restarts[0].Err)
						}
						// A batch by size may be given several items at once: which of them was fatal shows at the next attempt only.
						retried := told[supervisor.ItemRetried](r.events)
						if name != "batch by size" && (len(retried) != 1 || retried[0].Item.Index != int64(at) || retried[0].Err != p || p.Item != retried[0].Item) {
							t.Errorf("tried again: %+v, want item %d", retried, at)
						}
						if c := opened.Load(); k.opens && (c < 2 || c > int32(workers)+1) {
							t.Errorf("opened %d times, want once for each worker and once again", c)
						}
						if c := calls.Load(); c < 2 {
							t.Errorf("item %d was tried %d times", at, c)
						}
						if r.stats.Delivered != n || r.stats.Failed != 0 {
							t.Errorf("got %+v", r.stats)
						}
						if name == "sink" && passed.Load() != n {
							t.Errorf("the sink was given %d items, want %d", passed.Load(), n)
						}
					})
				})
			}
		}
	}
}

// A source, and the function of a merge, have no items of their own: they go on where they were.
func TestF01APanicOfASourceOrAMergeIsAsIfItHadNotHappened(t *testing.T) {
	const n = 60
	for name, build := range map[string]func(g *stages.Graph, at func(v int)) stages.Stream[int]{
		"source": func(g *stages.Graph, at func(v int)) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(faulty(n, func(v int) error {
				at(v)
				return nil
			})))
		},
		"merge": func(g *stages.Graph, at func(v int)) stages.Stream[int] {
			return stages.MergeFunc("f", func(heads []*int) int {
				i := first(heads)
				at(*heads[i])
				return i
			}, threes(g, 0, n/3), threes(g, 1, n/3), threes(g, 2, n/3))
		},
	} {
		for _, k := range spots(n) {
			t.Run(fmt.Sprintf("%s, item %d", name, k), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					died := false
					r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
						return build(g, func(v int) {
							if v == k && !died {
								died = true
								panic("once")
							}
						})
					}), supervisor.Config{})
					if r.err != nil {
						t.Fatal(r.err)
					}
					wantItems(t, r.out, numbers(n))
					if restarts := told[supervisor.WorkerRestarted](r.events); len(restarts) != 1 || restarts[0].Stage != "f" || r.stats.Restarts != 1 {
						t.Errorf("%d restarts, want 1: %+v", r.stats.Restarts, restarts)
					}
				})
			})
		}
	}
}

func TestF02APanicAtEveryAttemptFailsTheItem(t *testing.T) {
	const n = 60
	for name, k := range kinds() {
		for _, at := range spots(n) {
			for policy, p := range map[string]stages.AnyOption{
				"fail": stages.OnError(stages.Fail()),
				"skip": stages.OnError(stages.Skip(1)),
			} {
				for _, workers := range []int{1, 3} {
					t.Run(fmt.Sprintf("%s, %s, item %d, %d workers", name, policy, at, workers), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							var calls atomic.Int32
							h := &harm{workers: workers, policy: p, open: func() {}, at: func(_ context.Context, v int) error {
								if v == at {
									calls.Add(1)
									panic(fmt.Sprintf("poison %d", v))
								}
								return nil
							}}
							r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
								return k.build(stages.Source(g, "ints", ints(n)), h)
							}), supervisor.Config{})
							checkPoison(t, r, name, k, policy, at, n)
							most := int32(3)
							if name == "batch by size" {
								most++ // once among others
							}
							if c := calls.Load(); c < 3 || c > most {
								t.Errorf("tried %d times", c)
							}
						})
					})
				}
			}
		}
	}
}

func checkPoison(t *testing.T, r played[int], name string, k kind, policy string, at, n int) {
	t.Helper()
	failures := r.stats.Failures
	if r.stats.Failed != 1 || len(failures) != 1 {
		t.Fatalf("%d failed: %v", r.stats.Failed, failures)
	}
	var p *stages.PanicError
	if !errors.As(failures[0], &p) || p.Value != fmt.Sprintf("poison %d", at) || p.Stage != "f" || p.Item != failures[0].Item || !strings.Contains(p.Stack, "fault_rows_panic_test.go") {
		t.Errorf("got %+v", p)
	}
	if e := told[supervisor.ItemFailed](r.events); len(e) != 1 || e[0].Err != failures[0] || e[0].Failures != 1 {
		t.Errorf("told %v", e)
	}
	if policy == "fail" {
		if item := wantError(t, r.err, "f", at, 3); item != failures[0] || !errors.Is(r.err, p) {
			t.Errorf("got %v", r.err)
		}
		if name == "sink" { // the other branch does not wait for it
			return
		}
		r.out = withdrawn(t, r.out, name, at)
		// An aggregate that still holds items does not flush behind a failure.
		want := repeated(numbers(at), k.times)
		if strings.Contains(name, "aggregate") {
			want = want[:at/7*7]
		} else if name == "batch by size" {
			want = want[:at/3*3]
		}
		wantItems(t, r.out, want)
		return
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	want := without(n, at)
	switch name {
	case "sink":
		want = numbers(n)
	case "aggregate by key": // a group that is not complete comes at the end
		slices.Sort(r.out)
	}
	wantItems(t, withdrawn(t, r.out, name, at), repeated(want, k.times))
	if r.stats.Delivered != int64(n)-1 {
		t.Errorf("%d delivered, %d filtered", r.stats.Delivered, r.stats.Filtered)
	}
}

// withdrawn is out without what a Streaming stage may have handed on of an item before it failed.
func withdrawn(t *testing.T, out []int, name string, items ...int) []int {
	t.Helper()
	if name != "streaming flatmap" {
		return out
	}
	n := len(out)
	out = slices.DeleteFunc(slices.Clone(out), func(v int) bool { return slices.Contains(items, v) })
	if n-len(out) > len(items) {
		t.Errorf("%d outputs of %d items that failed behind their first", n-len(out), len(items))
	}
	return out
}

func TestF03ABudgetOfTenIsSpentAtTheEleventhFailure(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				h := &harm{workers: 1, policy: stages.OnError(stages.Skip(10)), open: func() {}, at: func(_ context.Context, v int) error {
					calls++
					return fmt.Errorf("item %d: %w", v, errBad)
				}}
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					return k.build(stages.Source(g, "ints", ints(1000)), h)
				}), supervisor.Config{})
				if !errors.Is(r.err, stages.ErrBudget) || calls != 11 {
					t.Errorf("%v, after %d calls", r.err, calls)
				}
				if out := withdrawn(t, r.out, name, numbers(11)...); name != "sink" && len(out) > 0 {
					t.Errorf("%d items came out", len(out))
				}
				last := wantError(t, r.err, "f", 10, 1)
				if f := r.stats.Failures; len(f) != 11 || f[0].Item.Index != 0 || f[10] != last {
					t.Errorf("%d failures: %v", len(f), f)
				}
				if name != "batch by size" && (!errors.Is(last, errBad) || last.Err.Error() != "item 10: bad" || r.stats.Failures[0].Err.Error() != "item 0: bad") {
					t.Errorf("got %v", last)
				}
				if r.stats.Restarts != 0 || r.stats.Retries != 0 || len(told[supervisor.WorkerRestarted](r.events)) > 0 {
					t.Errorf("an error is not a crash: %d restarts, %d retries", r.stats.Restarts, r.stats.Retries)
				}
				budgets := []int64{}
				for _, e := range told[supervisor.ItemFailed](r.events) {
					budgets = append(budgets, e.Failures)
				}
				if !slices.Equal(budgets, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
					t.Errorf("the budget was told to be %v", budgets)
				}
			})
		})
	}
}

// The failures of a source are its own.
func TestF03ABudgetOfASourceIsSpentAtTheEleventhFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(faulty(1000, func(int) error { return errBad })), stages.OnError(stages.Skip(10)))
		}), supervisor.Config{})
		if !errors.Is(r.err, stages.ErrBudget) || len(r.out) > 0 || r.stats.Failed != 11 {
			t.Errorf("%v, %d failed", r.err, r.stats.Failed)
		}
		if last := wantError(t, r.err, "f", 10, 1); !errors.Is(last, errBad) || r.stats.Failures[0].Item.Index != 0 {
			t.Errorf("got %v", last)
		}
	})
}
