package stages_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A gatherer is a Collector of functions.
type gatherer struct {
	collect func(items []int, emit func([]int) bool) (int, error)
	held    *[]int
}

func (g gatherer) Process(context.Context, int, func([]int) bool) error { panic("not called") }

func (g gatherer) Collect(_ context.Context, items []int, emit func([]int) bool) (int, error) {
	return g.collect(items, emit)
}

func (g gatherer) Held() int { return len(*g.held) }

func (g gatherer) Flush(_ context.Context, emit func([]int) bool) error {
	emit(*g.held)
	*g.held = nil
	return nil
}

// gather is a rig around a gatherer.
func gather(t testing.TB, n int, held *[]int, collect func(items []int, emit func([]int) bool) (int, error), opts ...stages.SerialOption) *rig[int, []int] {
	return newRig(t, count(n), func(in stages.Stream[int]) stages.Stream[[]int] {
		return stages.AttachSerial(in, "k", stages.SerialKind[int, []int]{Name: "gather", Holds: true,
			Open: func(context.Context) (stages.Worker[int, []int], error) { return gatherer{collect, held}, nil }}, opts...)
	})
}

// A Collector that takes as many as it likes, and emits before, at or behind an item, gives the same outputs with the same
// parents as if it had been given one item at a time; it is never given more than there is room for.
func TestACollectorGivesWhatALoopGives(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 11))
		const n = 300
		most := 1 + r.IntN(40)
		before, at, bad := make([]bool, n), make([]bool, n), make([]bool, n)
		for i := range n {
			before[i], at[i], bad[i] = r.IntN(15) == 0, r.IntN(15) == 0, r.IntN(30) == 0
		}
		var held []int
		k := gather(t, n, &held, func(items []int, emit func([]int) bool) (int, error) {
			if len(items) == 0 || len(items)+len(held) > most {
				t.Fatalf("%d items for %d places", len(items), most-len(held))
			}
			for i, v := range items {
				if before[v] && len(held) > 0 {
					emit(held)
					held = nil
					return i, nil
				}
				if bad[v] {
					return i, errMine
				}
				if held = append(held, v); at[v] {
					emit(held)
					held = nil
					return i + 1, nil
				}
				if r.IntN(20) == 0 { // for no reason
					return i + 1, nil
				}
			}
			return len(items), nil
		}, stages.MaxHeld(most))

		var want, got [][]int
		var open []int
		leave := func() {
			if len(open) > 0 {
				want, open = append(want, open), nil
			}
		}
		for v := range n {
			if before[v] {
				leave()
			}
			if !bad[v] {
				if open = append(open, v); at[v] || len(open) == most {
					leave()
				}
			}
		}
		leave()
		for from := 0; from < n; {
			to := min(from+1+r.IntN(80), n)
			if k.work.Flush = plan.NoFlush; to == n {
				k.work.Flush = plan.FlushHeld
			}
			k.deliver(from, to)
			for i, b := range k.out.Items {
				got = append(got, b)
				if id := k.out.Head().IDs.At(i); id.Index != int64(b[0]) || id.Path != "" {
					t.Fatalf("seed %d: %v has the identity %v", seed, b, id)
				}
			}
			k.tally.Settle(&k.out.Head().IDs, 0, k.out.Len(), plan.Delivered)
			if from = k.work.Next; k.work.Err != nil {
				if k.work.Err != errMine || !bad[from] {
					t.Fatalf("seed %d: at %d: %v", seed, from, k.work.Err)
				}
				if from++; from == n { // the flush is still to come
					k.deliver(n, n)
					got = append(got, k.out.Items...)
					k.tally.Settle(&k.out.Head().IDs, 0, k.out.Len(), plan.Delivered)
				}
			}
			if k.work.Held != len(held) {
				t.Fatalf("seed %d: %d are held, want %d", seed, k.work.Held, len(held))
			}
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("seed %d: got  %v\nwant %v", seed, got, want)
		}
		k.account.Add(&k.tally)
		failed := 0
		for _, b := range bad {
			if b {
				failed++
			}
		}
		if d, f, _ := k.account.Settled(); d != int64(n-failed) || f != 0 {
			t.Errorf("seed %d: %d delivered and %d filtered of %d", seed, d, f, n-failed)
		}
	}
}

// A Collector that breaks its contract fails the run: nothing can be said of its items.
func TestACollectorThatBreaksItsContractIsFatal(t *testing.T) {
	var held []int
	for name, c := range map[string]struct {
		collect func(items []int, emit func([]int) bool) (int, error)
		want    string
	}{
		"more than it was given": {func(items []int, _ func([]int) bool) (int, error) { return len(items) + 1, nil }, "has done 6 of 5 items"},
		"less than none":         {func([]int, func([]int) bool) (int, error) { return -1, nil }, "has done -1 of 5 items"},
		"none, for no reason":    {func([]int, func([]int) bool) (int, error) { return 0, nil }, "has done 0 of 5 items"},
		"all, and one fails":     {func(items []int, _ func([]int) bool) (int, error) { return 5, errMine }, "has done 5 of 5 items, with the error mine"},
		"an output and an error": {func(items []int, emit func([]int) bool) (int, error) { emit(nil); return 2, errMine }, "has emitted something in a call that failed: mine"},
		"an output for nothing":  {func(items []int, emit func([]int) bool) (int, error) { emit(nil); return 0, nil }, "says that it holds 0 of 0 items"},
		"too many outputs": {func(items []int, emit func([]int) bool) (int, error) {
			for range 1025 {
				emit(nil)
			}
			return 5, nil
		}, stages.ErrTooMany.Error()},
		"holding more than it has": {func(items []int, _ func([]int) bool) (int, error) {
			held = make([]int, 9)
			return 5, nil
		}, "says that it holds 9 of 5 items"},
	} {
		t.Run(name, func(t *testing.T) {
			held = nil
			k := gather(t, 5, &held, c.collect)
			if k.deliver(0, 5); !errors.Is(k.work.Err, stages.ErrFatal) || !strings.Contains(k.work.Err.Error(), c.want) {
				t.Errorf("got %v", k.work.Err)
			}
			if k.work.Next != 0 || k.out.Len() != 0 || k.work.Held != 0 {
				t.Errorf("at %d, behind %d outputs, %d held", k.work.Next, k.out.Len(), k.work.Held)
			}
		})
	}
}
