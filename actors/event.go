package actors

import "github.com/weirflow/weir/stages"

// An Event is something that happened to a worker or an item. Its listener is called in the actors' goroutines and
// must not block.
type Event interface{ event() }

// Events.
type (
	// Restarted says that a worker has died and is replaced.
	Restarted struct {
		Stage  string
		Worker int
		Err    error
	}
	// Retried says that an attempt at an item failed and another one follows.
	Retried struct {
		Stage   string
		Item    stages.ID
		Attempt int // the one that failed
		Err     error
	}
	// Failed says that an item failed for good.
	Failed struct {
		Err    *stages.ItemError
		Budget int64 // failures of the stage so far
	}
	// CloseFailed says that a worker's Close returned an error, or panicked. Nothing follows from it.
	CloseFailed struct {
		Stage  string
		Worker int
		Err    error
	}
	// HookFailed says that a hook around a stage returned an error, or panicked. The run fails with it, unless it was
	// stopped before.
	HookFailed struct {
		Stage string
		Err   error
	}
)

func (Restarted) event()   {}
func (Retried) event()     {}
func (Failed) event()      {}
func (CloseFailed) event() {}
func (HookFailed) event()  {}
