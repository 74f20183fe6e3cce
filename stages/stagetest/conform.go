package stagetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/weirflow/weir/stages"
)

// Conform tests the kind that build adds by what stages.Worker asks of it, each rule in a subtest of its own:
//
//   - It works: no sample fails, Held tells no more than was given, and after Flush it is 0.
//   - It changes nothing: no item, and no output once that is emitted.
//   - It keeps no emit, to call it when its call is over.
//   - It gives the same again: with another worker, in another epoch, by Process where the runtime calls
//     Func, and in one go where it calls Collect.
//   - It may be replaced, and it may die, before and behind any item, at any emit, and in a Flush: what was held is given to
//     the next worker, and the same comes out, once. State that is not held must not matter.
//   - It can be closed, each worker without an error.
//   - It obeys its context: when that ends, before or during a call, the call returns within 10 s.
//   - It shares nothing between two workers. (Run the test with -race.)
//
// There must be at least three samples, which the stage must accept: the more they make it do, the more is tested. If the
// kind holds items back, some of them should be held at the end, and some not. build is called many times. What it adds
// may be several stages, as a Route needs; the rules then hold for each of them.
func Conform[In, Out any](t *testing.T, build func(stages.Stream[In]) stages.Stream[Out], samples ...In) {
	t.Helper()
	conform(t, build, samples, func(name string, rule func(t testing.TB)) bool {
		return t.Run(name, func(t *testing.T) { rule(t) })
	})
}

// conform is Conform for a t that cannot run subtests: run does, and reports whether the rule holds.
func conform[In, Out any](t testing.TB, build func(stages.Stream[In]) stages.Stream[Out], samples []In, run func(string, func(testing.TB)) bool) {
	t.Helper()
	if len(samples) < 3 {
		t.Errorf("there are %d samples, want at least 3: the fewer there are, the less is tested", len(samples))
		return
	}
	x := &exam[In, Out]{build: build, samples: samples}
	if !run("works", x.works) || !run("changes nothing", x.changesNothing) {
		return // there is nothing to compare, or not any more
	}
	run("keeps no emit", x.keepsNoEmit)
	run("gives the same again", x.repeats)
	run("may be replaced", x.isReplaced)
	run("may die", x.dies)
	run("can be closed", x.closes)
	run("obeys its context", x.obeys)
	run("shares nothing", x.sharesNothing)
}

// An exam is that of one kind.
type exam[In, Out any] struct {
	build   func(stages.Stream[In]) stages.Stream[Out]
	samples []In
	first   performance // the one that all others are compared with
}

// works is the first performance.
func (x *exam[In, Out]) works(t testing.TB) {
	x.first = x.perform(t, play{})
	x.first.complain(t, "on its samples")
}

// expect reports what is not as it was in the first performance. It returns false if there is something.
func (x *exam[In, Out]) expect(t testing.TB, how string, p play) bool {
	t.Helper()
	got := x.perform(t, p)
	if got.complain(t, how) {
		return false
	}
	var want []string
	for range max(p.epochs, 1) {
		want = append(want, x.first.out...)
	}
	if d := difference(got.out, want); d != "" {
		t.Errorf("%s: %s", how, d)
		return false
	}
	return true
}

func (x *exam[In, Out]) repeats(t testing.TB) {
	_ = x.expect(t, "by another worker", play{}) &&
		x.expect(t, "in two epochs", play{epochs: 2}) &&
		x.expect(t, "called by Process", play{around: &stages.Hook{ItemEnter: noItem}})
	x.atOnce(t)
}

// noItem has items pass by hooks, and so each emit by its watch.
func noItem(context.Context, stages.Item) error { return nil }

// isReplaced has workers replaced between two items.
func (x *exam[In, Out]) isReplaced(t testing.TB) {
	for _, i := range places(len(x.samples)) {
		if !x.expect(t, fmt.Sprintf("its worker replaced after %d items", i), play{replaced: i + 1}) {
			return
		}
	}
}

