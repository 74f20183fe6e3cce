package stages

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/weirflow/weir/internal/restart"
)

// Sentinels. Struct errors below wrap them where it says so.
var (
	// ErrTooMany says that an input of a FlatMap had more outputs than may be held; see Streaming.
	ErrTooMany = errors.New("stages: too many outputs for one input: declare the stage Streaming")
	// ErrBudget says that more items failed than the policy allows.
	ErrBudget = errors.New("stages: failure budget spent")
	// ErrNotDeterministic says that a Streaming stage broke its promise: run again, it yielded fewer outputs.
	ErrNotDeterministic = errors.New("stages: a Streaming stage yielded fewer outputs when run again")
	// ErrEmptyEpoch says that a source which is to be repeated forever has nothing to repeat.
	ErrEmptyEpoch = errors.New("stages: nothing to repeat forever: the source is empty")
	// ErrBranch says that the function of a Route, RouteBatch or Fork named a branch that there is not, or one twice, or
	// not as many as the batch has elements; or that of a MergeFunc an input that there is not, or that has ended.
	ErrBranch = errors.New("stages: no such branch")
	// ErrRejoin says that a part of a batch did not come back to Rejoin as it left.
	ErrRejoin = errors.New("stages: a part of a batch does not fit")
	// ErrRestarts says that the workers of a stage died too often: see Restart.
	ErrRestarts = errors.New("stages: too many restarts")
	// ErrHung says that a function ignored its context for longer than the grace.
	ErrHung = errors.New("stages: function does not return")
)

// A DefinitionError is one mistake in a definition.
type DefinitionError struct {
	Pipeline, Stage string // Stage is "" for a mistake of the whole pipeline
	File            string // of the statement in the build function
	Line            int
	Reason          string // "mailbox 0, want at least 1"
}

// Error returns `thumbs.go:31: pipeline "thumbnails": stage "decode": mailbox 0, want at least 1`.
func (e *DefinitionError) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%s:%d: ", path.Base(e.File), e.Line)
	}
	fmt.Fprintf(&b, "pipeline %q: ", e.Pipeline)
	if e.Stage != "" {
		fmt.Fprintf(&b, "stage %q: ", e.Stage)
	}
	return b.String() + e.Reason
}

// misrouted is an ErrBranch that says what is wrong.
type misrouted string

func (e misrouted) Error() string { return string(e) }

func (e misrouted) Is(target error) bool { return target == ErrBranch }

// misfit is an ErrRejoin that says what is wrong.
type misfit string

func (e misfit) Error() string { return string(e) }

func (e misfit) Is(target error) bool { return target == ErrRejoin }

func noBranch(b, n int) error {
	return misrouted(fmt.Sprintf("branch %d was chosen, want 0 to %d", b, n-1))
}

func branchTwice(b int) error { return misrouted(fmt.Sprintf("branch %d was chosen twice", b)) }

func wrongCount(got, want int) error {
	return misrouted(fmt.Sprintf("%d branches were chosen for a batch of %d elements", got, want))
}

func noInput(i, n int) error {
	return misrouted(fmt.Sprintf("input %d was chosen, want one of 0 to %d that has not ended its epoch", i, n-1))
}

// tooMany is an ErrTooMany for an input that may have so many outputs.
func tooMany(most int) error {
	return fmt.Errorf("more than %d outputs, or %d MiB: %w", most, maxGroupBytes>>20, ErrTooMany)
}

// tooLate says of a deadline that it was the stage's.
func tooLate(err error, timeout time.Duration) error {
	return fmt.Errorf("the stage's Timeout of %v is over: %w", timeout, err)
}

// An ItemError is an item that failed for good, and why.
type ItemError struct {
	Stage    string
	Item     ID
	Attempts int
	Err      error // what the function returned last, or a *PanicError or *HungError
}

// Error names stage and item, then the cause.
func (e *ItemError) Error() string {
	if e.Attempts > 1 {
		return fmt.Sprintf("stage %q: item %v failed after %d attempts: %v", e.Stage, e.Item, e.Attempts, e.Err)
	}
	return fmt.Sprintf("stage %q: item %v failed: %v", e.Stage, e.Item, e.Err)
}

