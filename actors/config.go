package actors

import (
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A Config says what a run is called, and who is told of it. Its functions are called in the actors' goroutines and must
// not block.
type Config struct {
	ID      string      // names the run in goroutine profiles, under LabelRun; "" is a name of its own
	OnEvent func(Event) // nil: nobody
	OnEnd   func()      // when every goroutine has ended, but for the one that calls it; nil: nobody

	Failures  Budget        // of the whole run
	Probation int64         // items that are let through before a fraction of failures is judged
	Grace     time.Duration // how long a function may ignore that its Timeout is over
	Letters   []Letters     // for the stages whose policy has a sink

	Nodes  Nodes // where the graph's regions live; nil if it has none
	Poison int   // deaths of a process that an item may cause before it has failed; at least 1

	// Of a region's graph, where that runs.

	OnEnds func([]plan.End) // is told when nothing of an item of a source is alive any more; nil: nobody
	// OnYielded is told how far a source is. nil: nobody.
	OnYielded func(source int, at Position)
	// FailsHere says that the region's run fails where its policy tolerates nothing: what comes before the item leaves first.
	FailsHere bool
	// Resume says what of the sources is done already. nil: nothing.
	Resume *Resume
	// Box is where workers note what they are at; nil: nowhere.
	Box *plan.BlackBox
	// Suspects are items of which earlier processes may have died.
	Suspects []wire.Suspect
	// OnFailed is told of an item that has failed for good, before OnEnds hears of its end. nil: failures are judged here.
	OnFailed func(Fault)
}

// A Resume is where the sources of a region go on.
type Resume struct {
	Epochs  int                     // that are over
	Done    map[EpochOf]*plan.Spans // of sources, by epoch
	Settled plan.Settled            // of those that are not done
	Stop    map[int]Position        // where sources end, by source; nil: nowhere
}

// An EpochOf is one epoch of a source, by the index of its stage.
type EpochOf struct{ Source, Epoch int }

// A Position is a place in a source: behind the first Index items of the epoch.
type Position struct {
	Epoch int
	Index int64
}

// A Fault is an item of a region that has failed for good.
type Fault struct {
	Stage  *plan.Stage
	Root   plan.ID  // as the region's graph names it
	At     plan.Run // the same, of what was made of something; it is alive. That of a source is empty
	Err    *stages.ItemError
	Fatal  bool // no policy may skip it
	Hung   bool // its function does not return
	Letter bool // it has been handed to the sink of its stage
	// Finished is what the stage has finished, this one included.
	Finished int64
}

// watch has a tally tell OnEnds.
func (r *Run) watch(t *plan.Tally) {
	if r.cfg.OnEnds != nil {
		t.Watch()
	}
}
