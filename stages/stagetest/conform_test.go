package stagetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
)

type numbers = stages.Stream[int]

func TestBuiltInKindsConform(t *testing.T) {
	open := func(context.Context) (*adder, error) { return &adder{1}, nil }
	many := func(_ context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := 0; i < v && yield(i, nil); i++ {
			}
		}
	}
	third := func(_ context.Context, v int) (int, error) { return v % 3, nil }
	for name, build := range map[string]func(numbers) numbers{
		"map":      func(in numbers) numbers { return stages.Map(in, "x", double, stages.Mailbox(2)) },
		"timeout":  func(in numbers) numbers { return stages.Map(in, "x", double, stages.Timeout(time.Minute)) },
		"map with": func(in numbers) numbers { return stages.MapWith(in, "x", open, (*adder).add) },
		"filter": func(in numbers) numbers {
			return stages.Filter(in, "x", func(_ context.Context, v int) (bool, error) { return v%2 == 0, nil })
		},
		"flatmap":      func(in numbers) numbers { return stages.FlatMap(in, "x", many) },
		"streaming":    func(in numbers) numbers { return stages.FlatMap(in, "x", many, stages.Streaming) },
		"flatmap with": func(in numbers) numbers { return stages.FlatMapWith(in, "x", open, (*adder).count) },
		"batch": func(in numbers) numbers {
			return stages.Unbatch(stages.Batch(in, "x", 3), "y")
		},
		"full batches": func(in numbers) numbers {
			return stages.Unbatch(stages.Batch(in, "x", 3, stages.DropLast), "y")
		},
		"route": func(in numbers) numbers {
			return stages.Merge("y", stages.InputOrder{}, stages.Route(in, "x", 3, third)...)
		},
		"merges of one input": func(in numbers) numbers {
			least := stages.MergeFunc("x", func([]*int) int { return 0 }, in)
			return stages.Merge("z", stages.RoundRobin{}, stages.Merge("y", stages.Weighted{Weights: []float64{1}}, least))
		},
		"arrival": func(in numbers) numbers {
			return stages.Merge("y", stages.Arrival{}, stages.Route(in, "x", 3, third)...)
		},
		"batch by size": func(in numbers) numbers {
			return stages.Unbatch(stages.BatchBySize(in, "x", 12, func(v int) int { return v }), "y")
		},
		"aggregate": func(in numbers) numbers {
			return stages.Aggregate(in, "x", func(context.Context) (*summer, error) { return &summer{}, nil })
		},
		"aggregate by key": func(in numbers) numbers {
			return stages.AggregateByKey(in, "x", func(v int) int { return v % 3 }, func(context.Context, int) (*summer, error) { return &summer{}, nil })
		},
		"tee and sink": func(in numbers) numbers {
			a, b := stages.Tee(in, "x")
			stages.Sink(b, "y", func(context.Context, int) error { return nil })
			return a
		},
		"fork": func(in numbers) numbers {
			return stages.Merge("y", stages.InputOrder{}, stages.Fork(in, "x", 2, func(_ context.Context, v int, to func(int)) error {
				for b := range v % 3 {
					to(b)
				}
				return nil
			})...)
		},
		"parts of batches": func(in numbers) numbers {
			return stages.Unbatch(stages.Rejoin("z", stages.RouteBatch(stages.Batch(in, "b", 4), "x", 3, func(_ context.Context, b []int) ([]int, error) {
				var to []int
				for _, v := range b {
					to = append(to, v%3)
				}
				return to, nil
			})...), "u")
		},
	} {
		t.Run(name, func(t *testing.T) { stagetest.Conform(t, build, upToN(10)...) })
	}
}

type adder struct{ n int }

func (a *adder) add(_ context.Context, v int) (int, error) { return v + a.n, nil }

func (a *adder) count(_ context.Context, v int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) { _ = yield(v, nil) && yield(a.n, nil) }
}

func (a *adder) Close() error { return nil }

// A summer adds two items.
type summer struct{ hoarder }

func (s *summer) Process(ctx context.Context, v int, emit func(int) bool) error {
	if len(s.held) == 1 {
		emit(s.held[0] + v)
		s.held = nil
		return nil
	}
	return s.hoarder.Process(ctx, v, emit)
}

// A fake is a worker made of functions, which holds what it has put into held.
type fake struct {
	held    []*int
	process func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error
	flush   func(ctx context.Context, f *fake, emit func(*int) bool) error // nil: it emits what is held
	says    func(f *fake) int                                              // nil: the truth
	close   func() error
	collect func(f *fake, items []*int, emit func(*int) bool) int
	kept    func(*int) bool
	n       int
}

