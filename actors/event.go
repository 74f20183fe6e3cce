package actors

import (
	"time"

	"github.com/weirflow/weir/stages"
)

// An Event is something that happened to a worker or an item. Its listener is called in the actors' goroutines and
// must not block.
type Event interface{ event() }

// Events.
type (
	// Restarted says that a worker has died and is replaced.
	Restarted struct {
		Stage  string
		Worker int
		Lives  int // incarnations of the worker, the coming one included
		Err    error
		Retry  time.Duration // until then
	}
	// Retried says that an attempt at an item failed and another one follows.
	Retried struct {
		Stage   string
		Item    stages.ID
		Attempt int // the one that failed
		Err     error
		Retry   time.Duration // until the next one
	}
	// Failed says that an item failed for good.
	Failed struct {
		Err      *stages.ItemError
		Letter   bool  // it was handed to a dead-letter sink
		Failures int64 // of the stage so far
	}
	// Hung says that a function has not returned long after its Timeout, and that the stage goes on without it.
	Hung struct{ Err *stages.HungError }
	// CloseFailed says that a worker's Close, or that of a dead-letter sink, returned an error, or panicked. Nothing follows from it.
	CloseFailed struct {
		Stage  string
		Worker int
		Err    error
	}
	// NodeLost says that a session with a copy of a region is over, and when there is another.
	NodeLost struct {
		Region string
		Copy   int
		Life   int // of the copy, counted from 1
		Err    error
		Retry  time.Duration
	}
	// HookFailed says that a hook around a stage returned an error, or panicked. The run fails with it, unless it was
	// stopped before.
	HookFailed struct {
		Stage string
		Err   error
	}
)

func (NodeLost) event()    {}
func (Restarted) event()   {}
func (Retried) event()     {}
func (Failed) event()      {}
func (Hung) event()        {}
func (CloseFailed) event() {}
func (HookFailed) event()  {}
