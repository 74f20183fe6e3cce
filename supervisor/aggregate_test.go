package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A bucket is an aggregator that collects up to size items. Its functions may be replaced.
type bucket struct {
	size    int
	held    []int
	process func(v int) error
	flush   func(held []int) error
	close   func() error
}

func (b *bucket) Process(_ context.Context, v int, emit func([]int) bool) error {
	if b.process != nil {
		if err := b.process(v); err != nil {
			return err
		}
	}
	if b.held = append(b.held, v); len(b.held) == b.size {
		emit(b.held)
		b.held = nil
	}
	return nil
}

func (b *bucket) Held() int { return len(b.held) }

func (b *bucket) Flush(_ context.Context, emit func([]int) bool) error {
	if b.flush != nil {
		if err := b.flush(b.held); err != nil {
			return err
		}
	}
	emit(b.held)
	b.held = nil
	return nil
}

func (b *bucket) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// byRest aggregates by the rest of a division, with a bucket that open makes.
func byRest(in stages.Stream[int], keys int, open func(key int) *bucket, opts ...stages.SerialOption) stages.Stream[[]int] {
	return stages.AggregateByKey(in, "by rest", func(v int) int { return v % keys },
		func(_ context.Context, key int) (*bucket, error) { return open(key), nil }, opts...)
}

func sized(size int) func(int) *bucket { return func(int) *bucket { return &bucket{size: size} } }

type grouping struct {
	n, keys, size int
	opts          []stages.SerialOption
	want          string
	lost          int64
}

func groupings() map[string]grouping {
	return map[string]grouping{
		"as they fill":                   {10, 3, 2, nil, "[[0 3] [1 4] [2 5] [6 9] [7] [8]]", 0},
		"the rest in the order of time":  {7, 4, 9, nil, "[[0 4] [1 5] [2 6] [3]]", 0},
		"the rest is dropped":            {10, 3, 2, []stages.SerialOption{stages.DropLast}, "[[0 3] [1 4] [2 5] [6 9]]", 2},
		"one group at a time":            {6, 3, 9, []stages.SerialOption{stages.Groups(1)}, "[[0] [1] [2] [3] [4] [5]]", 0},
		"the longest waits no longer":    {7, 3, 9, []stages.SerialOption{stages.Groups(2)}, "[[0] [1] [2] [3] [4] [5] [6]]", 0},
		"room for all":                   {7, 3, 9, []stages.SerialOption{stages.Groups(3)}, "[[0 3 6] [1 4] [2 5]]", 0},
		"the longest leaves at five":     {9, 3, 9, []stages.SerialOption{stages.MaxHeld(5)}, "[[0 3] [1 4] [2 5 8] [6] [7]]", 0},
		"nothing is held at one":         {4, 2, 9, []stages.SerialOption{stages.MaxHeld(1)}, "[[0] [1] [2] [3]]", 0},
		"groups of one item are no more": {4, 4, 1, []stages.SerialOption{stages.Groups(1)}, "[[0] [1] [2] [3]]", 0},
	}
}

var groups = law("groups", func(g *stages.Graph, name string) stages.Stream[[]int] {
	c := groupings()[name]
	return byRest(stages.Source(g, "ints", ints(c.n)), c.keys, sized(c.size), c.opts...)
})

func TestGroupsAreCompleteEachOnItsOwn(t *testing.T) {
	for name, c := range groupings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, groups, name, func(t *testing.T, r played[[]int]) {
				if s := r.stats; r.err != nil || fmt.Sprint(r.out) != c.want || s.Filtered != c.lost || s.Delivered != int64(c.n)-c.lost {
					t.Errorf("%v, %v, want %s: %+v", r.out, r.err, c.want, s)
				}
			})
		})
	}
}

type sizing struct {
	sizes []int
	max   int
	opts  []stages.SerialOption
	want  string
	lost  int64
}