func (f *fake) Process(ctx context.Context, v *int, emit func(*int) bool) error {
	return f.process(ctx, f, v, emit)
}

func (f *fake) Held() int {
	if f.says != nil {
		return f.says(f)
	}
	return len(f.held)
}

func (f *fake) Flush(ctx context.Context, emit func(*int) bool) error {
	if f.flush != nil {
		return f.flush(ctx, f, emit)
	}
	for _, v := range f.held {
		emit(v)
	}
	f.held = nil
	return nil
}

func (f *fake) Close() error {
	if f.close != nil {
		return f.close()
	}
	return nil
}

// hold puts v behind what is held, and emits the one before.
func hold(_ context.Context, f *fake, v *int, emit func(*int) bool) error {
	if f.held = append(f.held, v); len(f.held) > 1 {
		emit(f.held[0])
		f.held = f.held[1:]
	}
	return nil
}

// pass lets everything through.
func pass(_ context.Context, _ *fake, v *int, emit func(*int) bool) error {
	emit(v)
	return nil
}

// A gatherer is a fake that takes several items in one go.
type gatherer struct{ *fake }

func (g gatherer) Collect(_ context.Context, items []*int, emit func(*int) bool) (int, error) {
	return g.collect(g.fake, items, emit), nil
}

func serial(open func() *fake) func(stages.Stream[*int]) stages.Stream[*int] {
	return func(in stages.Stream[*int]) stages.Stream[*int] {
		return stages.AttachSerial(in, "fake", stages.SerialKind[*int, *int]{Name: "fake", Holds: true,
			Open: func(context.Context) (stages.Worker[*int, *int], error) {
				f := open()
				if f.collect != nil {
					return gatherer{f}, nil
				}
				return f, nil
			}})
	}
}

func pointers(n int) []*int {
	var all []*int
	for i := range n {
		all = append(all, &i)
	}
	return all
}

func TestAKindThatKeepsTheRulesConforms(t *testing.T) {
	for name, open := range map[string]func() *fake{
		"it holds one":     func() *fake { return &fake{process: hold} },
		"it holds nothing": func() *fake { return &fake{process: pass} },
		"it holds for ever": func() *fake {
			return &fake{process: func(_ context.Context, f *fake, v *int, _ func(*int) bool) error {
				f.held = append(f.held, v)
				return nil
			}}
		},
	} {
		t.Run(name, func(t *testing.T) { stagetest.Conform(t, serial(open), pointers(7)...) })
	}
}

