package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A source that fails when it is opened, at its first item, at one in the middle, at its last, or behind that: by an error
// that concerns one item, by one that is the end, by a death that comes once or again and again, and by nothing at all.
func TestF44ASourceMayFailAnywhere(t *testing.T) {
	const n = 30
	for _, at := range []int{-1, 0, 15, n - 1, n} { // -1: when it is opened; n: behind the last item
		for how, fail := range map[string]func() error{
			"an error":           func() error { return errBad },
			"a fatal error":      func() error { return stages.Fatal(errBad) },
			"a panic":            func() error { panic("mine") },
			"a goexit":           func() error { runtime.Goexit(); return nil },
			"a panic every time": func() error { panic("mine") },
		} {
			for policy, p := range map[string]stages.SourceOption{"fail": stages.OnError(stages.Fail()), "skip": stages.OnError(stages.Skip(1))} {
				t.Run(fmt.Sprintf("%s at %d, %s", how, at, policy), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						failures, opened, open := 0, 0, 0
						hit := func(i int) error {
							if i != at || failures > 0 && how != "a panic every time" {
								return nil
							}
							failures++
							return fail()
						}
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							in := stages.Source(g, "source", stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
								opened++
								err := hit(-1)
								return func(yield func(int, error) bool) {
									open++
									defer func() { open-- }()
									if err != nil && !yield(0, err) {
										return
									}
									// An error stands in the place of its item: what comes behind it is not moved.
									for i := int(from.Index); i <= n; i++ {
										if err := hit(i); err != nil {
											if !yield(0, err) {
												return
											}
										}
										if i < n && !yield(i, nil) {
											return
										}
									}
								}
							}), p)
							return stages.Map(in, "f", same, stages.Mailbox(2), stages.Ordered)
						}), supervisor.Config{})
						if open != 0 || failures == 0 {
							t.Errorf("%d iterators are open, it has failed %d times", open, failures)
						}
						before := numbers(max(at, 0))
						switch {
						case how == "a panic every time":
							if _, ok := errors.AsType[*stages.PanicError](r.err); !ok {
								t.Errorf("got %v", r.err)
							}
							wantItems(t, r.out, before)
						case how == "a panic" || how == "a goexit":
							if r.err != nil || opened != 2 || r.stats.Restarts != 1 {
								t.Errorf("%v, opened %d times, %d restarts", r.err, opened, r.stats.Restarts)
							}
							wantItems(t, r.out, numbers(n))
						case how == "an error" && policy == "skip":
							if r.err != nil || r.stats.Failed != 1 || r.stats.Delivered != n || opened != 1 || r.stats.Failures[0].Item.Index != int64(max(at, 0)) {
								t.Errorf("%v, %+v", r.err, r.stats)
							}
							wantItems(t, r.out, numbers(n))
						default:
							if !errors.Is(r.err, errBad) || errors.Is(r.err, stages.ErrFatal) != (how == "a fatal error") || opened != 1 {
								t.Errorf("got %v, opened %d times", r.err, opened)
							}
							wantItems(t, r.out, before)
						}
					})
				})
			}
		}
	}
}

// Nil is a value as any other, of whatever type it is, in every kind of stage.
func TestF44ASourceMayYieldNil(t *testing.T) {
	checkNil(t, "pointer", (*int)(nil), func(v *int) bool { return v == nil })
	checkNil(t, "slice", []int(nil), func(v []int) bool { return v == nil })
	checkNil(t, "map", map[string]int(nil), func(v map[string]int) bool { return v == nil })
	checkNil(t, "interface", any(nil), func(v any) bool { return v == nil })
	checkNil(t, "error", error(nil), func(v error) bool { return v == nil })
	checkNil(t, "function", (func())(nil), func(v func()) bool { return v == nil })
	checkNil(t, "channel", (chan int)(nil), func(v chan int) bool { return v == nil })
}

func checkNil[T any](t *testing.T, name string, null T, isNil func(T) bool) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const n = 20
			r := play(t, define(func(g *stages.Graph) stages.Stream[T] {
				in := stages.Source(g, "source", stages.FromSlice(make([]T, n)))
				in = stages.Map(in, "map", func(_ context.Context, v T) (T, error) { return v, nil }, stages.Mailbox(2), stages.Ordered)
				in = stages.Filter(in, "filter", func(_ context.Context, v T) (bool, error) { return isNil(v), nil })
				b := stages.RouteBatch(stages.Batch(in, "batch", 4), "deal", 2, func(context.Context, []T) ([]int, error) { return []int{0, 1, 1, 0}, nil })
				in = stages.Unbatch(stages.Rejoin("whole", b...), "unbatch")
				return stages.FlatMap(in, "flatmap", func(_ context.Context, v T) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) { yield(v, nil) }
				})
			}), supervisor.Config{})
			if r.err != nil || len(r.out) != n || r.stats.Delivered != n {
				t.Fatalf("%v, %d items", r.err, len(r.out))
			}
			for _, v := range r.out {
				if !isNil(v) {
					t.Errorf("got %v", v)
				}
			}
			// A slice of nothing is a batch without elements, and an iterator that is nil has no outputs.
			none := play(t, define(func(g *stages.Graph) stages.Stream[T] {
				empty := stages.Source(g, "source", stages.FromSlice(make([][]T, n)))
				in := stages.Merge("both", stages.Arrival{}, stages.Unbatch(empty, "unbatch"), stages.FlatMap(stages.Source(g, "ints", ints(n)), "nil",
					func(context.Context, int) iter.Seq2[T, error] { return nil }))
				return in
			}), supervisor.Config{})
			if none.err != nil || len(none.out) != 0 || none.stats.Filtered != 2*n {
				t.Errorf("%v, %d items, %+v", none.err, len(none.out), none.stats)
			}
		})
	})
}

// A source whose iterator is nil is a mistake that cannot be seen before it runs: it is an error, with a stack.
func TestF44ASourceWhoseIteratorIsNilFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "source", stages.FromSeq(func(context.Context) iter.Seq2[int, error] { return nil }))
		}), supervisor.Config{})
		if p, ok := errors.AsType[*stages.PanicError](r.err); !ok || p.Stage != "source" || len(r.out) > 0 {
			t.Errorf("got %v", r.err)
		}
	})
}
