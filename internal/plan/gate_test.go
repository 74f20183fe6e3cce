package plan_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/internal/plan"
)

// fill puts items until the gate says that the source should end, and marks the end if it is told to.
func fill(g *plan.Gate, n uint64) (put uint64) {
	for t := range n {
		if g.Room(t) == 0 {
			return t
		}
		if !g.Put(t) {
			return t + 1
		}
	}
	return n
}

func TestNothingComesInBeforeTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := plan.NewGate(func() {})
		done := make(chan uint64)
		go func() { done <- fill(g, 10) }()
		for _, limit := range []uint64{0, 3, 4, 9} {
			g.Limit(limit)
			synctest.Wait()
			if got := g.Tail(); got != limit {
				t.Fatalf("%d items are in, want %d", got, limit)
			}
		}
		g.Limit(20)
		if got := <-done; got != 10 || g.Tail() != 10 || g.Passed() != 10 {
			t.Errorf("%d items put, tail %d, passed %d", got, g.Tail(), g.Passed())
		}
	})
}

func TestRoomReturnsTheLimit(t *testing.T) {
	g := plan.NewGate(func() {})
	g.Limit(7)
	if got := g.Room(6); got != 7 {
		t.Errorf("Room(6) is %d, want 7", got)
	}
}

func TestSixteenMarksWaitAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := plan.NewGate(func() {})
		done := make(chan bool)
		go func() {
			for range 40 {
				g.Mark(plan.Mark{Epoch: true})
			}
			done <- true
		}()
		for passed := range int64(24) {
			synctest.Wait()
			if got := g.Passed(); got != 16+passed {
				t.Fatalf("%d marks are in, %d have passed", got, passed)
			}
			if _, m := g.Ready(0); m == nil || !m.Epoch {
				t.Fatalf("mark %+v", m)
			}
			g.Pass()
		}
		<-done
	})
}

func TestMarksStandBetweenTheirItems(t *testing.T) {
	g := plan.NewGate(func() {})
	g.Limit(10)
	failure := errors.New("of an item")
	g.Put(0)
	g.Put(1)
	g.Mark(plan.Mark{Err: failure, At: 99}) // the gate knows better
	g.Put(2)
	g.Mark(plan.Mark{Epoch: true, Ends: true})

	if to, m := g.Ready(0); to != 2 || m != nil {
		t.Fatalf("at 0: %d, %+v", to, m)
	}
	if to, m := g.Ready(1); to != 2 || m != nil {
		t.Fatalf("at 1: %d, %+v", to, m)
	}
	if to, m := g.Ready(2); to != 2 || m == nil || m.Err != failure || m.At != 2 {
		t.Fatalf("at 2: %d, %+v", to, m)
	}
	g.Pass()
	if to, m := g.Ready(2); to != 3 || m != nil {
		t.Fatalf("behind the mark: %d, %+v", to, m)
	}
	if to, m := g.Ready(3); to != 3 || m == nil || !m.Ends || m.At != 3 {
		t.Fatalf("at 3: %d, %+v", to, m)
	}
	g.Pass()
	if to, m := g.Ready(3); to != 3 || m != nil {
		t.Fatalf("at the end: %d, %+v", to, m)
	}
}

func TestTheActorIsPokedOnceForEachTimeItFoundNothing(t *testing.T) {
	pokes := 0
	g := plan.NewGate(func() { pokes++ })
	g.Limit(100)
	expect := func(want int) {
		t.Helper()
		if pokes != want {
			t.Errorf("%d pokes, want %d", pokes, want)
		}
	}
	g.Put(0) // nobody has looked yet, and waits for the first
	g.Put(1)
	expect(1)
	g.Ready(0)
	g.Put(2)
	expect(1)
	g.Ready(3)
	g.Ready(3)
	g.Mark(plan.Mark{Epoch: true})
	g.Put(3)
	expect(2)
	g.Ready(3)
	g.Pass()
	g.Ready(4)
	g.Sated()
	g.Put(4)
	expect(2)
	g.Ready(5)
	g.Put(5)
	expect(3)
}

func TestAShutGateAcceptsNothing(t *testing.T) {
	for name, blocked := range map[string]func(g *plan.Gate) bool{
		"Room": func(g *plan.Gate) bool { return g.Room(0) == 0 },
		"Mark": func(g *plan.Gate) bool {
			for range 16 {
				g.Mark(plan.Mark{})
			}
			return !g.Mark(plan.Mark{Ends: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := plan.NewGate(func() {})
				done := make(chan bool)
				go func() { done <- blocked(g) }()
				synctest.Wait()
				in := g.Passed()
				g.Shut()
				if !<-done || g.Open() || g.Passed() != in {
					t.Error("the gate is not shut")
				}
				if g.Room(0) != 0 || g.Mark(plan.Mark{}) || g.Passed() != in {
					t.Error("it has let something in")
				}
				g.Drain()
				g.Skip(0)
				if g.Open() {
					t.Error("it has opened again")
				}
			})
		})
	}
}

func TestWhatIsInHandIsStillAcceptedWhenTheSourceDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := plan.NewGate(func() {})
		done := make(chan uint64)
		go func() { done <- fill(g, 100) }()
		g.Limit(3)
		synctest.Wait()
		g.Drain()
		synctest.Wait()
		if g.Tail() != 3 || g.Open() {
			t.Errorf("%d items are in; open: %t", g.Tail(), g.Open())
		}
		g.Limit(4) // the item in hand waits for its place
		if got := <-done; got != 4 || g.Tail() != 4 {
			t.Errorf("%d items put, want 4", got)
		}
		if g.Mark(plan.Mark{Ends: true}) {
			t.Error("a mark says that more is wanted")
		}
		if _, m := g.Ready(4); m == nil || !m.Ends {
			t.Error("the end is lost")
		}
	})
}

func TestSkipEndsTheEpochThatIsMeant(t *testing.T) {
	for _, c := range []struct {
		name     string
		skipped  []int
		at       int
		on, skip bool
	}{
		{"the epoch that runs", []int{2}, 2, false, true},
		{"an epoch that is over", []int{1}, 2, true, false},
		{"an epoch to come, and so this one", []int{3}, 2, false, true},
		{"two epochs", []int{1, 2}, 2, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := plan.NewGate(func() {})
			g.Limit(100)
			for _, n := range c.skipped {
				g.Skip(n)
			}
			if !g.Open() {
				t.Error("the source is not wanted any more")
			}
			if g.Put(0) {
				t.Fatal("Put has not noticed")
			}
			if on, skip := g.Stay(c.at); on != c.on || skip != c.skip {
				t.Errorf("Stay says %t, %t, want %t, %t", on, skip, c.on, c.skip)
			}
			if !g.Put(1) || !g.Mark(plan.Mark{Epoch: true}) {
				t.Error("the gate has not opened again")
			}
		})
	}
}

func TestStayEndsASourceThatDrainsOrIsShut(t *testing.T) {
	for name, end := range map[string]func(g *plan.Gate){
		"drained":                  (*plan.Gate).Drain,
		"shut":                     (*plan.Gate).Shut,
		"skipped and then drained": func(g *plan.Gate) { g.Skip(5); g.Drain() },
		"drained and then skipped": func(g *plan.Gate) { g.Drain(); g.Skip(5) },
	} {
		t.Run(name, func(t *testing.T) {
			g := plan.NewGate(func() {})
			g.Limit(1)
			end(g)
			if g.Put(0) || g.Open() {
				t.Error("the gate is open")
			}
			if on, skip := g.Stay(5); on || skip {
				t.Errorf("Stay says %t, %t", on, skip)
			}
		})
	}
}