func sizings() map[string]sizing {
	return map[string]sizing{
		"as many as fit":             {[]int{3, 3, 3, 3}, 7, nil, "[[3 3] [3 3]]", 0},
		"at the maximum at once":     {[]int{3, 4, 1}, 7, nil, "[[3 4] [1]]", 0},
		"one larger than it":         {[]int{1, 9, 1}, 7, nil, "[[1] [9] [1]]", 0},
		"the first is larger":        {[]int{9, 9, 7, 1}, 7, nil, "[[9] [9] [7] [1]]", 0},
		"nothing fits beside":        {[]int{5, 7, 2}, 7, nil, "[[5] [7] [2]]", 0},
		"of no size":                 {[]int{0, 0, 7, 0, 8, 0}, 7, nil, "[[0 0 7] [0] [8] [0]]", 0},
		"of no size, many":           {make([]int, 5), 7, []stages.SerialOption{stages.MaxHeld(2)}, "[[0 0] [0 0] [0]]", 0},
		"the largest number":         {[]int{math.MaxInt, 1, math.MaxInt}, math.MaxInt, nil, "[[9223372036854775807] [1] [9223372036854775807]]", 0},
		"the last is dropped":        {[]int{3, 4, 1, 2}, 7, []stages.SerialOption{stages.DropLast}, "[[3 4]]", 2},
		"at the maximum of one item": {[]int{1, 1, 2}, 1, nil, "[[1] [1] [2]]", 0},
	}
}

var packs = law("packs", func(g *stages.Graph, name string) stages.Stream[[]int] {
	c := sizings()[name]
	return stages.BatchBySize(stages.Source(g, "sizes", stages.FromSlice(c.sizes)), "pack", c.max, func(v int) int { return v }, c.opts...)
})

func TestBatchesBySize(t *testing.T) {
	for name, c := range sizings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, packs, name, func(t *testing.T, r played[[]int]) {
				if r.err != nil || fmt.Sprint(r.out) != c.want || r.stats.Filtered != c.lost {
					t.Errorf("%v, %v, want %s: %+v", r.out, r.err, c.want, r.stats)
				}
			})
		})
	}
}

func TestABatchBySizeHoldsNoMoreThanAThousandItems(t *testing.T) {
	got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		return stages.BatchBySize(stages.Source(g, "ints", ints(3000)), "pack", 1<<40, func(int) int { return 0 })
	}))
	if err != nil || len(got) != 3 || len(got[0]) != 1024 || len(got[2]) != 952 {
		t.Errorf("%d batches, %v", len(got), err)
	}
}

func TestANegativeSizeFailsItsItem(t *testing.T) {
	got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[[]int] {
		return stages.BatchBySize(stages.Source(g, "ints", ints(10)), "pack", 4, func(v int) int {
			if v == 6 {
				return -1
			}
			return 1
		}, stages.OnError(stages.Skip(1)))
	}))
	if err != nil || fmt.Sprint(got) != "[[0 1 2 3] [4 5 7 8] [9]]" || s.Failed != 1 || len(s.Failures) != 1 {
		t.Fatalf("%v, %v, %+v", got, err, s)
	}
	if e := s.Failures[0]; e.Item.Index != 6 || e.Stage != "pack" || !strings.Contains(e.Error(), "size -1") {
		t.Error(e)
	}
}

// A panic in the middle of what a Collector was given in one go is charged to the item that it comes from.
func TestAPanicInAStretchIsChargedToItsItem(t *testing.T) {
	for _, bad := range []int{0, 1, 700, 4999} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				batches := stages.BatchBySize(stages.Source(g, "ints", ints(5000)), "pack", 600, func(v int) int {
					if v == bad {
						calls.Add(1)
						panic("always")
					}
					return 1
				}, stages.OnError(stages.Skip(1)))
				return stages.Unbatch(batches, "undone")
			}))
			if err != nil || s.Failed != 1 || len(s.Failures) != 1 || s.Retries != 2 {
				t.Fatalf("%v, %+v", err, s)
			}
			e := s.Failures[0]
			p, ok := errors.AsType[*stages.PanicError](e.Err)
			if !ok || e.Item.Index != int64(bad) || e.Attempts != 3 || p.Item != e.Item || calls.Load() > 4 {
				t.Errorf("%d calls, %v", calls.Load(), e)
			}
			if len(got) != 4999 || slices.Contains(got, bad) || !slices.IsSorted(got) {
				t.Errorf("%d items", len(got))
			}
		})
	}
}

