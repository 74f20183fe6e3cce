// Package restart is the arithmetic of failure: how long to wait before something that failed is tried again, and when
// that has been often enough. It is pure: it is told the time, and given its dice.
//
// # Usage
//
// [Pause] is one pause of a series. A [Record] is what a supervisor keeps of one stage: it is told of each death, and
// answers with the pause before the replacement, or that there is none any more.
//
// # Concurrency
//
// A Record belongs to one goroutine.
//
// # Failure
//
// There is none.
//
// # Testing
//
// Time and dice are arguments: a test needs neither a clock nor a seed.
package restart

import "time"

// Pause returns the pause before the n-th repetition of a series, counted from 1: first, doubled n-1 times, at most most.
// dice, in [0, 1), shortens it by up to half: those that failed together are not to come back together. It is 0 for n < 1.
func Pause(n int, first, most time.Duration, dice float64) time.Duration {
	if n < 1 {
		return 0
	}
	p := min(first, most)
	for ; n > 1 && 0 < p && p < most; n-- {
		if p = 2 * p; p < 0 || p > most { // it may overflow
			p = most
		}
	}
	return p - time.Duration(dice*float64(p)/2)
}

// Limits say how often and when something may be replaced.
type Limits struct {
	Max    int // deaths that count, within Within
	Within time.Duration
	First  time.Duration // pause before the second replacement in a row
	Most   time.Duration // longest pause
	InARow int           // deaths without progress in between, whenever they were
}

// A Record is what is known of the deaths of the workers of one stage.
//
// A death counts as long as there is no progress behind it. That of a worker which was never opened counts whatever the
// others achieve, until Within is over: otherwise a stage with one worker that works would try the others for ever.
type Record struct {
	limits Limits
	deaths []death // those that may count, in order of time
	barren int     // deaths since the last progress
	shut   int     // failed opens since the last that succeeded
}

type death struct {
	at   time.Duration
	err  error
	open bool // the worker could not be opened
}

// New returns a Record without deaths.
func New(l Limits) *Record { return &Record{limits: l} }

// Progress says that an item is finished: of what has died before, only failed opens still count.
func (r *Record) Progress() {
	if r.barren == 0 {
		return
	}
	r.barren = 0
	kept := r.deaths[:0]
	for _, d := range r.deaths {
		if d.open {
			kept = append(kept, d)
		}
	}
	clear(r.deaths[len(kept):])
	r.deaths = kept
}

// Opened says that a worker has been opened.
func (r *Record) Opened() { r.shut = 0 }

// Died notes that a worker has died at now because of err, or could not be opened. It returns the pause before the next
// one, and false if there is to be none.
func (r *Record) Died(now time.Duration, err error, open bool, dice float64) (pause time.Duration, again bool) {
	r.forget(now)
	r.deaths = append(r.deaths, death{now, err, open})
	inARow := r.barren + 1
	r.barren = inARow
	if open {
		r.shut++
		inARow = max(inARow, r.shut)
	}
	if r.within(now) > r.limits.Max || r.barren > r.limits.InARow {
		return 0, false
	}
	return Pause(inARow-1, r.limits.First, r.limits.Most, dice), true
}

// within returns how many deaths count that are not too long ago.
func (r *Record) within(now time.Duration) (n int) {
	for _, d := range r.deaths {
		if now-d.at < r.limits.Within {
			n++
		}
	}
	return n
}

// forget drops what is too long ago to count, but for the deaths in a row, of which the causes are still wanted.
func (r *Record) forget(now time.Duration) {
	for len(r.deaths) > r.barren && now-r.deaths[0].at >= r.limits.Within {
		r.deaths[0].err = nil
		r.deaths = r.deaths[1:]
	}
}

// Counted returns how many deaths count.
func (r *Record) Counted() int { return len(r.deaths) }

// Causes returns why, for those that count: the first, and the last n.
func (r *Record) Causes(n int) (errs []error) {
	for i, d := range r.deaths {
		if i == 0 || i >= len(r.deaths)-n {
			errs = append(errs, d.err)
		}
	}
	return errs
}