// Every rule is broken by one of these.
func TestAKindThatBreaksARuleIsCaught(t *testing.T) {
	release := make(chan bool) // made anew for each
	var shared atomic.Int64    // reset for each; atomic, so that the race detector leaves the rule to Conform
	var closed atomic.Bool
	for name, c := range map[string]struct {
		rule, want string
		open       func() *fake
	}{
		"an item fails": {"works", `on its samples: stage "fake": item given/0/2 failed: no`, func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				if *v == 2 {
					return errors.New("no")
				}
				return pass(ctx, f, v, emit)
			}}
		}},
		"it says that it holds more than it was given": {"works", "says that it holds 2 of 1 items", func() *fake {
			return &fake{process: hold, says: func(f *fake) int { return len(f.held) + 1 }}
		}},
		"it holds something after Flush": {"works", "holds 1 items after Flush, want none", func() *fake {
			return &fake{process: hold, flush: func(context.Context, *fake, func(*int) bool) error { return nil }}
		}},
		"it does not return": {"works", "on its samples: it does not return within 10s", func() *fake {
			return &fake{process: func(context.Context, *fake, *int, func(*int) bool) error { <-release; return nil }}
		}},
		"it remembers the epoch before": {"gives the same again", "in two epochs: number 7 is missing", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				if f.n++; f.n <= 7 {
					return pass(ctx, f, v, emit)
				}
				return nil
			}}
		}},
		"it depends on the worker before": {"gives the same again", "by another worker: number 0 is", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				n := int(shared.Add(1))
				return pass(ctx, f, &n, emit)
			}}
		}},
		"it says that it holds less than it does": {"may be replaced", "its worker replaced after 1 items: number 0 is &1, was &0 at first", func() *fake {
			return &fake{process: hold, says: func(f *fake) int {
				if len(f.held) == 1 && f.n == 0 && *f.held[0] == 0 {
					return 0
				}
				return len(f.held)
			}}
		}},
		"its state matters, and is not held": {"may be replaced", "its worker replaced after 1 items: number 0 is", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				if f.n++; f.n%2 == 0 {
					return pass(ctx, f, v, emit)
				}
				return nil
			}}
		}},
		"it counts on the first attempt": {"may die", "it died before call 1 of Process: number 1 is &2, was &1 at first", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				if stages.Attempt(ctx) > 1 && *v > 0 {
					return nil
				}
				return pass(ctx, f, v, emit)
			}}
		}},
		"it does something else with several": {"gives the same again", "in one go: number 0 is &-1, was &0 at first", func() *fake {
			return &fake{process: hold, collect: func(f *fake, items []*int, emit func(*int) bool) int {
				if len(items) == 1 {
					_ = hold(context.Background(), f, items[0], emit)
					return 1
				}
				n := -1
				f.held = nil
				emit(&n)
				return len(items)
			}}
		}},
		"it emits in the next call what it kept": {"keeps no emit", "an emit was called 13 times when its call was over", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				if f.kept != nil {
					f.kept(v)
				}
				f.kept = emit
				return nil
			}}
		}},
		"it keeps the emit of a Flush": {"keeps no emit", "an emit was called 7 times", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				if f.kept != nil {
					f.kept(v)
				}
				return hold(ctx, f, v, emit)
			}, flush: func(ctx context.Context, f *fake, emit func(*int) bool) error {
				f.kept = emit
				emit(f.held[0])
				f.held = nil
				return nil
			}}
		}},
		"it cannot be closed": {"can be closed", `stage "fake": Close: no`, func() *fake {
			return &fake{process: pass, close: func() error { return errors.New("no") }}
		}},
		"its workers close one thing": {"can be closed", `stage "fake": Close: panic: closed twice`, func() *fake {
			return &fake{process: pass, close: func() error {
				if closed.Swap(true) {
					panic("closed twice")
				}
				return nil
			}}
		}},
		"it waits when its context has ended": {"obeys its context", "its context ended behind 0 items: it does not return", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				if ctx.Err() != nil {
					<-release
				}
				return pass(ctx, f, v, emit)
			}}
		}},
		"it waits when its context ends": {"obeys its context", "its context ended during a call, at an emit: it does not return", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				before := ctx.Err()
				emit(v)
				if before == nil && ctx.Err() != nil {
					<-release
				}
				return nil
			}}
		}},
		"it changes its items": {"changes nothing", "the items that it was given: number 0 is &", func() *fake {
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				one := 1
				emit(&one)
				*v += 10
				return nil
			}}
		}},
		"it changes what it has emitted": {"changes nothing", "what it has emitted, afterwards: number 0 is &6, was &0 at first", func() *fake {
			room := new(int)
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				*room = *v
				emit(room)
				return nil
			}}
		}},
		"its workers share something": {"shares nothing", "beside another worker, in turn: number", func() *fake {
			shared.Store(0)
			return &fake{process: func(ctx context.Context, f *fake, v *int, emit func(*int) bool) error {
				n := int(shared.Add(1)) - 1
				return pass(ctx, f, &n, emit)
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan bool)
				shared.Store(0)
				closed.Store(false)
				defer close(release)
				var broken []string
				r := &recorder{ctx: t.Context()}
				stagetest.ConformTo(r, serial(c.open), func(name string, rule func(testing.TB)) bool {
					before := len(r.errors)
					rule(r)
					for _, e := range r.errors[before:] {
						broken = append(broken, name+": "+e)
					}
					return len(r.errors) == before
				}, pointers(7)...)
				if !slices.ContainsFunc(broken, func(s string) bool {
					return strings.HasPrefix(s, c.rule+": ") && strings.Contains(s, c.want)
				}) {
					t.Errorf("got  %s\nwant %s: %s", strings.Join(broken, "\n     "), c.rule, c.want)
				}
			})
		})
	}
}

func TestConformWantsSamples(t *testing.T) {
	r := &recorder{ctx: t.Context()}
	stagetest.ConformTo(r, func(in numbers) numbers { return in }, func(string, func(testing.TB)) bool { panic("no rule is to be tried") }, 1, 2)
	if fmt.Sprint(r.errors) != "[there are 2 samples, want at least 3: the fewer there are, the less is tested]" {
		t.Errorf("got %q", r.errors)
	}
}

// A call of runtime.Goexit is a death as a panic is.
func TestGoexitIsReported(t *testing.T) {
	r := &recorder{ctx: t.Context()}
	stagetest.ConformTo(r, serial(func() *fake {
		return &fake{process: func(context.Context, *fake, *int, func(*int) bool) error { runtime.Goexit(); return nil }}
	}), func(_ string, rule func(testing.TB)) bool { rule(r); return len(r.errors) == 0 }, pointers(3)...)
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "failed after 3 attempts: panic: runtime.Goexit was called") {
		t.Errorf("got %q", r.errors)
	}
}