// dies has a worker die everywhere that it can be caught.
func (x *exam[In, Out]) dies(t testing.TB) {
	calls, emits := 0, 0
	if !x.expect(t, "watched", play{
		around: &stages.Hook{ItemEnter: func(context.Context, stages.Item) error { calls++; return nil }},
		watch:  func(bool) { emits++ },
	}) {
		return
	}
	for _, at := range places(calls - 1) {
		before, behind := dieAt(at), dieAt(at)
		if !x.expect(t, fmt.Sprintf("it died before call %d of Process", at), play{around: &stages.Hook{
			ItemEnter: func(context.Context, stages.Item) error { before(); return nil },
		}}) || !x.expect(t, fmt.Sprintf("it died behind call %d of Process", at), play{around: &stages.Hook{
			ItemExit: func(_ context.Context, _ stages.Item, err error) error { behind(); return err },
		}}) {
			return
		}
	}
	for _, at := range places(emits - 1) {
		die := dieAt(at)
		if !x.expect(t, fmt.Sprintf("it died at emit %d", at), play{around: &stages.Hook{ItemEnter: noItem}, watch: func(bool) { die() }}) {
			return
		}
	}
}

// dieAt returns a function that panics when it has been called n times before.
func dieAt(n int) func() {
	return func() {
		if n--; n == -1 {
			panic("a death that stagetest has arranged")
		}
	}
}

func (x *exam[In, Out]) keepsNoEmit(t testing.TB) {
	late := 0
	x.perform(t, play{epochs: 2, around: &stages.Hook{ItemEnter: noItem}, watch: func(l bool) {
		if l {
			late++
		}
	}})
	if late > 0 {
		t.Errorf("an emit was called %d times when its call was over", late)
	}
}

func (x *exam[In, Out]) closes(t testing.TB) {
	for _, i := range places(len(x.samples)) {
		p := x.perform(t, play{replaced: i + 1})
		for _, l := range p.log {
			t.Errorf("its worker replaced after %d items: %s", i, l)
		}
		if len(p.log) > 0 {
			return
		}
	}
}

// obeys ends the context: before the first item, behind some, and while there is something to emit. What comes then does
// not matter.
func (x *exam[In, Out]) obeys(t testing.TB) {
	for _, i := range []int{0, 1, len(x.samples)} {
		p := x.perform(t, play{ended: i + 1})
		if p.hung {
			t.Errorf("its context ended behind %d items: it does not return", i)
			return
		}
	}
	if p := x.perform(t, play{around: &stages.Hook{ItemEnter: noItem}, endAtEmit: true}); p.hung {
		t.Errorf("its context ended during a call, at an emit: it does not return")
	}
}

func (x *exam[In, Out]) changesNothing(t testing.TB) {
	before := prints(x.samples)
	p := x.perform(t, play{})
	if d := difference(prints(x.samples), before); d != "" {
		t.Errorf("the items that it was given: %s", d)
	}
	if d := difference(p.later, p.out); d != "" {
		t.Errorf("what it has emitted, afterwards: %s", d)
	}
}

// sharesNothing has two workers of one graph take turns, and then work at once.
func (x *exam[In, Out]) sharesNothing(t testing.TB) {
	g := x.graph(t, nil)
	a, b := x.stage(t, g, play{}), x.stage(t, g, play{})
	for _, v := range x.samples {
		a.w.give(single(g, v))
		b.w.give(single(g, v))
	}
	var wg sync.WaitGroup
	pair := []*scene[Out]{a, b, x.stage(t, g, play{}), x.stage(t, g, play{})}
	for i, s := range pair {
		// Owner: the test. Ends with the samples. sharesNothing waits for it.
		wg.Go(func() {
			if i >= 2 {
				for _, v := range x.samples {
					s.w.give(single(g, v))
				}
			}
			s.w.endEpoch()
			s.w.end()
		})
	}
	wg.Wait()
	for i, s := range pair {
		how := "beside another worker, in turn"
		if i >= 2 {
			how = "beside another worker, at once"
		}
		p := s.performance()
		if p.complain(t, how) {
			return
		}
		if d := difference(p.out, x.first.out); d != "" {
			t.Errorf("%s: %s", how, d)
			return
		}
	}
}

// difference says what is the first thing that is not as it was.
func difference(got, want []string) string {
	if slices.Equal(got, want) {
		return ""
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("number %d is missing, was %s at first", i, want[i])
		case i >= len(want):
			return fmt.Sprintf("number %d is %s, there was none at first", i, got[i])
		case got[i] != want[i]:
			return fmt.Sprintf("number %d is %s, was %s at first", i, got[i], want[i])
		}
	}
	return ""
}