// Unwrap returns Err.
func (e *ItemError) Unwrap() error { return e.Err }

// A PanicError is a panic, or runtime.Goexit, in a user's function.
type PanicError struct {
	Stage string // "" in a background task
	Item  ID     // zero when it happened in open, Flush or a source
	Value string // the panic value as fmt prints it: the value itself may not be able to travel
	Stack string
}

// Error returns the value and, if the stack tells, where it happened: "panic: no such key (decode.go:31)".
func (e *PanicError) Error() string {
	if _, at, ok := strings.Cut(e.Stack, "\n\t"); ok {
		at, _, _ = strings.Cut(at, "\n")
		at, _, _ = strings.Cut(at, " ")
		return fmt.Sprintf("panic: %s (%s)", e.Value, path.Base(at))
	}
	return "panic: " + e.Value
}

// A HungError is a function that ignored its context. It is ErrHung.
type HungError struct {
	Stage  string
	Worker int    // negative: it is not a worker's, but a StageEnter or StageExit, or a letter sink
	Item   ID     // that it was at when its Timeout was long over; zero if it was Stop that waited for it
	Task   string // of a background task, which has no stage; "" otherwise
	Stack  string // of the function's goroutine, and of those that it has started
}

// Error names stage and worker, if it is a worker's, or the task.
func (e *HungError) Error() string {
	switch {
	case e.Task != "":
		return fmt.Sprintf("task %q does not return", e.Task)
	case e.Worker < 0:
		return fmt.Sprintf("stage %q: its hook, or its dead-letter sink, does not return", e.Stage)
	}
	return fmt.Sprintf("stage %q: worker %d does not return", e.Stage, e.Worker)
}

// Is reports whether target is ErrHung.
func (e *HungError) Is(target error) bool { return target == ErrHung }

// A RestartError is a stage whose workers died too often, or a region whose processes did. It is ErrRestarts.
type RestartError struct {
	Stage    string  // or the region, as FROM..TO
	Process  bool    // it is a region: processes have died, not workers
	Restarts int     // that counted; what it was replaced for before is forgotten when an item completes
	Causes   []error // of the deaths that counted, in order of time: the first, and the last eight
}

// Error names the stage, the number and the last cause.
func (e *RestartError) Error() string {
	where, who, last := "stage", "a worker", e.Causes[len(e.Causes)-1]
	if e.Process {
		where, who = "region", "a process"
	}
	if e.Restarts == 0 {
		return fmt.Sprintf("%s %q: %s died, and none may be replaced: %v", where, e.Stage, who, last)
	}
	return fmt.Sprintf("%s %q: %s died again after %d restarts that counted: %v", where, e.Stage, who, e.Restarts, last)
}

// BudgetErrorOf returns the error of a stage of which more items have failed than may; last is one of them. For the packages of
// this module.
func BudgetErrorOf(stage string, failed, finished int64, last *ItemError) error {
	return fmt.Errorf("stage %q: %d of %d items failed: %w; the last: %w", stage, failed, finished, ErrBudget, last)
}

// RestartErrorOf returns the error of a stage of which the last death in r was one too many: for the packages of this module.
func RestartErrorOf(stage string, r *restart.Record) *RestartError {
	return &RestartError{Stage: stage, Restarts: r.Counted() - 1, Causes: r.Causes(lastCauses)}
}

// RegionErrorOf is RestartErrorOf for the processes of a region.
func RegionErrorOf(region string, r *restart.Record) *RestartError {
	e := RestartErrorOf(region, r)
	e.Process = true
	return e
}

// lastCauses is how many causes a RestartError has besides the first.
const lastCauses = 8

// Is reports whether target is ErrRestarts.
func (e *RestartError) Is(target error) bool { return target == ErrRestarts }

// Unwrap returns Causes.
func (e *RestartError) Unwrap() []error { return e.Causes }
