package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Every way to go wrong, at every item of small graphs with branches and joins.

// reap runs p to its end in a bubble. What hangs is found out at once there: the hour passes when nothing else can happen.
func reap[T any](t *testing.T, p stages.Pipeline[T]) (out []T, s supervisor.Stats, failure error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out, s, failure = reapOn(t, supervisor.New(supervisor.Config{}), p)
	})
	return out, s, failure
}

// reapOn is reap for several in one bubble.
func reapOn[T any](t *testing.T, sup *supervisor.Supervisor, p stages.Pipeline[T]) (out []T, s supervisor.Stats, failure error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	run, err := supervisor.Deploy(ctx, sup, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range run.Items(ctx) {
		if failure = err; err == nil {
			out = append(out, v)
		}
	}
	if errors.Is(failure, context.DeadlineExceeded) {
		t.Errorf("it hangs: %s", tellStages(run.Stats()))
	}
	if err := run.Wait(ctx); !errors.Is(err, failure) {
		t.Errorf("the run ends with %v, its loop with %v", err, failure)
	}
	s = run.Stats()
	if s.Yielded != s.Delivered+s.Filtered+s.Failed+s.InFlight || s.InFlight < 0 || failure == nil && s.InFlight != 0 {
		t.Errorf("the counts do not add up: %s", tellStages(s))
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	return out, s, failure
}

// nonsense is what a function returns instead of a branch.
type nonsense int

const (
	sense nonsense = iota
	below
	above
	twice
	few
	many
)

// A mishap is what goes wrong at one item.
type mishap struct {
	name     string
	strike   func() (nonsense, error)
	once     bool  // only the first attempt goes wrong
	attempts int   // after which the item fails
	is       error // why
	kinds    []string
}

func mishaps() []mishap {
	says := func(n nonsense) func() (nonsense, error) { return func() (nonsense, error) { return n, nil } }
	forks := []string{"route", "fork", "routebatch"}
	return []mishap{
		{name: "panic once", once: true, strike: func() (nonsense, error) { panic("once") }},
		{name: "goexit once", once: true, strike: func() (nonsense, error) { runtime.Goexit(); return 0, nil }},
		{name: "panic", attempts: 3, strike: func() (nonsense, error) { panic("always") }},
		{name: "goexit", attempts: 3, strike: func() (nonsense, error) { runtime.Goexit(); return 0, nil }},
		{name: "error", attempts: 1, is: errBad, strike: func() (nonsense, error) { return 0, errBad }},
		{name: "branch -1", attempts: 1, is: stages.ErrBranch, kinds: forks, strike: says(below)},
		{name: "branch n", attempts: 1, is: stages.ErrBranch, kinds: forks, strike: says(above)},
		{name: "one branch twice", attempts: 1, is: stages.ErrBranch, kinds: []string{"fork"}, strike: says(twice)},
		{name: "too few branches", attempts: 1, is: stages.ErrBranch, kinds: []string{"routebatch"}, strike: says(few)},
		{name: "too many branches", attempts: 1, is: stages.ErrBranch, kinds: []string{"routebatch"}, strike: says(many)},
	}
}

// A victim is a graph in which the function of one stage, called "it", goes wrong at one item. Otherwise it hands on what
// it gets.
type victim struct {
	name  string
	items int // of the source
	each  int // of them to one of it
	build func(g *stages.Graph, v *victim, hit func(item int) (nonsense, error), opts []stages.Option) stages.Stream[int]
	lost  func(v int, item int) bool // whether v is missing in what comes out if an item of it fails
	sunk  *basinOf
}

type basinOf struct {
	mu  sync.Mutex
	got []int // guarded by mu
}

func (b *basinOf) take(v int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, v)
}

func theItem(v, item int) bool { return v == item }

func victims() []*victim {
	return []*victim{
		{name: "route", items: 6, each: 1, lost: theItem, build: func(g *stages.Graph, w *victim, hit func(int) (nonsense, error), opts []stages.Option) stages.Stream[int] {
			b := stages.Route(numbersOf(g, "source", w.items), "it", 3, func(_ context.Context, v int) (int, error) {
				n, err := hit(v)
				return map[nonsense]int{sense: v * v % 3, below: -1, above: 3}[n], err
			}, opts...)
			return stages.Merge("join", stages.InputOrder{}, b...)
		}},
		{name: "fork", items: 6, each: 1, lost: theItem, build: func(g *stages.Graph, w *victim, hit func(int) (nonsense, error), opts []stages.Option) stages.Stream[int] {
			b := stages.Fork(numbersOf(g, "source", w.items), "it", 2, func(_ context.Context, v int, to func(int)) error {
				to(v % 2)
				n, err := hit(v)
				if n != sense {
					to(map[nonsense]int{below: -1, above: 2, twice: v % 2}[n])
				}
				return err
			}, opts...)
			return stages.Merge("join", stages.InputOrder{}, b...)
		}},
		{name: "routebatch", items: 12, each: 3, lost: func(v, item int) bool { return v/3 == item }, build: buildRouteBatch},
		{name: "a map in a branch of InputOrder", items: 6, each: 1, lost: theItem, build: func(g *stages.Graph, w *victim, hit func(int) (nonsense, error), opts []stages.Option) stages.Stream[int] {
			a, b := stages.Tee(numbersOf(g, "source", w.items), "tee")
			even := stages.Filter(a, "even", func(_ context.Context, v int) (bool, error) { return v%2 == 0, nil })
			odd := stages.Filter(b, "odd", func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil })
			strike := func(_ context.Context, v int) (int, error) {
				_, err := hit(v)
				return v, err
			}
			return stages.Map(stages.Merge("join", stages.InputOrder{}, odd, even), "it", strike, opts...)
		}},
		{name: "a map in a branch of a route", items: 6, each: 1, lost: theItem, build: func(g *stages.Graph, w *victim, hit func(int) (nonsense, error), opts []stages.Option) stages.Stream[int] {
			b := stages.Route(numbersOf(g, "source", w.items), "route", 2, func(_ context.Context, v int) (int, error) { return v % 4 / 3, nil })
			x := stages.Map(b[0], "it", func(_ context.Context, v int) (int, error) {
				_, err := hit(v)
				return v, err
			}, opts...)
			return stages.Merge("join", stages.InputOrder{}, b[1], x)
		}},
		{name: "a map in a branch of Rejoin", items: 12, each: 3, lost: func(v, item int) bool { return v/3 == item && v%2 == 1 }, build: buildPart},
		{name: "sink", items: 6, each: 1, sunk: &basinOf{}, lost: func(int, int) bool { return false }, build: func(g *stages.Graph, w *victim, hit func(int) (nonsense, error), opts []stages.Option) stages.Stream[int] {
			a, b := stages.Tee(numbersOf(g, "source", w.items), "tee")
			w.sunk = &basinOf{}
			stages.Sink(b, "it", func(_ context.Context, v int) error {
				if _, err := hit(v); err != nil {
					return err
				}
				w.sunk.take(v)
				return nil
			}, opts...)
			return a
		}},
	}
}

