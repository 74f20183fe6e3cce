package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/internal/history"
)

// The runs below are of a source, a stage "double" of two workers, which makes two children of each item, a stage "pack"
// that is given pairs of them, and the consumer. Item 2 is filtered by "double".
const (
	double = iota
	pack
)

func graph() history.Graph {
	return history.Graph{
		Stages: []history.Stage{{Name: "double", Mailbox: 2, Attempts: 3}, {Name: "pack", Mailbox: 1, Attempts: 3}},
		Exits:  []history.Exit{{Name: "the consumer", Gapless: true, Epochs: true}},
		Bound:  4,
		Ways: func(root history.Item) []history.Way {
			if root.Index == 2 {
				return nil
			}
			return []history.Way{{Item: root.Child(0), Ordered: true}, {Item: root.Child(1), Ordered: true}}
		},
	}
}

func item(i int) history.Item { return history.Item{Index: i} }

// A scene is a history that is being made up.
type scene struct {
	*history.Recorder
	counts history.Counts
}

func (s *scene) yield(items ...int) {
	for _, i := range items {
		s.Yield(item(i), func() bool { return true })
		s.counts.Yielded++
	}
}

// call is one call, from its beginning to its end.
func (s *scene) call(stage int, key string, o history.Outcome, items ...history.Item) {
	s.Begin(stage, key, history.Worker{}, items...).End(o)
}

// double works on item i.
func (s *scene) double(i int) { s.call(double, fmt.Sprint(i), history.Finished, item(i)) }

// pair packs the children of item i, and hands them to the consumer.
func (s *scene) pair(i int) {
	s.call(pack, fmt.Sprint(i), history.Finished, item(i).Child(0), item(i).Child(1))
	s.out(i)
}

func (s *scene) out(i int) {
	s.Deliver(0, item(i).Child(0), item(i).Child(1))
	s.counts.Delivered++
}

func (s *scene) drop() {
	s.call(double, "2", history.Dropped, item(2))
	s.counts.Filtered++
}

// fail is an item that dies at every attempt.
func (s *scene) fail(i int) {
	for range 3 {
		s.call(double, fmt.Sprint(i), history.Died, item(i))
	}
	s.Fail(double, fmt.Sprint(i))
	s.counts.Failed++
}

