package stagetest

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

const (
	// most is how many items of an epoch are looked at.
	most = 1000
	// patience is how long an iterator may take for one item, and to its end when it is not wanted any more.
	patience = 10 * time.Second
)

// Origin tests a source by what stages.FromFunc asks of it: that it yields the same items each time, begins where it is
// asked to, ends when it is left or its context ends, and is none the worse for having been left. Of a failed item it
// must be the same that it failed.
//
// It opens from about thirty times, and looks at the first 1000 items of epochs 0 and 1. There must be at least two in
// epoch 0. An item that takes 10 s fails the test, so a source that waits for its data is tested with data that is
// there; one that can be opened only once, as a channel, cannot be tested.
func Origin[T comparable](t testing.TB, from stages.Origin[T]) {
	t.Helper()
	o := from.Plan()
	switch {
	case o.Fault != "":
		t.Errorf("the origin is refused: %s", o.Fault)
	case o.Open == nil:
		t.Errorf("the origin is empty: there is nothing to open")
	case o.Local:
		t.Errorf("the origin can be opened only once: there is nothing to compare its items with")
	default:
		for epoch := range 2 {
			e := examination[T]{t, o, epoch}
			if !e.run() {
				return
			}
		}
	}
}

// An examination is that of one epoch.
type examination[T comparable] struct {
	t     testing.TB
	from  plan.Origin[T]
	epoch int
}

// run reports whether there is any use in going on.
func (e examination[T]) run() bool {
	e.t.Helper()
	all, ok := e.read(e.t.Context(), "from its beginning", 0, most, nil)
	if !ok {
		return false
	}
	if e.epoch == 0 && len(all) < 2 {
		e.t.Errorf("epoch 0 has %d items, want at least 2: the fewer there are, the less is tested", len(all))
		return false
	}
	if len(all) > 0 && !e.expect("left behind its first item", 0, 1, all) {
		return false
	}
	if !e.expect("opened again", 0, most, all) {
		return false
	}
	for _, at := range places(len(all)) {
		if at == most { // what comes there is not known
			continue
		}
		if !e.expect(fmt.Sprintf("opened at index %d", at), at, most-at, all) {
			return false
		}
	}
	return e.cancel(len(all)) && e.expect("opened after all that", 0, most, all)
}

// places are where a source of n items is opened: at both ends, close to them, and between.
func places(n int) []int {
	at := []int{0, 1, 2, n / 3, n / 2, n - 2, n - 1, n}
	slices.Sort(at)
	at = slices.Compact(at)
	return slices.DeleteFunc(at, func(i int) bool { return i < 0 || i > n })
}

// expect reads at most n items from index at on, and compares them with those of the first time.
func (e examination[T]) expect(how string, at, n int, all []item[T]) bool {
	e.t.Helper()
	got, ok := e.read(e.t.Context(), how, at, n, nil)
	if !ok {
		return false
	}
	want := all[at:min(at+n, len(all))]
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			e.report(how, "it ends after %d items, want %d, as at first", len(got), len(want))
		case i >= len(want):
			e.report(how, "it goes on after %d items, the last one at first", len(want))
		case got[i] != want[i]:
			e.report(how, "item %d is %v, and was %v at first", at+i, got[i], want[i])
		default:
			continue
		}
		return false
	}
	return true
}

// cancel ends contexts: before the iterator is begun, and in the midst of its items. What still comes does not matter.
func (e examination[T]) cancel(n int) bool {
	e.t.Helper()
	for _, after := range []int{0, min(1, n), n / 2} {
		ctx, cancel := context.WithCancel(e.t.Context())
		defer cancel()
		how := "opened under a context that has ended"
		if after > 0 {
			how = fmt.Sprintf("its context ended after %d items", after)
		} else {
			cancel()
		}
		seen := 0
		_, ok := e.read(ctx, how, 0, most, func() {
			if seen++; seen == after {
				cancel()
			}
		})
		if !ok {
			return false
		}
	}
	return true
}

func (e examination[T]) report(how, format string, args ...any) {
	e.t.Helper()
	e.t.Errorf("epoch %d, %s: %s", e.epoch, how, fmt.Sprintf(format, args...))
}

// An item is what a source has yielded. Of a failed one, neither value nor error need be the same each time.
type item[T comparable] struct {
	value  T
	failed bool
}

func (i item[T]) String() string {
	if i.failed {
		return "a failed item"
	}
	return fmt.Sprintf("%#v", i.value)
}

// A reading is what came of opening a source once.
type reading[T comparable] struct {
	items []item[T]
	fault string
}

// read opens the source, takes at most n items, and calls each, if there is one, behind every item. It reports what the
// iterator must not do whatever the position: panic, end its goroutine, or not return.
func (e examination[T]) read(ctx context.Context, how string, at, n int, each func()) ([]item[T], bool) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var passed atomic.Int64
	done := make(chan reading[T], 1)
	// Owner: the test. Ends when the iterator returns. read waits for it, but no longer than its patience.
	go func() {
		r := reading[T]{fault: "it ended its goroutine: runtime.Goexit was called"}
		defer func() {
			if v := recover(); v != nil {
				r.fault = fmt.Sprintf("it panicked: %v\n%s", v, debug.Stack())
			}
			done <- r
		}()
		for v, err := range e.from.Open(ctx, e.epoch, int64(at)) {
			r.items = append(r.items, item[T]{v, err != nil})
			if err != nil {
				r.items[len(r.items)-1].value = *new(T)
			}
			passed.Add(1)
			if each != nil {
				each()
			}
			if len(r.items) == n {
				break
			}
		}
		r.fault = ""
	}()
	r, returned := wait(done, &passed)
	if !returned {
		ended := ctx.Err() != nil || passed.Load() == int64(n)
		if r.fault = fmt.Sprintf("it does not return, %v after it was told to", patience); !ended {
			r.fault = fmt.Sprintf("it yielded nothing for %v", patience)
			cancel()
			if _, returned = wait(done, &passed); !returned {
				r.fault += ", and does not return when its context ends"
			}
		}
	}
	if r.fault != "" {
		e.report(how, "%s", r.fault)
	}
	return r.items, r.fault == ""
}

// wait returns what comes, unless nothing at all happens for as long as patience lasts.
func wait[R any](done <-chan R, passed *atomic.Int64) (r R, ok bool) {
	for {
		before := passed.Load()
		timer := time.NewTimer(patience)
		select {
		case r := <-done:
			timer.Stop()
			return r, true
		case <-timer.C:
			if passed.Load() == before {
				return r, false
			}
		}
	}
}
