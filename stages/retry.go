package stages

import (
	"fmt"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// Retry says how often and when an item is tried again. Every zero field has a default, so that stages.Retry{If:
// isTemporary} is complete. Without the option, panics and errors marked by [Retryable] are tried three times in all.
//
// An item that waits for its next attempt keeps its place in the stage, and no worker: the others go on, as far as the
// stage's mailbox and waiting room reach. Where the stage is Ordered, what comes behind the item waits for it there, so a
// [Buffer] of as many items as come in a pause keeps it busy. A stage with one worker waits with it, so that its items stay in order.
type Retry struct {
	// Attempts are those at one item in all, the first included. 0 means 3, and 1 never again.
	Attempts int
	// First is the pause before the second attempt, doubled for each further one. A panic has its second attempt at once,
	// and this pause before the third. Each pause is shortened by a random part, up to half of it, so that items that
	// failed together are not tried together. 0 means 100 ms.
	First time.Duration
	// Max is the longest pause. 0 means 10 s, or First if that is longer.
	Max time.Duration
	// If says which errors are tried again besides those marked Retryable; nil means no others. It may be called by
	// several goroutines at once. A [Timeout] that was up is context.DeadlineExceeded. It is not asked about a function that
	// does not return: its item is not tried again.
	If func(err error) bool
}

func (r Retry) work(d *draft) { r.flatMap(d) }
func (r Retry) flatMap(d *draft) {
	d.once("Retry")
	d.check("%d attempts", r.Attempts, 0, maxSize)
	d.pause("first pause before another attempt", r.First)
	d.pause("longest pause before another attempt", r.Max)
	d.Retry = plan.Retry{Attempts: r.Attempts, First: r.First, Max: r.Max, If: r.If}
}

// Restart says how often a worker, aggregator or source of this stage may be replaced after a failed open, or after
// panics without a finished item in between, before the failure is the run's (ErrRestarts): panics that the item's policy
// tolerates do not count while items complete, nor, in a stage with several workers, a first attempt that is followed by
// another one. Ten restarts in a row without one finished item are the end in any case.
// Every zero field has a default.
type Restart struct {
	// Max is how many restarts that count there may be within Within. 0 means 10; negative means none.
	Max int
	// Within is the span of time of Max. 0 means 60 s.
	Within time.Duration
	// First is the pause before the second restart in a row, doubled for each further one; the first is immediate. Each
	// pause is shortened by a random part, up to half of it. 0 means 100 ms.
	First time.Duration
	// Pause is the longest pause. 0 means 5 s, or First if that is longer.
	Pause time.Duration
	// Together names the stages that share this one's fate: whenever a worker of this stage is replaced, all of theirs are,
	// each as soon as it is through with the item it is at. That costs no attempt and does not count. They have workers: no
	// source and no merge is among them.
	Together []string
}

func (r Restart) work(d *draft)    { r.set(d) }
func (r Restart) flatMap(d *draft) { r.set(d) }
func (r Restart) serial(d *draft)  { r.set(d) }
func (r Restart) source(d *draft)  { r.set(d) }
func (r Restart) set(d *draft) {
	d.once("Restart")
	if r.Within < 0 {
		d.refuse("restarts within %v, want at least 0", r.Within)
	}
	d.pause("first pause before a restart", r.First)
	d.pause("longest pause before a restart", r.Pause)
	d.Restart = plan.Restart{Max: r.Max, Within: r.Within, First: r.First, Pause: r.Pause}
	d.together = r.Together
}

// pause refuses a pause that cannot be meant.
func (d *draft) pause(what string, p time.Duration) {
	switch {
	case p < 0:
		d.refuse("%s of %v, want at least 0", what, p)
	case 0 < p && p < time.Microsecond:
		d.refuse("%s of %v, want at least 1µs: is the unit missing?", what, p)
	}
}

// joinFates finds the stages that are named in Together.
func (g *Graph) joinFates() {
	for i, s := range g.stages {
		for _, name := range g.together[i] {
			other := g.named(name)
			switch {
			case other == nil:
				g.fault(placeOf(s), fmt.Sprintf("it is to be restarted together with %q, which there is not", name))
			case other == s:
				g.fault(placeOf(s), "it is to be restarted together with itself")
			case other.Open == nil:
				g.fault(placeOf(s), fmt.Sprintf("it is to be restarted together with %q, a %s, which has no workers to be replaced", name, other.Kind))
			default:
				s.Restart.Together = append(s.Restart.Together, other.Index)
			}
		}
	}
}

func (g *Graph) named(name string) *plan.Stage {
	for _, s := range g.stages {
		if s.Name == name {
			return s
		}
	}
	return nil
}
