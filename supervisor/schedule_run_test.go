package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/internal/history"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// probation is how many items are let through before a fraction is judged.
const probation = 20

// longest is how long a run may take, of the bubble's time, before it is said to hang.
const longest = 2 * time.Hour

// play runs a schedule, in a bubble, and returns what is wrong with its history. ctx is the run's.
func (s *schedule) play(ctx context.Context, seen *sights) (wrong []history.Violation) {
	p := newTrial(s, seen)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sup := supervisor.New(supervisor.Config{OnEvent: p.hear, Grace: grace, DrainWithin: 2 * longest, MaxFailed: s.failed, MaxFailedFraction: s.fraction, Probation: probation})
	run, err := supervisor.Deploy(ctx, sup, p.pipeline, nil)
	if err != nil {
		return []history.Violation{{Kind: history.Lost, Text: err.Error()}}
	}
	loop, leave := context.WithCancel(ctx)
	defer leave()
	v := &visitor{trial: p, run: run, cancel: cancel, leave: leave}
	hangs := make(chan bool, 1)
	late := time.AfterFunc(longest, func() {
		hangs <- true
		p.letGo()
		run.Stop()
	})
	done := make(chan struct{})
	go func() {
		var late <-chan time.Time
		if s.after > 0 {
			late = time.After(s.after)
		}
		select {
		case <-p.trigger:
			v.endAt()
		case <-late:
			v.endAt()
		case <-done:
		}
	}()
	v.consume(loop)
	late.Stop()
	close(done)
	p.letGo()
	stopped := run.Stop()
	told, cancelTold := context.WithTimeout(context.Background(), longest)
	defer cancelTold()
	run.Wait(told)
	select {
	case <-hangs:
		wrong = append(wrong, history.Violation{Kind: history.Lost, Text: "it hangs: " + tellStages(run.Stats())})
	default:
	}
	if stopped != nil {
		wrong = append(wrong, history.Violation{Kind: history.Lost, Text: "stop: " + stopped.Error()})
	}
	end := p.ending(run.Err())
	if end == history.Complete {
		p.checkMail(run.Stats())
		p.checkSources(run.Stats())
	}
	wrong = append(wrong, p.unfounded(run.Err(), end, run.Stats())...)
	events := p.record.Events()
	p.lookBack(events)
	return append(wrong, history.Check(p.graph(), events, end, p.counts(run.Stats(), v.mostSeen))...)
}

// ending says how a run has ended, of which err is the error.
func (p *trial) ending(err error) history.End {
	if err == nil {
		return history.Complete
	}
	if _, ok := errors.AsType[*supervisor.RunError](err); ok {
		p.seen.see(runFailed)
		return history.Broken
	}
	return history.Stopped
}

func (p *trial) counts(s supervisor.Stats, most int64) history.Counts {
	bad := sourcesFailed(s)
	n := history.Counts{
		Yielded: s.Yielded - bad, Delivered: s.Delivered, Filtered: s.Filtered, Failed: s.Failed - bad, InFlight: s.InFlight, MostSeen: most,
		StageFailed: make([]int64, len(p.byName)),
	}
	for _, st := range s.Stages {
		if i, ok := p.byName[st.Stage]; ok {
			n.StageFailed[i] = st.Failed
		}
	}
	return n
}

// A visitor is the consumer of a run.
type visitor struct {
	*trial
	run      *supervisor.Run[load]
	cancel   context.CancelFunc // of the deployment's context
	leave    context.CancelFunc // of the loop's
	got      int
	mostSeen int64
	drained  atomic.Bool
}

// consume takes all that comes, until nothing does or the schedule says so.
func (v *visitor) consume(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil && r != "out of the loop" {
			panic(r)
		}
	}()
	if v.byNext {
		v.takeOneByOne(ctx)
		return
	}
	for l, err := range v.run.Items(ctx) {
		if err == nil && !v.take(l) {
			break
		}
	}
}

// takeOneByOne uses deadlines that are often missed: nothing must be consumed then.
func (v *visitor) takeOneByOne(ctx context.Context) {
	for patience := 3 * time.Millisecond; ; patience *= 2 {
		soon, cancel := context.WithTimeout(ctx, patience)
		l, err := v.run.Next(soon)
		cancel()
		switch {
		case err == nil:
			patience = time.Millisecond
			if !v.take(l) {
				v.run.Stop()
				return
			}
		case err == context.DeadlineExceeded && ctx.Err() == nil: // and not the cause of a run's failure
			v.seen.see(nextTimedOut)
		case ctx.Err() != nil:
			v.letGo()
			v.run.Stop()
			return
		default:
			return
		}
	}
}