// Only groups of which an item has waited are flushed, and each at its time: over the death of the worker, too.
func TestEachGroupWaitsForItself(t *testing.T) {
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			died := !dies
			run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]int] {
				open := func(int) *bucket {
					return &bucket{size: 100, process: func(v int) error {
						if v == 5 && !died {
							died = true
							panic("once")
						}
						return nil
					}}
				}
				// Items come at 1 s, 2 s ..., in turn for three groups, and only for two from the fourth second on.
				return stages.AggregateByKey(stages.Source(g, "drip", drip(8)), "wait", func(v int) int {
					if v < 3 {
						return v
					}
					return v % 2
				}, func(_ context.Context, key int) (*bucket, error) { return open(key), nil }, stages.MaxWait(4500*time.Millisecond))
			}), supervisor.Config{})
			begun := time.Now()
			var got []string
			for b, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(b, " at ", time.Since(begun)))
			}
			want := []string{"[0 4] at 5.5s", "[1 3 5] at 6.5s", "[2] at 7.5s", "[6] at 8s", "[7] at 8s"}
			if !slices.Equal(got, want) || run.Stats().Restarts > 0 != dies {
				t.Errorf("dies %t: got %q", dies, got)
			}
		})
	}
}

// A plain aggregator that lets go of some waits for the rest from when that came, not from when it last let go.
func TestWhatIsLeftHasWaitedAllTheWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]int] {
			return stages.Aggregate(stages.Source(g, "drip", drip(6)), "window", func(context.Context) (*window, error) { return &window{}, nil },
				stages.MaxWait(4500*time.Millisecond))
		}), supervisor.Config{})
		begun := time.Now()
		var got []string
		for b, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(b, " at ", time.Since(begun)))
		}
		// At the fourth item, at 4 s, the first leaves. The second came at 2 s.
		if want := []string{"[0] at 4s", "[1] at 5s", "[2] at 6s", "[3 4 5] at 6s"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

// A window holds the last three items.
type window struct{ held []int }

func (w *window) Process(_ context.Context, v int, emit func([]int) bool) error {
	if w.held = append(w.held, v); len(w.held) > 3 {
		emit([]int{w.held[0]})
		w.held = w.held[1:]
	}
	return nil
}

func (w *window) Held() int { return len(w.held) }

func (w *window) Flush(_ context.Context, emit func([]int) bool) error {
	emit(w.held)
	w.held = nil
	return nil
}

// Behind a consumer that has stopped, the stage has no more items than it may hold, and the one that it works on.
func TestGroupsKeepTheirBounds(t *testing.T) {
	for name, size := range map[string]int{"all is held": 1 << 30, "most is held": 30, "some are held": 7, "one is held": 2, "none is held": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var yielded atomic.Int64
				first, free := make(chan int, 1), make(chan bool)
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]int] {
					groups := stages.AggregateByKey(stages.Source(g, "source", endless(&yielded), stages.Buffer(0)), "groups",
						func(v int) int { return min(v, 1+v%7) }, // item 0 is alone in its group
						func(context.Context, int) (*bucket, error) { return &bucket{size: size}, nil },
						stages.MaxHeld(40), stages.Buffer(0))
					return stages.Map(groups, "stopped", func(ctx context.Context, b []int) ([]int, error) {
						select {
						case first <- len(b):
						default:
						}
						<-free
						return b, nil
					}, stages.Buffer(0))
				}), supervisor.Config{})
				time.Sleep(time.Hour)
				s, k := run.Stats(), int64(<-first)
				if in := s.Stages[1].In - k; s.Stages[1].Out != 1 || in > 41 || in < 34 {
					t.Errorf("%d items in the stage, want 41 at most: %+v", in, s)
				}
				if y := yielded.Load() - s.Stages[1].In; y > 3 {
					t.Errorf("%d more were pulled", y)
				}
				close(free)
				for range 1000 {
					if _, err := run.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