func buildRouteBatch(g *stages.Graph, w *victim, hit func(int) (nonsense, error), opts []stages.Option) stages.Stream[int] {
	parts := stages.RouteBatch(stages.Batch(numbersOf(g, "source", w.items), "batch", w.each), "it", 2, func(_ context.Context, batch []int) ([]int, error) {
		to := make([]int, len(batch))
		for i, v := range batch {
			to[i] = v % 2
		}
		n, err := hit(batch[0] / w.each)
		switch n {
		case below:
			to[1] = -1
		case above:
			to[1] = 2
		case few:
			to = to[1:]
		case many:
			to = append(to, 0)
		}
		return to, err
	}, opts...)
	return stages.Unbatch(stages.Rejoin("whole", parts...), "unbatch")
}

func buildPart(g *stages.Graph, w *victim, hit func(int) (nonsense, error), opts []stages.Option) stages.Stream[int] {
	parts := stages.RouteBatch(stages.Batch(numbersOf(g, "source", w.items), "batch", w.each), "route", 2, func(_ context.Context, batch []int) ([]int, error) {
		to := make([]int, len(batch))
		for i, v := range batch {
			to[i] = v % 2
		}
		return to, nil
	})
	odd := stages.Map(parts[1], "it", func(_ context.Context, part []int) ([]int, error) {
		_, err := hit(part[0] / w.each)
		return part, err
	}, opts...)
	return stages.Unbatch(stages.Rejoin("whole", parts[0], odd), "unbatch")
}

