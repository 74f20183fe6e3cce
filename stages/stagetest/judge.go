package stagetest

import (
	"context"
	"fmt"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// The verdicts are those of the runtime, in actors/failure.go and actors/restart.go, for one worker.

// judge decides what becomes of the item that has failed, or of the flush.
func (s *station) judge(p *parcel, o outcome) {
	switch {
	case o.err == plan.ErrDropped:
		if p.replays == 0 {
			s.finished++
			s.deaths.Progress()
		}
		s.settle(p, plan.Filtered)
	case o.unopened && o.fatal:
		s.fail(fmt.Errorf("stage %q: %w", s.spec.Name, o.err))
	case o.died && !o.spoiled && !s.mourn(o):
		s.fail(stages.RestartErrorOf(s.spec.Name, s.deaths))
	case o.unopened:
		s.again(p)
	case o.flushing:
		if s.flushFailures++; !o.died || s.flushFailures >= plan.MaxAttempts {
			s.fail(fmt.Errorf("stage %q: flush: %w", s.spec.Name, o.err))
			return
		}
		s.rest(s.spec.Retry.Pause(s.flushFailures, true, noDice))
		if !o.done {
			s.again(p)
		}
	default:
		s.judgeItem(p, o)
	}
}

// mourn notes that the worker has died, and reports whether it may be replaced.
func (s *station) mourn(o outcome) bool {
	pause, again := s.deaths.Died(s.w.clock, o.err, o.unopened, noDice)
	s.rest(pause)
	return again
}

// noDice leaves pauses as long as they can be.
const noDice = 0

// rest has nothing tried before a pause is over. Nobody waits for it: the clock is put forward.
func (s *station) rest(pause time.Duration) { s.notBefore = max(s.notBefore, s.w.clock+pause) }

func (s *station) judgeItem(p *parcel, o outcome) {
	p.attempt++
	if o.retryable && p.attempt < s.spec.Retry.Most() {
		s.rest(s.spec.Retry.Pause(p.attempt, o.died && !o.spoiled, noDice))
		s.again(p)
		return
	}
	item := &stages.ItemError{Stage: s.spec.Name, Item: s.itemOf(p.item), Attempts: p.attempt, Err: o.err}
	if s.spec.Policy.Letters != nil && !o.fatal && !s.bury(p, item) {
		return
	}
	s.w.failed = append(s.w.failed, item)
	s.last = item
	s.failed++
	s.finished++
	s.settle(p, plan.Failed)
	switch {
	case o.fatal, s.spec.Policy.Strict():
		s.fail(item)
	case !s.spec.Policy.Tolerates(s.failed, s.finished, plan.DefaultProbation, false):
		s.fail(s.overBudget())
	}
}

// bury writes the letter of an item that no sink is given. If that fails, so does the run, and bury returns false.
func (s *station) bury(p *parcel, item *stages.ItemError) bool {
	err := s.w.call(s.w.ctx, s.spec, func(context.Context) error {
		l, err := stages.LetterOf(s.w.graph, item, p.item, 0)
		if err == nil {
			s.w.letters = append(s.w.letters, l)
		}
		return err
	})
	if err != nil {
		s.fail(fmt.Errorf("stage %q: %w; so the item is not handed over: %w", s.spec.Name, err, item))
	}
	return err == nil
}

func (s *station) overBudget() error {
	return stages.BudgetErrorOf(s.spec.Name, s.failed, s.finished, s.last)
}

func (s *station) again(p *parcel) { s.todo = append([]*parcel{p}, s.todo...) }

func (s *station) fail(err error) {
	s.over = true
	s.w.fail(s.spec, err)
}
