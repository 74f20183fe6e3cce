package history

import (
	"sync"
	"time"
)

// What is what an Event says.
type What uint8

// A source, a call, and an end: what a history is made of.
const (
	Yielding  What = iota // the source is about to yield Items
	Yielded               // it has, and they were taken
	Began                 // Stage has begun to work on Items
	Ended                 // the call that began as event Call is over, as Outcome says
	Failed                // the runtime says that the item that Stage was given as Key has failed for good
	Delivered             // Items came out at the exit Stage
)

// Outcome is how a call has ended.
type Outcome uint8

// Good ends first. The runtime may try again what has ended badly.
const (
	Finished  Outcome = iota // what it made of its items is handed on, or held
	Dropped                  // nothing comes of its items
	Canceled                 // it was told to end
	Errored                  // with an error that is not to be retried
	Retryable                // with one that is
	Died                     // with a panic, or its goroutine's end
	Abandoned                // it ignores its context, and is not waited for any more; its goroutine may go on
)

// Bad reports whether it is an end after which somebody must try again, or give up.
func (o Outcome) Bad() bool { return o > Canceled }

func (o Outcome) good() bool { return o < Canceled }

// A Worker says who made a call.
type Worker struct{ Worker, Incarnation, Attempt int }

// An Event is one line of a history.
type Event struct {
	What    What
	Stage   int // of Graph.Stages; of Delivered, of Graph.Exits
	Items   []Item
	Key     any // the name by which the runtime knows what was made of Items; comparable
	Who     Worker
	Call    int
	Outcome Outcome
	At      time.Duration // since the recorder was made
}

// A Recorder keeps a history. New makes one.
type Recorder struct {
	begun time.Time

	mu     sync.Mutex
	events []Event // guarded by mu
	begin  func(n int)
	calls  int // guarded by mu
}

// New returns a Recorder without events. begin, unless nil, is told of each call how many have begun so far; it must not
// call the Recorder, nor block.
func New(begin func(n int)) *Recorder { return &Recorder{begun: time.Now(), begin: begin} }

func (r *Recorder) add(e Event) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = time.Since(r.begun)
	r.events = append(r.events, e)
	if e.What == Began && r.begin != nil {
		r.calls++
		r.begin(r.calls)
	}
	return len(r.events) - 1
}

// Yield records that a source yields it, by calling yield, and returns what that returns. Whether an item that was yielded
// last, when nobody wanted more, was taken all the same, the source cannot know.
func (r *Recorder) Yield(it Item, yield func() bool) bool {
	r.add(Event{What: Yielding, Items: []Item{it}})
	if !yield() {
		return false
	}
	r.add(Event{What: Yielded, Items: []Item{it}})
	return true
}

// A Call is a function at work.
type Call struct {
	recorder *Recorder
	began    int
	stage    int
	ended    bool
}

// Begin records that who begins to work on items at a stage. key is the name that the runtime has for them; if they are
// several, they are one item to it.
func (r *Recorder) Begin(stage int, key any, who Worker, items ...Item) *Call {
	return &Call{recorder: r, stage: stage, began: r.add(Event{What: Began, Stage: stage, Key: key, Who: who, Items: items})}
}

// End records how it ended. Only the first call counts.
func (c *Call) End(o Outcome) {
	if c.ended {
		return
	}
	c.ended = true
	c.recorder.add(Event{What: Ended, Stage: c.stage, Call: c.began, Outcome: o})
}

// Fail records that the runtime says that the item it knows as key failed for good at a stage.
func (r *Recorder) Fail(stage int, key any) { r.add(Event{What: Failed, Stage: stage, Key: key}) }

// Deliver records that items came out, as one, at an exit.
func (r *Recorder) Deliver(exit int, items ...Item) {
	r.add(Event{What: Delivered, Stage: exit, Items: items})
}

// Events returns the history so far, in the order in which it happened.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[:len(r.events):len(r.events)]
}
