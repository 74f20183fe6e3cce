package actors

import (
	"fmt"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A Budget limits how many items of the sources may fail in a whole run, besides those of the stages. The zero Budget is no
// limit.
type Budget struct {
	Count    int64   // 0: no limit
	Fraction float64 // of the items that the sources have yielded; 0: no limit
}

// spent reports whether failed items, of n, are more than the budget.
func (b Budget) spent(failed, n, probation int64, final bool) bool {
	return b.Count > 0 && failed > b.Count ||
		b.Fraction > 0 && (final || n >= probation) && float64(failed) > b.Fraction*float64(n)
}

// settle adds to the account. When something has failed that was one too many, the run is over at once: there is no place
// in it to which it could still be complete.
func (r *Run) settle(t *plan.Tally) {
	r.filterDelivered(t)
	if ends := t.TakeEnds(); len(ends) > 0 {
		r.ended(ends)
	}
	if r.account.Add(t) {
		r.itemFailed()
	}
}

// ended tells of items of sources of which nothing is alive any more.
func (r *Run) ended(ends []plan.End) {
	if r.care != nil {
		r.care.ended(ends)
	}
	r.cfg.OnEnds(ends)
}

func (r *Run) itemFailed() {
	if r.cfg.Failures == (Budget{}) {
		return
	}
	_, _, failed := r.account.Settled()
	n := r.yielded() // of what is finished with, failures are known first
	if r.cfg.Failures.spent(failed, n, r.cfg.Probation, false) && r.overBudget(failed, n) {
		r.outlet.finish()
	}
}

// JudgeEnd judges the failures of a run of which the consumer has been given everything. If they are too many, they are
// among the Causes then.
func (r *Run) JudgeEnd() {
	if len(r.Causes()) > 0 {
		return // it has failed already, and is not complete
	}
	_, _, failed := r.account.Settled()
	if n := r.yielded(); r.cfg.Failures.spent(failed, n, r.cfg.Probation, true) {
		r.overBudget(failed, n)
	}
}

// overBudget fails the run, once.
func (r *Run) overBudget(failed, n int64) bool {
	if r.spent.Swap(true) {
		return false
	}
	err := fmt.Errorf("%d of %d items failed, all stages together: %w", failed, n, stages.ErrBudget)
	if last := r.lastFailed.Load(); last != nil {
		err = fmt.Errorf("%w; the last: %w", err, last)
	}
	r.fail(nil, err)
	return true
}

// failedForGood notes that an item of a stage has failed, which is settled, and returns why the run does, or nil. It may
// have been counted as finished before, when it was first done.
func (r *Run) failedForGood(s *plan.Stage, item *stages.ItemError, letter, again bool) error {
	failed := r.countFailed(s, item, letter, again)
	r.event(Failed{Err: item, Letter: letter, Failures: failed})
	switch {
	case s.Policy.Strict():
		return item
	case !r.within(s, false):
		return r.stats[s.Index].overBudget(s.Name)
	}
	return nil
}

// countFailed is failedForGood without a judgement, and returns how many items of the stage have failed.
func (r *Run) countFailed(s *plan.Stage, item *stages.ItemError, letter, again bool) int64 {
	st := r.stats[s.Index]
	failed := st.failed.Add(1)
	if !again {
		st.finished.Add(1)
	}
	if letter {
		st.letters.Add(1)
	}
	st.last = item
	return failed
}

// within reports whether the failures so far, or final ones, are within the policy of a stage.
func (r *Run) within(s *plan.Stage, final bool) bool {
	st := r.stats[s.Index]
	return s.Policy.Tolerates(st.failed.Load(), st.finished.Load(), r.cfg.Probation, final)
}

// overBudget is the error of a stage that has failed too often.
func (st *stageStats) overBudget(stage string) error {
	return stages.BudgetErrorOf(stage, st.failed.Load(), st.finished.Load(), st.last)
}

// tolerated returns how many more items of the stage may fail.
func (st *stageStats) tolerated(p plan.Policy, probation int64) int64 {
	most := p.Count
	if p.Fraction > 0 {
		most = int64(p.Fraction * float64(max(st.finished.Load(), probation)))
	}
	return max(most-st.failed.Load(), 0)
}
