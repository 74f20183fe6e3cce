package supervisor

import (
	"time"

	"github.com/weirflow/weir/stages"
)

// An Event is something that happened to a run, a stage or an item, as one of the types below. The set is sealed but
// may grow: a switch needs a default.
type Event interface {
	// Info says when and where.
	Info() EventInfo
	event()
}

// EventInfo is common to all events. Fields that do not apply are zero.
type EventInfo struct {
	Time      time.Time
	Job, Rank string // of Config
	Run       RunID
	Pipeline  string
}

// Info returns i.
func (i EventInfo) Info() EventInfo { return i }
func (EventInfo) event()            {}

// Events of a run.
type (
	// RunStarted says that a run's stages are there.
	RunStarted struct {
		EventInfo
		Placement string
	}
	// RunEnded is a run's last event. Err is what Run.Err returns. What a loop still has in hand then, because it was
	// stopped, counts as in flight.
	RunEnded struct {
		EventInfo
		Err   error
		Stats Stats
	}
	// NodeStarted says that a process of a region is there, and takes items: a child, or a session of a node.
	NodeStarted struct {
		EventInfo
		Region      string // its first and last stage, as in "decode..resize"
		Copy        int    // counted from 0
		Incarnation int    // counted from 1
		PID         int    // of a child process; 0: it is none
		Addr        string // of a remote node, as in "10.0.0.7:7433"; "" if it is a child
	}
	// NodeRestarted says that a process of a region is gone, and when it is replaced.
	NodeRestarted struct {
		EventInfo
		Region      string // its first and last stage, as in "decode..resize"
		Copy        int    // counted from 0
		Incarnation int    // the one that is gone, counted from 1
		Err         error  // a *NodeError
		Retry       time.Duration
	}
	// NodeOutput is a line that a process of a region has written to its stdout or stderr; one of more than 4 KiB comes in
	// parts. A process that prints faster than its lines are listened to is not kept from it for long: some are dropped
	// then, which EventsLost says; and where events are too many, lines are dropped before anything else is.
	//
	// When nobody listens, neither Config.OnEvent nor a loop over Run.Events, lines go to this process's stderr, behind the
	// node's name: "[decode..resize/0] out of memory".
	NodeOutput struct {
		EventInfo
		Node string // as in "decode..resize/0"
		Line string
	}
	// EpochEnded says that the consumer has been given the last item of an epoch.
	EpochEnded struct {
		EventInfo
		Epoch int
	}
	// TaskFailed is a background task's error. It is a *stages.PanicError if the task panicked, and a *stages.HungError if
	// Stop has waited for it as long as it may.
	TaskFailed struct {
		EventInfo
		Task string
		Err  error
	}
	// EventsLost says how many events were dropped here because their listener was slow, or panicked; or how many lines of a
	// process's output.
	EventsLost struct {
		EventInfo
		Count int64
	}
)

// Events of sessions with nodes: each is one life of a copy of a region. The last three are told by NodeConfig.OnEvent.
type (
	// NodeSilent says that nothing has been heard of a node for 10 s. It stops by itself then: 5 s later what it had is given
	// to others, and NodeRestarted says so.
	NodeSilent struct {
		EventInfo
		Node string // as in "decode..resize/0"
		Addr string // as in "10.0.0.7:7433"
		Err  error
	}
	// SessionStarted says that a program has a region here.
	SessionStarted struct {
		EventInfo
		Peer   string // its address
		Region string // its first and last stage, as in "decode..resize"; "" for the whole pipeline
		Copy   int    // counted from 0
	}
	// SessionEnded says that it has it no longer. Err is nil if the program has ended it.
	SessionEnded struct {
		EventInfo
		Peer   string
		Region string
		Copy   int
		Err    error
	}
	// SessionRefused says that somebody was turned away: an *AuthError if he has not proved who he is, else a *RefusedError. Each
	// reason is told once a second.
	SessionRefused struct {
		EventInfo
		Peer   string
		Err    error
		Untold int64 // others for this reason since it was told last
	}
)

// Events of stages and items.
type (
	// WorkerRestarted says that a stage's worker, or the iterator of a source, died, why, and when it is replaced.
	WorkerRestarted struct {
		EventInfo
		Stage  string
		Worker int
		Lives  int           // incarnations of this worker, the coming one included
		Err    error         // as a rule *stages.PanicError
		Retry  time.Duration // until it is replaced; 0: at once
	}
	// CloseFailed says that Close of a worker, of an aggregator of AggregateByKey or of a dead-letter sink returned an error;
	// or, but for an aggregator's, panicked. Nothing follows from it.
	CloseFailed struct {
		EventInfo
		Stage  string // of a sink: the first that writes to it
		Worker int    // negative: of a sink
		Err    error
	}
	// HookFailed says that a StageEnter or StageExit returned an error, or panicked. The run fails with it, unless it was
	// stopped before.
	HookFailed struct {
		EventInfo
		Stage string
		Err   error
	}
	// StageHung names a function that ignores its context: Stop has waited for it as long as it may; or its Timeout has been
	// over for as long as that, its item has failed, and the stage goes on without it.
	StageHung struct {
		EventInfo
		Stage string
		Err   *stages.HungError
	}
	// ItemRetried says that an attempt failed and another one follows.
	ItemRetried struct {
		EventInfo
		Stage   string
		Item    stages.ID
		Attempt int // the one that failed
		Err     error
		Retry   time.Duration // until the next one; 0: at once
	}
	// ItemFailed says that an item failed for good and was skipped, or that it ends the run.
	ItemFailed struct {
		EventInfo
		Err      *stages.ItemError
		Letter   bool  // it was handed to a dead-letter sink
		Failures int64 // of the stage so far
	}
)
