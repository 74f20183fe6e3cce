package actors

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// A suspect is executed while nothing else is, and nobody is forgotten at the gate.
func TestASuspectIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{changed: make(chan struct{})}
		var mu sync.Mutex
		in, alone, entered := 0, 0, 0
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				for k := range 50 {
					suspect := (i+k)%7 == 0
					g.enter(nil, suspect)
					mu.Lock()
					if alone > 0 || suspect && in > 0 {
						t.Error("a suspect is not alone")
					}
					in++
					if entered++; suspect {
						alone++
					}
					mu.Unlock()
					time.Sleep(time.Duration(1+(i*k)%5) * time.Millisecond)
					mu.Lock()
					in--
					if suspect {
						alone--
					}
					mu.Unlock()
					g.leave(suspect)
				}
			})
		}
		all.Wait()
		if entered != 2000 || g.in != 0 || g.asked != 0 || g.alone || g.stuck != 0 {
			t.Errorf("%d have entered: %+v", entered, g)
		}
	})
}

// Functions may wait for each other: after gatePatience everybody goes on, and is not waited for again.
func TestNobodyWaitsForLongAtTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{changed: make(chan struct{})}
		begun := time.Now()
		g.enter(nil, false) // and stays
		g.enter(nil, true)
		if took := time.Since(begun); took != gatePatience {
			t.Errorf("the suspect has waited %v", took)
		}
		g.leave(true)
		g.enter(nil, true) // the first one is known to be long
		if took := time.Since(begun); took != gatePatience {
			t.Errorf("the next suspect has waited %v", took-gatePatience)
		}
		g.enter(nil, false) // while the suspect stays
		g.enter(nil, false)
		if took := time.Since(begun); took != 2*gatePatience {
			t.Errorf("the others have waited %v", took-gatePatience)
		}
		done := make(chan struct{})
		close(done)
		g.enter(done, true) // who is told to end does not wait
		if took := time.Since(begun); took != 2*gatePatience {
			t.Errorf("who is told to end has waited %v", took-2*gatePatience)
		}
	})
}

// What is suspected is so until nothing of its inputs is alive.
func TestWhatIsOverIsSuspectedNoMore(t *testing.T) {
	cfg := &Config{
		Suspects: []wire.Suspect{
			{Stage: 3, Source: 1, From: 10, To: 14, Deaths: 1},
			{Stage: 3, Source: 1, From: 11, To: 12, Exact: true, Deaths: 3, Poison: true},
			{Stage: 4, Source: 1, From: 20, To: 21, Exact: true, Path: ".1", Deaths: 2},
		},
		Resume: &Resume{Done: map[EpochOf]*plan.Spans{{1, 0}: {}}},
	}
	cfg.Resume.Done[EpochOf{1, 0}].Add(0, 11)
	c := newCare(cfg)
	var ids plan.IDs
	ids.Source(1, 0, 0, 30)
	look := func(stage, i int) (is [2]bool) {
		is[0], is[1] = c.look(stage, &ids, i)
		return is
	}
	for _, w := range []struct {
		stage, i        int
		suspect, poison bool
	}{{3, 9, false, false}, {3, 10, true, false}, {3, 11, true, true}, {3, 13, true, false}, {3, 14, false, false}, {4, 20, false, false}, {5, 11, false, false}} {
		if got := look(w.stage, w.i); got != [2]bool{w.suspect, w.poison} {
			t.Errorf("%+v: %v", w, got)
		}
	}
	if n := c.apart(3, &ids, 5, 20); n != 5 {
		t.Errorf("%d items before the first suspect", n)
	}
	if n := c.apart(3, &ids, 10, 20); n != 1 {
		t.Errorf("%d items with a suspect", n)
	}
	if n := c.apart(4, &ids, 10, 20); n != 20 {
		t.Errorf("%d items where nothing is suspected", n)
	}
	c.ended([]plan.End{{Source: 1, Index: 11, N: 2, Step: 2}})
	if got := look(3, 12); got != [2]bool{true, false} {
		t.Errorf("an input is alive, and %v", got)
	}
	c.ended([]plan.End{{Source: 1, Index: 12, N: 1, Step: 1}})
	if len(c.of) != 1 || len(c.of[4]) != 1 {
		t.Errorf("%+v", c.of)
	}
}

// Each death is charged to what was executed, and that is poison after so many.
func TestDeathsAreChargedToWhatWasExecuted(t *testing.T) {
	var s suspects
	at := func(exact bool, from, to int64) []plan.Executing {
		return []plan.Executing{{What: plan.DoesItems, Stage: 3, Of: []plan.Reach{{Source: 1, From: from, To: to}}, Exact: exact}}
	}
	s.charge(at(false, 10, 20), nil, 3)
	s.charge([]plan.Executing{{What: plan.DoesOpen, Stage: 3}, {What: plan.DoesItems, Stage: 3, Flush: true, Of: []plan.Reach{{Source: 1, To: 1}}}}, nil, 3)
	if len(s) != 1 || s[0].Deaths != 1 {
		t.Fatalf("%+v", s)
	}
	s.charge(at(true, 12, 13), nil, 3)
	if len(s) != 2 || s[1].Deaths != 2 || s[1].Poison {
		t.Fatalf("%+v", s)
	}
	s.charge(at(true, 15, 16), nil, 3)
	s.charge(at(true, 12, 13), nil, 3)
	if len(s) != 3 || s[1].Deaths != 3 || !s[1].Poison || s[2].Deaths != 2 || s[2].Poison {
		t.Fatalf("%+v", s)
	}
	w := &wire.Failure{Stage: 3, Identity: wire.Identity{Source: 1, Index: 12}, Poison: true, Attempts: 1}
	if n, _ := s.verdict(w, nil); n != 3 {
		t.Errorf("%d attempts", n)
	}
	if w.Poison = false; first(s.verdict(w, nil)) != 1 {
		t.Error("the failure is another one")
	}
	s.forget(func(_ EpochOf, from, _ int64) bool { return from > 10 })
	if len(s) != 1 || len(s.list()) != 1 {
		t.Errorf("%+v", s)
	}
	s = nil
	if s.charge(at(true, 1, 2), nil, 1); !s[0].Poison {
		t.Error("one death is enough")
	}
}

func first(n int, _ error) int { return n }