// Each history is judged, and what is wrong with it found; of one in which nothing is, nothing.
func TestAHistoryIsJudged(t *testing.T) {
	complete := func(s *scene) {
		s.yield(0, 1, 2, 3)
		s.double(0)
		s.call(double, "1", history.Died, item(1))
		s.double(1)
		s.drop()
		s.fail(3)
		s.pair(0)
		s.pair(1)
	}
	for name, c := range map[string]struct {
		play func(s *scene)
		end  history.End
		want []history.Kind
	}{
		"a complete run with a death, a failure and a filtered item": {complete, history.Complete, nil},
		"a run that was stopped, with some in flight": {func(s *scene) {
			s.yield(0, 1, 2, 3)
			s.double(0)
			s.pair(0)
			s.call(double, "1", history.Canceled, item(1))
			s.counts.InFlight = 3
		}, history.Stopped, nil},
		"an item whose source does not know whether it was taken": {func(s *scene) {
			complete(s)
			s.Yield(item(4), func() bool { return false })
		}, history.Complete, nil},
		"and then it was": {func(s *scene) {
			complete(s)
			s.Yield(item(4), func() bool { return false })
			s.counts.Yielded++
			s.double(4)
			s.pair(4)
		}, history.Complete, nil},
		"an item that is gone": {func(s *scene) {
			complete(s)
			s.yield(4)
			s.double(4)
			s.counts.Filtered++
		}, history.Complete, []history.Kind{history.Lost, history.Lost}},
		"an item that is gone and not counted": {func(s *scene) {
			complete(s)
			s.yield(4)
			s.double(4)
			s.counts.InFlight++
		}, history.Complete, []history.Kind{history.Lost, history.Lost, history.Miscounted, history.Miscounted}},
		"an item that is gone before another one, although the run was stopped": {func(s *scene) {
			s.yield(0, 1)
			s.double(0)
			s.double(1)
			s.pair(1)
			s.counts.InFlight++
		}, history.Stopped, []history.Kind{history.Lost, history.Lost}},
		"items that come out twice": {func(s *scene) {
			complete(s)
			s.Deliver(0, item(1).Child(0), item(1).Child(1))
		}, history.Complete, []history.Kind{history.Duplicated, history.Duplicated}},
		"an item that comes out although it failed": {func(s *scene) {
			complete(s)
			s.Deliver(0, item(3).Child(0), item(3).Child(1))
		}, history.Complete, []history.Kind{history.Duplicated, history.Duplicated}},
		"an item that fails twice": {func(s *scene) {
			complete(s)
			s.Fail(double, "3")
		}, history.Complete, []history.Kind{history.Duplicated}},
		"items that come out in the wrong order": {func(s *scene) {
			s.yield(0, 1)
			s.double(0)
			s.double(1)
			s.pair(1)
			s.pair(0)
		}, history.Complete, []history.Kind{history.Reordered, history.Reordered}},
		"an item that nobody has yielded": {func(s *scene) {
			complete(s)
			s.Deliver(0, item(7).Child(0))
		}, history.Complete, []history.Kind{history.Invented}},
		"an item that should have been filtered": {func(s *scene) {
			complete(s)
			s.Deliver(0, item(2).Child(0))
		}, history.Complete, []history.Kind{history.Invented, history.Miscounted, history.Miscounted}},
		"a failure without a call": {func(s *scene) {
			complete(s)
			s.Fail(double, "9")
		}, history.Complete, []history.Kind{history.Invented}},
		"a failure after too few attempts": {func(s *scene) {
			complete(s)
			s.yield(4)
			s.call(double, "4", history.Died, item(4))
			s.Fail(double, "4")
			s.counts.Failed++
		}, history.Complete, []history.Kind{history.Invented}},
		"a failure of what was done": {func(s *scene) {
			complete(s)
			s.yield(4)
			s.double(4)
			s.Fail(double, "4")
			s.counts.Failed++
		}, history.Complete, []history.Kind{history.Invented}},
		"a batch that has changed on its way to another attempt": {func(s *scene) {
			complete(s)
			s.yield(4)
			s.double(4)
			s.call(pack, "4", history.Died, item(4).Child(0))
			s.pair(4)
		}, history.Complete, []history.Kind{history.Invented}},
		"an item that is worked on again although it is done": {func(s *scene) {
			complete(s)
			s.double(1)
		}, history.Complete, []history.Kind{history.Repeated}},
		"an item that is worked on again although it has failed": {func(s *scene) {
			complete(s)
			s.yield(4)
			s.call(double, "4", history.Errored, item(4))
			s.double(4)
			s.pair(4)
		}, history.Complete, []history.Kind{history.Repeated}},
		"an item that is worked on again in a run that is being stopped": {func(s *scene) {
			s.yield(0)
			s.call(double, "0", history.Canceled, item(0))
			s.call(double, "0", history.Canceled, item(0))
			s.counts.InFlight++
		}, history.Stopped, []history.Kind{history.Repeated}},
		"an item that is worked on too often": {func(s *scene) {
			complete(s)
			s.yield(4)
			for range 3 {
				s.call(double, "4", history.Retryable, item(4))
			}
			s.double(4)
			s.pair(4)
		}, history.Complete, []history.Kind{history.Repeated}},
		"an item that two work on": {func(s *scene) {
			complete(s)
			s.yield(4)
			a, b := s.Begin(double, "4", history.Worker{}, item(4)), s.Begin(double, "4", history.Worker{Worker: 1}, item(4))
			a.End(history.Died)
			b.End(history.Finished)
			s.pair(4)
		}, history.Complete, []history.Kind{history.Repeated}},
		"more calls than the mailbox says": {func(s *scene) {
			s.yield(0, 1, 3)
			var calls []*history.Call
			for _, i := range []int{0, 1, 3} {
				calls = append(calls, s.Begin(double, fmt.Sprint(i), history.Worker{}, item(i)))
			}
			for _, c := range calls {
				c.End(history.Finished)
			}
			s.pair(0)
			s.pair(1)
			s.pair(3)
		}, history.Complete, []history.Kind{history.OverBound}},
		"a call that nobody waits for any more does not count": {func(s *scene) {
			s.yield(0, 1)
			a, b := s.Begin(double, "0", history.Worker{}, item(0)), s.Begin(double, "1", history.Worker{}, item(1))
			a.End(history.Abandoned)
			s.yield(3)
			s.double(3)
			a.End(history.Finished) // it returns at last
			s.Fail(double, "0")
			s.counts.Failed++
			b.End(history.Finished)
			s.pair(1)
			s.pair(3)
		}, history.Complete, nil},
		"more items in flight than the bound": {func(s *scene) {
			s.yield(0, 1, 3, 4, 5)
			for _, i := range []int{0, 1, 3, 4, 5} {
				s.double(i)
				s.pair(i)
			}
		}, history.Complete, []history.Kind{history.OverBound}},
		"more than the bound, and then it was stopped": {func(s *scene) {
			s.yield(0, 1, 3, 4, 5)
			s.counts.InFlight = 5
		}, history.Stopped, []history.Kind{history.OverBound}},
		"more than the bound, by the runtime's own count": {func(s *scene) {
			complete(s)
			s.counts.MostSeen = 5
		}, history.Complete, []history.Kind{history.OverBound}},
		"a filtered item that counts as delivered": {func(s *scene) {
			complete(s)
			s.counts.Filtered--
			s.counts.Delivered++
		}, history.Complete, []history.Kind{history.Miscounted, history.Miscounted}},
		"counts that do not add up": {func(s *scene) {
			s.yield(0)
			s.counts.Yielded++
		}, history.Stopped, []history.Kind{history.Miscounted, history.Miscounted}},
		"a stage that counts fewer failures than there were": {func(s *scene) {
			complete(s)
			s.counts.StageFailed = []int64{0, 0}
		}, history.Complete, []history.Kind{history.Miscounted}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{Recorder: history.New(nil)}
			c.play(s)
			found := history.Check(graph(), s.Events(), c.end, s.counts)
			var got []history.Kind
			for _, v := range found {
				got = append(got, v.Kind)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v: %v", got, c.want, found)
			}
		})
	}
}

