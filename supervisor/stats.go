package supervisor

import (
	"time"

	"github.com/weirflow/weir/stages"
)

// Stats describe the life of a run.
//
// At every moment: Yielded = Delivered + Filtered + Failed + InFlight. All five count items of the sources; an item is
// Failed if anything made of it failed for good, else Delivered when all that was made of it is finished with and some
// of it reached the consumer, else Filtered. What a loop over Items has handed out since it began its current chunk,
// half a millisecond of flow or one item, still counts as in flight.
type Stats struct {
	Job, Rank string
	Run       RunID
	Pipeline  string
	At        time.Time
	Elapsed   time.Duration // until now, or until the run ended

	Yielded   int64
	Delivered int64
	Filtered  int64
	Failed    int64 // for good: skipped, and those that ended the run
	InFlight  int64 // after the end: never finished
	Outputs   int64 // values the consumer was given: batches, if the pipeline makes batches
	Retries   int64
	Restarts  int64 // of workers

	Stages   []StageStats        // in topological order
	Nodes    []NodeStats         // of regions in other processes, by region and copy
	Failures []*stages.ItemError // the last 100 items that failed for good, oldest first
}

// StageStats describe one stage.
type StageStats struct {
	Stage, Kind string
	Mailbox     int // of each copy, in a pool
	// Where it runs: the placement of the region that it is in, as ParsePlacement reads it. "inprocess", "4*subprocess".
	Where string

	In       int64 // items taken; of a source, yielded and taken over
	Out      int64 // items handed on
	Filtered int64 // inputs of which nothing came
	Failed   int64 // for good
	Letters  int64 // of Failed: handed to the dead-letter sink
	// Tolerated is how many more items may fail before the run does: what is left of the stage's budget. A fraction is one
	// of the items finished so far, or of Config.Probation if those are fewer.
	Tolerated int64
	Retries   int64
	Restarts  int64 // of workers
	Hung      int64 // functions that the stage has gone on without, long after their Timeout, and that have not returned

	// Busy is the part of its workers' time in which they ran the stage's function, 0 to 1. What a worker is at counts
	// when it is done. It is 0 for a source.
	Busy float64
}
