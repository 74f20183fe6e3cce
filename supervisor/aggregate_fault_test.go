package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Whichever item the worker dies at, its successor is given what all groups held, and nothing else: what comes out is what
// comes out without a death.
func TestAGroupedStageGoesOnBehindADeathAtAnyItem(t *testing.T) {
	const n = 60
	pipeline := func(dies func(v int) bool, given func(ctx context.Context, v int)) stages.Pipeline[[]int] {
		return define(func(g *stages.Graph) stages.Stream[[]int] {
			return stages.AggregateByKey(stages.Source(g, "ints", ints(n)), "groups", func(v int) int { return v * v % 11 },
				func(ctx context.Context, key int) (*witness, error) {
					return &witness{bucket{size: 2 + key%4}, dies, given}, nil
				}, stages.MaxHeld(17), stages.Groups(5))
		})
	}
	nothing := func(context.Context, int) {}
	want, _, err := collect(t, pipeline(func(int) bool { return false }, nothing))
	if err != nil {
		t.Fatal(err)
	}
	for at := range n {
		died := false
		var again []int
		got, s, err := collect(t, pipeline(func(v int) bool {
			if v != at || died {
				return false
			}
			died = true
			return true
		}, func(ctx context.Context, v int) {
			if died && v < at {
				again = append(again, v)
				if a := stages.Attempt(ctx); a != 2 {
					t.Errorf("attempt %d at item %d", a, v)
				}
			}
		}))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || s.Restarts != 1 || s.Delivered != n {
			t.Fatalf("death at %d: %v, %v, want %v, %+v", at, got, err, want, s)
		}
		// Held then: all before it that no earlier output has.
		var held []int
		for v := range at {
			if i := slices.IndexFunc(want, func(b []int) bool { return slices.Contains(b, v) }); !left(want, i, at) {
				held = append(held, v)
			}
		}
		if !slices.Equal(again, held) {
			t.Fatalf("death at %d: %v were given again, want %v", at, again, held)
		}
	}
}

// left reports whether output i of a stage with room for 5 groups and 17 items came before item at, or at it to make room:
// the outputs come in the order of the item that completes them.
func left(outputs [][]int, i, at int) bool {
	var by []int // the item with which each output came
	open, held, done := map[int][]int{}, 0, 0
	for v := range at + 1 {
		key := v * v % 11
		flush := func() {
			for k, b := range open {
				if slices.Equal(b, outputs[done]) {
					held -= len(b)
					delete(open, k)
					by = append(by, v)
					done++
					return
				}
			}
		}
		if _, ok := open[key]; !ok && len(open) == 5 {
			flush()
		}
		if v == at {
			break
		}
		open[key] = append(open[key], v)
		if held++; len(open[key]) == 2+key%4 || held == 17 {
			flush()
		}
	}
	return i < len(by)
}

// A witness is a bucket that tells what it is given.
type witness struct {
	bucket
	dies  func(v int) bool
	given func(ctx context.Context, v int)
}

func (w *witness) Process(ctx context.Context, v int, emit func([]int) bool) error {
	w.given(ctx, v)
	if w.dies(v) {
		panic("once")
	}
	return w.bucket.Process(ctx, v, emit)
}

func TestAGroupThatCannotBeOpenedFailsTheItemsOfItsKey(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		err    error
		policy stages.SerialOption
		fails  bool
	}{
		"tolerated":     {bad, stages.OnError(stages.Skip(10)), false},
		"not tolerated": {bad, stages.OnError(stages.Skip(0)), true},
		"fatal":         {stages.Fatal(bad), stages.OnError(stages.Skip(10)), true},
	} {
		t.Run(name, func(t *testing.T) {
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
				return stages.AggregateByKey(stages.Source(g, "ints", ints(12)), "groups", func(v int) int { return v % 3 },
					func(ctx context.Context, key int) (*bucket, error) {
						if key == 1 {
							return nil, c.err
						}
						return &bucket{size: 2}, nil
					}, c.policy)
			}))
			if c.fails {
				if !errors.Is(err, bad) || s.Failed != 1 {
					t.Errorf("%v, %+v", err, s)
				}
				return
			}
			if err != nil || fmt.Sprint(got) != "[[0 3] [2 5] [6 9] [8 11]]" || s.Failed != 4 || s.Restarts != 0 {
				t.Errorf("%v, %v, %+v", got, err, s)
			}
			for i, e := range s.Failures {
				if e.Item.Index != int64(1+3*i) || !errors.Is(e, bad) || !strings.Contains(e.Error(), "open: ") {
					t.Error(e)
				}
			}
		})
	}
}

// A panic in Close is no item's. It costs the worker, and nothing else.
func TestACloseThatPanicsCostsNoItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // items come one by one, so that each is a piece of its own
		got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
			return byRest(stages.Source(g, "drip", drip(30)), 3, func(key int) *bucket {
				return &bucket{size: 2, close: func() error {
					if key == 1 {
						panic("in close")
					}
					return nil
				}}
			})
		}))
		var all []int
		for _, b := range got {
			all = append(all, b...)
		}
		slices.Sort(all)
		if checkCount(t, all, 30); err != nil || s.Failed != 0 || s.Retries != 0 || s.Restarts < 5 {
			t.Errorf("%v, %+v", err, s)
		}
	})
}

func TestACloseThatFailsIsReported(t *testing.T) {
	bad := errors.New("bad")
	run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		return byRest(stages.Source(g, "ints", ints(30)), 3, func(key int) *bucket {
			return &bucket{size: 5, close: func() error { return bad }}
		})
	}), supervisor.Config{})
	n := 0
	for _, err := range run.Items(t.Context()) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	reported := 0
	for e := range run.Events(t.Context()) {
		if c, ok := e.(supervisor.CloseFailed); ok && errors.Is(c.Err, bad) && c.Stage == "by rest" {
			reported += strings.Count(c.Err.Error(), "bad")
		}
	}
	if n != 6 || reported != 6 {
		t.Errorf("%d groups, %d reports", n, reported)
	}
}