// Whatever goes wrong at whatever item, what comes out is as if it had not, or without that item, which is named.
func TestWhateverGoesWrongInAGraphConcernsOneItem(t *testing.T) {
	for _, v := range victims() {
		for _, m := range mishaps() {
			if m.kinds != nil && !slices.Contains(m.kinds, v.name) {
				continue
			}
			for _, workers := range []int{1, 3} {
				t.Run(fmt.Sprint(v.name, " ", m.name, " workers ", workers), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						sup := supervisor.New(supervisor.Config{})
						for item := range v.items / v.each {
							v.suffer(t, sup, m, item, []stages.Option{stages.Mailbox(workers), stages.Ordered, stages.OnError(stages.Skip(1))}, true)
							v.suffer(t, sup, m, item, []stages.Option{stages.Mailbox(workers), stages.Ordered}, false)
						}
					})
				})
			}
		}
	}
}

func (w *victim) suffer(t *testing.T, sup *supervisor.Supervisor, m mishap, item int, opts []stages.Option, skips bool) {
	t.Helper()
	struck := 0
	hit := func(v int) (nonsense, error) {
		if v == item && (!m.once || struck == 0) {
			struck++
			return m.strike()
		}
		return sense, nil
	}
	got, s, err := reapOn(t, sup, define(func(g *stages.Graph) stages.Stream[int] { return w.build(g, w, hit, opts) }))
	at := fmt.Sprintf("at item %d, skips %v", item, skips)
	if m.name != "goexit" && struck == 0 && !(w.name == "a map in a branch of a route" && item%4 == 3) {
		t.Fatalf("%s: it has not been called", at)
	}
	fails := !m.once && struck > 0
	var want, sunk []int
	for v := range w.items {
		if !fails || !w.lost(v, item) {
			want = append(want, v)
		}
		if !fails || v != item {
			sunk = append(sunk, v)
		}
	}
	if fails && !skips {
		w.checkFailure(t, m, item, got, err)
		return
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: got %v, %v, want %v", at, got, err, want)
	}
	if w.sunk != nil {
		if slices.Sort(w.sunk.got); !slices.Equal(w.sunk.got, sunk) {
			t.Errorf("%s: the sink got %v, want %v", at, w.sunk.got, sunk)
		}
	}
	if !fails {
		if s.Failed != 0 || s.Delivered != int64(w.items) || struck > 0 && s.Restarts != 1 {
			t.Errorf("%s: %s", at, tellStages(s))
		}
		return
	}
	if s.Failed != int64(w.each) || s.Delivered != int64(w.items-w.each) || len(s.Failures) != 1 {
		t.Fatalf("%s: %d failures, %s", at, len(s.Failures), tellStages(s))
	}
	w.checkItemError(t, m, item, s.Failures[0])
}

// checkFailure wants that the run has failed with the item, behind some of what came before it.
func (w *victim) checkFailure(t *testing.T, m mishap, item int, got []int, err error) {
	t.Helper()
	e, ok := errors.AsType[*stages.ItemError](err)
	if !ok {
		t.Fatalf("item %d: the run ends with %v", item, err)
	}
	w.checkItemError(t, m, item, e)
	most := item * w.each
	if w.sunk != nil {
		most = w.items
	}
	if len(got) > most {
		t.Errorf("item %d: got %v", item, got)
	}
	checkCount(t, got, len(got))
}

func (w *victim) checkItemError(t *testing.T, m mishap, item int, e *stages.ItemError) {
	t.Helper()
	id := stages.ID{Source: "source", Index: int64(item * w.each)}
	if w.name == "a map in a branch of Rejoin" {
		id.Path = e.Item.Path // of the part
		if !strings.HasPrefix(id.Path, ".") {
			t.Errorf("a part is called %v", e.Item)
		}
	}
	if e.Stage != "it" || e.Item != id || e.Attempts != m.attempts {
		t.Errorf("got %+v, want item %v and %d attempts", e, id, m.attempts)
	}
	if m.is != nil {
		if !errors.Is(e, m.is) {
			t.Errorf("got %v, want %v", e, m.is)
		}
	} else if p, ok := errors.AsType[*stages.PanicError](e); !ok || p.Item != e.Item || p.Stage != "it" {
		t.Errorf("got %v", e)
	}
}