// Items that were one batch share its fate, in the source's account: also when it is undone behind.
func TestWhatWasOneBatchSharesItsFate(t *testing.T) {
	g := history.Graph{
		Stages: []history.Stage{{Name: "batch", Mailbox: 1, Attempts: 3}, {Name: "element", Mailbox: 1, Attempts: 3}},
		Exits:  []history.Exit{{Name: "the consumer"}},
		Ways:   func(root history.Item) []history.Way { return []history.Way{{Item: root, Ordered: true}} },
	}
	s := &scene{Recorder: history.New(nil)}
	s.yield(0, 1, 2)
	s.call(0, "0", history.Finished, item(0), item(1))
	s.call(0, "2", history.Finished, item(2))
	s.call(1, "0.0", history.Errored, item(0))
	s.Fail(1, "0.0")
	for _, i := range []int{1, 2} {
		s.call(1, fmt.Sprint(i), history.Finished, item(i))
		s.Deliver(0, item(i))
	}
	s.counts = history.Counts{Yielded: 3, Failed: 2, Delivered: 1}
	if found := history.Check(g, s.Events(), history.Complete, s.counts); found != nil {
		t.Error(found)
	}
	s.counts = history.Counts{Yielded: 3, Failed: 1, Delivered: 2}
	if found := history.Check(g, s.Events(), history.Complete, s.counts); len(found) != 2 || found[0].Kind != history.Miscounted {
		t.Errorf("found %v, want what is wrong with two counts", found)
	}
}

// An item's name says what it was made of.
func TestAnItemIsNamedByItsWay(t *testing.T) {
	it := history.Item{Source: 1, Epoch: 2, Index: 30}.Child(0).Child(6)
	if s := it.String(); s != "1/2/30.17" {
		t.Errorf("got %s", s)
	}
	parent, ok := it.Parent()
	if !ok || parent != it.Root().Child(0) {
		t.Errorf("its parent is %v, %v", parent, ok)
	}
	if _, ok := it.Root().Parent(); ok {
		t.Error("an item of the source has a parent")
	}
	if it.Compare(it.Root().Child(1).Child(0)) >= 0 || it.Compare(it) != 0 {
		t.Error("they are in the wrong order")
	}
	if v := (history.Violation{Kind: history.OverBound, Text: "x"}).Error(); !strings.HasPrefix(v, "over bound: ") {
		t.Errorf("got %s", v)
	}
}
