package supervisor

import (
	"errors"
	"fmt"
)

// Sentinels.
var (
	// ErrStopped is the end of a run that was stopped, or whose loop was left early.
	ErrStopped = errors.New("supervisor: run stopped")
	// ErrDrainTimeout says that Drain took longer than Config.DrainWithin.
	ErrDrainTimeout = errors.New("supervisor: drain took too long")
)

// A RunError is why a run failed. Its causes are *stages.ItemError and others; those of cancellation are left out.
type RunError struct {
	Run      RunID
	Pipeline string
	Causes   []error // in order of time; at least one
}

// Error tells the first cause and the number of the others.
func (e *RunError) Error() string {
	if n := len(e.Causes) - 1; n > 0 {
		return fmt.Sprintf("pipeline %q: %v (and %d more)", e.Pipeline, e.Causes[0], n)
	}
	return fmt.Sprintf("pipeline %q: %v", e.Pipeline, e.Causes[0])
}

// Unwrap returns Causes.
func (e *RunError) Unwrap() []error { return e.Causes }
