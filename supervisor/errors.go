package supervisor

import (
	"errors"
	"fmt"
)

// Sentinels.
var (
	// ErrStopped is the end of a run that was stopped, or whose loop was left early.
	ErrStopped = errors.New("supervisor: run stopped")
	// ErrNoMain says that a child process was wanted of a program that would not become one.
	ErrNoMain = errors.New("supervisor: no child processes without Main")
	// ErrDrainTimeout says that Drain took longer than Config.DrainWithin.
	ErrDrainTimeout = errors.New("supervisor: drain took too long")

	errNoSupervisor = errors.New("supervisor: no Supervisor: make one with New or Main")
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

// A NodeError is why a process of a region is gone.
type NodeError struct {
	Region string // its first and last stage, as in "decode..resize"
	Copy   int    // counted from 0
	Addr   string // of a remote node, as in "10.0.0.7:7433"; "" if it is a child, or not known
	Err    error  // an *ExitError if its end is known; a *RefusedError or an *AuthError if there was no beginning
}

// Error says which, and why.
func (e *NodeError) Error() string {
	if e.Addr != "" {
		return fmt.Sprintf("node %s at %s: %v", nodeName(e.Region, e.Copy), e.Addr, e.Err)
	}
	return fmt.Sprintf("node %s: %v", nodeName(e.Region, e.Copy), e.Err)
}

// Unwrap returns Err.
func (e *NodeError) Unwrap() error { return e.Err }

// An ExitError is how a process has ended.
type ExitError struct {
	Status string // "exit status 3", "signal: killed"
	Code   int    // -1 if a signal ended it
	Stderr string // the end of what it had written there: up to 64 KiB
}

// Error returns the status and the end of what the process has written.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return e.Status
	}
	return e.Status + "\n" + e.Stderr
}
