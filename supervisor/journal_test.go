package supervisor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// numbered is an event that can be told from the others.
func numbered(n int) Event { return EpochEnded{EventInfo{Run: "r"}, n} }

// A witness writes down the numbers of events, and what it is told of those that were lost: -3 stands for three.
type witness struct {
	mu   sync.Mutex
	seen []int // guarded by mu
}

func (w *witness) hear(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case EpochEnded:
		w.seen = append(w.seen, e.Epoch)
	case EventsLost:
		if e.Run != "r" {
			panic("a report that belongs to no run")
		}
		w.seen = append(w.seen, -int(e.Count))
	}
}

func (w *witness) check(t *testing.T, want ...int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.seen, want) {
		t.Errorf("%d events:\ngot  %v\nwant %v", len(w.seen), w.seen, want)
	}
}

// upTo returns from, from+1, ... to-1 behind head.
func upTo(from, to int, head ...int) []int {
	for i := from; i < to; i++ {
		head = append(head, i)
	}
	return head
}

func TestAJournalRemembersTheLastThousand(t *testing.T) {
	for _, n := range []int{0, 1, 999, 1000, 1001, 3500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			j := newJournal()
			for i := range n {
				j.add(numbered(i))
			}
			j.close()
			for range 2 { // one iteration takes nothing from another
				var w witness
				for e := range j.events(t.Context()) {
					w.hear(e)
				}
				w.check(t, upTo(max(n-1000, 0), n)...)
			}
		})
	}
}

func TestASlowReaderIsToldHowManyItHasMissed(t *testing.T) {
	j := newJournal()
	add := func(from, to int) {
		for i := from; i < to; i++ {
			j.add(numbered(i))
		}
	}
	add(0, 2)
	var w witness
	for e := range j.events(t.Context()) {
		w.hear(e)
		switch len(w.seen) {
		case 1:
			add(2, 2500)
		case 5:
			add(2500, 4000)
			j.close()
		}
	}
	want := append(append([]int{0, -1499, 1500, 1501, 1502}, -1497), upTo(3000, 4000)...)
	w.check(t, want...)
}

func TestAReaderSeesEachEventAsItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		var a, b witness
		for _, w := range []*witness{&a, &b} {
			go func() {
				for e := range j.events(t.Context()) {
					w.hear(e)
				}
			}()
		}
		for i := range 3 {
			synctest.Wait()
			a.check(t, upTo(0, i)...)
			b.check(t, upTo(0, i)...)
			j.add(numbered(i))
		}
		j.close()
		synctest.Wait() // both loops end, or the bubble is in a deadlock
		a.check(t, 0, 1, 2)
	})
}

func TestALoopOverEventsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		j.add(numbered(0))
		ctx, cancel := context.WithCancel(t.Context())
		var w witness
		done := make(chan bool)
		go func() {
			defer close(done)
			for e := range j.events(ctx) {
				w.hear(e)
			}
		}()
		synctest.Wait()
		cancel()
		<-done
		w.check(t, 0)
		for range j.events(ctx) {
			t.Error("an event under an ended context")
		}
		for e := range j.events(t.Context()) { // and with break
			if e != numbered(0) {
				t.Errorf("got %v", e)
			}
			break
		}
	})
}

// However readers and writers meet: what a reader has seen is in order, and with what it was told it missed it is all
// there is.
func TestReadersAccountForEveryEvent(t *testing.T) {
	const n = 20_000
	j := newJournal()
	var wg sync.WaitGroup
	start := make(chan bool, 2)
	for range 2 {
		wg.Go(func() {
			next := 0
			for e := range j.events(t.Context()) {
				switch e := e.(type) {
				case EventsLost:
					next += int(e.Count)
				case EpochEnded:
					if e.Epoch != next {
						t.Errorf("event %d, want %d", e.Epoch, next)
					}
					if next++; next == 1 {
						start <- true
					}
				}
			}
			if next != n {
				t.Errorf("%d events seen or missed, want %d", next, n)
			}
		})
	}
	j.add(numbered(0))
	<-start
	<-start
	for i := 1; i < n; i++ {
		j.add(numbered(i))
	}
	j.close()
	wg.Wait()
}