// Any number of groups may die in their flush, one after the other: each time something has left.
func TestGroupsMayDieInTheirFlushOneAfterTheOther(t *testing.T) {
	const keys = 40
	died := map[int]bool{}
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		return byRest(stages.Source(g, "ints", ints(3*keys)), keys, func(key int) *bucket {
			return &bucket{size: 9, flush: func([]int) error {
				if !died[key] {
					died[key] = true
					panic("once")
				}
				return nil
			}}
		})
	}))
	if err != nil || len(got) != keys || s.Delivered != 3*keys || s.Restarts != keys {
		t.Fatalf("%d groups, %v, %+v", len(got), err, s)
	}
	for key, b := range got {
		if !slices.Equal(b, []int{key, key + keys, key + 2*keys}) {
			t.Errorf("group %d: %v", key, b)
		}
	}
}

func TestAGroupWhoseFlushFailsFailsTheRun(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		flush func([]int) error
		opts  []stages.SerialOption
		out   int
		dead  int64
	}{
		"an error":                {func([]int) error { return bad }, nil, 0, 0},
		"an error, making room":   {func([]int) error { return bad }, []stages.SerialOption{stages.Groups(2)}, 0, 0},
		"an error, at most held":  {func([]int) error { return bad }, []stages.SerialOption{stages.MaxHeld(3)}, 0, 0},
		"panics":                  {func([]int) error { panic(bad) }, nil, 0, 2},
		"panics, making room":     {func([]int) error { panic(bad) }, []stages.SerialOption{stages.Groups(2)}, 0, 2},
		"only the second group's": {func(held []int) error { return map[bool]error{true: bad}[held[0]%3 == 1] }, nil, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
				return byRest(stages.Source(g, "ints", ints(9)), 3, func(int) *bucket { return &bucket{size: 9, flush: c.flush} },
					append(c.opts, stages.OnError(stages.Skip(100)))...)
			}))
			if err == nil || !strings.Contains(err.Error(), `stage "by rest": flush: `) || !strings.Contains(err.Error(), "bad") {
				t.Error(err)
			}
			if len(got) != c.out || s.Restarts < c.dead {
				t.Errorf("%v, %+v", got, s)
			}
		})
	}
}

// A group whose Flush does not emit all, or that is wrong about what it holds, fails the run.
func TestAGroupThatIsWrongAboutWhatItHoldsFailsTheRun(t *testing.T) {
	for lie, want := range map[int]string{-2: "says that it holds -1 of 1 items", 1: "says that it holds 2 of 1 items"} {
		_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.AggregateByKey(stages.Source(g, "ints", ints(9)), "groups", func(v int) int { return v % 3 },
				func(context.Context, int) (*reverser, error) { return &reverser{lie: lie}, nil })
		}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("lie %d: %v", lie, err)
		}
	}
}

// A batch is made of its own items only: when it fails downstream, they have failed.
func TestWhatIsMadeOfAGroupIsMadeOfItsItems(t *testing.T) {
	bad := errors.New("bad")
	for name, build := range map[string]func(in stages.Stream[int]) stages.Stream[[]int]{
		"groups": func(in stages.Stream[int]) stages.Stream[[]int] { return byRest(in, 7, sized(4), stages.Groups(5)) },
		"by size": func(in stages.Stream[int]) stages.Stream[[]int] {
			return stages.BatchBySize(in, "pack", 10, func(v int) int { return 1 + v%13 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			lost := 0
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
				return stages.Map(build(stages.Source(g, "ints", ints(1000))), "judge", func(ctx context.Context, b []int) ([]int, error) {
					if id := stages.ItemID(ctx); id.Index != int64(b[0]) || id.Path != "" {
						t.Errorf("the batch %v is %v", b, id)
					}
					if b[0]%3 == 0 {
						lost += len(b)
						return nil, bad
					}
					return b, nil
				}, stages.OnError(stages.Skip(1000)))
			}))
			if err != nil || len(got) == 0 || lost == 0 || s.Failed != int64(lost) || s.Delivered != int64(1000-lost) {
				t.Errorf("%v, %d lost, %+v", err, lost, s)
			}
		})
	}
}

func TestAKeyThatIsNotEqualToItselfIsAGroupOfItsOwn(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		return stages.AggregateByKey(stages.Source(g, "ints", ints(1000)), "groups", func(v int) float64 {
			if v%2 == 0 {
				return math.NaN()
			}
			return 1
		}, func(context.Context, float64) (*bucket, error) { return &bucket{size: 3}, nil }, stages.Groups(4))
	}))
	if n := len(got); err != nil || n < 500+500/3 || s.Delivered != 1000 {
		t.Errorf("%d groups, %v, %+v", n, err, s)
	}
}

// Keys that cannot be compared fail their items, as a panic does.
func TestAKeyThatCannotBeComparedFailsItsItem(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		return stages.AggregateByKey(stages.Source(g, "ints", ints(9)), "groups", func(v int) any {
			if v == 4 {
				return []int{v}
			}
			return v % 2
		}, func(context.Context, any) (*bucket, error) { return &bucket{size: 4}, nil }, stages.OnError(stages.Skip(1)))
	}))
	if err != nil || fmt.Sprint(got) != "[[1 3 5 7] [0 2 6 8]]" || s.Failed != 1 || s.Failures[0].Item.Index != 4 {
		t.Errorf("%v, %v, %+v", got, err, s)
	}
}
