package actors

import (
	"math"
	"slices"
	"time"
)

// Alarms are what a stage has to do at some time: an item is to be tried again, a worker to be replaced, what has been held
// for MaxWait to be flushed, somebody to look whether a function hangs. There is one timer for all of them, and none where there are none. The tick has its own: it is
// set for every burst of pieces, at no look at the clock, and mostly before anything is due.
type alarms struct {
	q     []alarm // in order of time
	timer *time.Timer
}

// An alarm is one of them.
type alarm struct {
	at time.Duration
	do func() // in the stage's goroutine
}

// after has the stage do something after a pause, unless it ends before.
func (s *stage) after(pause time.Duration, do func()) {
	a := alarm{later(s.run.clock(), pause), do}
	i, _ := slices.BinarySearchFunc(s.alarms.q, a.at, func(b alarm, at time.Duration) int {
		if b.at <= at {
			return -1 // those of the same moment ring in the order in which they were set
		}
		return 1
	})
	if s.alarms.q = slices.Insert(s.alarms.q, i, a); i == 0 {
		s.alarms.arm(s, pause)
	}
}

// later is a moment d behind t, or the end of time.
func later(t, d time.Duration) time.Duration {
	if sum := t + d; sum >= t {
		return sum
	}
	return math.MaxInt64
}

func (a *alarms) arm(s *stage, pause time.Duration) {
	if a.timer == nil {
		a.timer = time.AfterFunc(pause, func() { s.run.send(s.self, &rung{}) })
	} else {
		a.timer.Reset(pause)
	}
}

// ring does what is due.
func (s *stage) ring() {
	if s.aborted || s.over {
		return
	}
	now := s.run.clock()
	for len(s.alarms.q) > 0 && s.alarms.q[0].at <= now {
		a := s.alarms.q[0]
		s.alarms.q = slices.Delete(s.alarms.q, 0, 1)
		if a.do(); s.aborted {
			return
		}
	}
	if len(s.alarms.q) > 0 {
		s.alarms.arm(s, s.alarms.q[0].at-now)
	}
}

// stop ends all alarms.
func (a *alarms) stop() {
	a.q = nil
	if a.timer != nil {
		a.timer.Stop()
	}
}