// take is the body of the consumer's loop. It reports whether it wants more.
func (v *visitor) take(l load) bool {
	v.record.Deliver(0, l...)
	v.got++
	if v.nap(v.got) {
		time.Sleep(5 * time.Millisecond)
	}
	v.mostSeen = max(v.mostSeen, v.run.Stats().InFlight)
	if v.drained.Load() && v.end == endsByBoth {
		v.stop()
	}
	if !v.full || v.got != v.at {
		return true
	}
	time.Sleep(time.Minute) // all that can go on has gone on
	s := v.run.Stats()
	v.mostSeen = max(v.mostSeen, s.InFlight)
	if s.InFlight > 0 && v.end != endsByDrain && v.end != endsByBoth {
		v.seen.see(canceledWhileFull)
	}
	switch v.end {
	case endsByBreak:
		v.letGo()
		return false
	case endsByPanic:
		v.letGo()
		panic("out of the loop")
	}
	v.endNow()
	return true
}

// endAt is endNow, at a call.
func (v *visitor) endAt() {
	if v.end != endsByItself {
		v.endNow()
	}
}

// endNow ends the run as the schedule says.
func (v *visitor) endNow() {
	v.look()
	switch v.end {
	case endsByStop:
		v.stop()
	case endsByContext:
		v.letGo()
		v.cancel()
	case endsByLoop:
		v.letGo()
		v.leave()
	case endsByDrain, endsByBoth:
		if v.held.Load() > 0 {
			v.seen.see(drainedPartial)
		}
		v.run.Drain()
		v.run.Drain() // it may be said twice
		v.drained.Store(true)
	}
}

func (v *visitor) stop() {
	v.letGo()
	go v.run.Stop() // as anybody may
	v.run.Stop()
}

// look says what the run is at that is about to be ended.
func (v *visitor) look() {
	busy := 0
	for _, e := range v.record.Events() {
		switch e.What {
		case history.Began:
			busy++
		case history.Ended:
			busy--
		}
	}
	if v.isResting() && v.end != endsByDrain {
		v.seen.see(canceledInPause)
	}
	if busy > 0 && v.end != endsByDrain && v.end != endsByBoth {
		v.seen.see(canceledInUserCode)
	}
}

// lookBack finds, in a history, states that were interesting.
func (p *trial) lookBack(events []history.Event) {
	busy := make([]int, len(p.byName))
	last := map[lap]history.Event{}
	branch, deal := map[int]bool{}, map[int]bool{}
	for i := range p.steps {
		if st := &p.steps[i]; st.kind == stepRoute || st.kind == stepDeal {
			for k := range st.inner {
				branch[st.inner[k].index], deal[st.inner[k].index] = true, st.kind == stepDeal
			}
		}
	}
	for _, e := range events {
		switch e.What {
		case history.Began:
			busy[e.Stage]++
			k := lap{e.Stage, e.Key.(stages.ID)}
			if before, again := last[k]; again && before.Outcome == history.Retryable && e.At-before.At > time.Millisecond {
				p.seen.see(retriedAfterPause)
			} else if again && before.Outcome.Bad() {
				p.seen.see(triedAgain)
			}
			if e.Who.Incarnation > 1 {
				p.seen.see(replaced)
			}
		case history.Ended:
			busy[e.Stage]--
			began := events[e.Call]
			last[lap{e.Stage, began.Key.(stages.ID)}] = e
			if e.Outcome == history.Died && busy[e.Stage] > 0 {
				p.seen.see(replacedWhileOthersWork)
			}
		case history.Failed:
			if branch[e.Stage] {
				p.seen.see(failedInBranch)
			}
			if deal[e.Stage] {
				p.seen.see(failedPart)
			}
			p.seen.see(failedForGood)
		}
	}
}

// listed tells what is wrong.
func listed(wrong []history.Violation) string {
	var b strings.Builder
	for i, v := range wrong {
		if i == 12 {
			fmt.Fprintf(&b, "\n  and %d more", len(wrong)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %v", v)
	}
	return b.String()
}
