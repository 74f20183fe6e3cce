package shapes

import (
	"fmt"
	"time"

	"github.com/weirflow/weir/stages"
)

// An Event is a line of a log.
type Event struct {
	At   time.Time
	Text string
}

// Logs are the logs of several machines, each sorted by time.
type Logs [][]Event

// Merged is one log of several, in the order of time.
var Merged = stages.Define("merged", func(g *stages.Graph, logs Logs) stages.Stream[Event] {
	var ins []stages.Stream[Event]
	for i, log := range logs {
		ins = append(ins, stages.Source(g, fmt.Sprint("log ", i), stages.FromSlice(log)))
	}
	return stages.MergeFunc("by time", earliest, ins...)
})

// earliest returns which head is the earliest: of equal ones the first. The heads of logs that have ended are nil.
func earliest(heads []*Event) (at int) {
	for i, h := range heads {
		if h != nil && (heads[at] == nil || h.At.Before(heads[at].At)) {
			at = i
		}
	}
	return at
}
