package supervisor_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Tests of which the name begins with F and a number belong to one list of faults: what may go wrong while a pipeline
// runs, and what must become of it. Their files are called fault_rows. They run in bubbles, which end only when every
// goroutine has, so that none of them can leave one behind.

// A played is a run that has been looped over until its end.
type played[Out any] struct {
	out    []Out
	err    error // of the loop's last turn
	stats  supervisor.Stats
	events []supervisor.Event
}

// play runs p to its end, and checks what holds for every run.
func play[Out any](t testing.TB, p stages.Pipeline[Out], cfg supervisor.Config) (r played[Out]) {
	t.Helper()
	return playOn(t, supervisor.New(cfg), p)
}

func playOn[Out any](t testing.TB, sup *supervisor.Supervisor, p stages.Pipeline[Out]) (r played[Out]) {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), sup, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return playRun(t, run)
}

// playRun loops over a run until its end.
func playRun[Out any](t testing.TB, run *supervisor.Run[Out]) (r played[Out]) {
	t.Helper()
	for v, err := range run.Items(t.Context()) {
		if r.err = err; err == nil {
			r.out = append(r.out, v)
		}
	}
	if err := run.Wait(t.Context()); err != r.err {
		t.Errorf("the run's error is %v, and that of the loop's last turn %v", err, r.err)
	}
	if err := run.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	r.stats = run.Stats()
	checkEnd(t, r.stats, r.err)
	r.events = slices.Collect(run.Events(t.Context()))
	return r
}

// checkEnd wants that the counts of a run that has ended add up.
func checkEnd(t testing.TB, s supervisor.Stats, err error) {
	t.Helper()
	if s.Yielded != s.Delivered+s.Filtered+s.Failed+s.InFlight || s.InFlight < 0 || err == nil && s.InFlight > 0 {
		t.Errorf("the counts do not add up: yielded %d, delivered %d, filtered %d, failed %d, in flight %d (%v)",
			s.Yielded, s.Delivered, s.Filtered, s.Failed, s.InFlight, err)
	}
}

// told returns the events of one type, in order.
func told[E supervisor.Event](events []supervisor.Event) (some []E) {
	for _, e := range events {
		if e, ok := e.(E); ok {
			some = append(some, e)
		}
	}
	return some
}

// wantError wants a run that failed with one item: of that stage, and source item.
func wantError(t testing.TB, err error, stage string, index, attempts int) *stages.ItemError {
	t.Helper()
	run, ok := errors.AsType[*supervisor.RunError](err)
	if !ok || run.Pipeline != "test" || len(run.Causes) != 1 {
		t.Errorf("got %v, want a RunError with one cause", err)
	}
	item, ok := errors.AsType[*stages.ItemError](err)
	if !ok || item.Stage != stage || item.Item.Index != int64(index) || item.Attempts != attempts {
		t.Fatalf("got %v, want item %d of stage %q, after %d attempts", err, index, stage, attempts)
	}
	return item
}

// without is 0, 1 .. n-1 but for some.
func without(n int, some ...int) []int {
	return slices.DeleteFunc(numbers(n), func(v int) bool { return slices.Contains(some, v) })
}

// wantItems wants exactly these, in this order, and shows where they differ.
func wantItems(t testing.TB, got, want []int) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("item %d is %s, want %s", i, fmt.Sprint(got[i:min(i+8, len(got))]), fmt.Sprint(want[i:min(i+8, len(want))]))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d items, want %d", len(got), len(want))
	}
}
