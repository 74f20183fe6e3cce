package history

import "fmt"

// A Graph is what is known of a graph before it runs.
type Graph struct {
	Stages []Stage // those that record their calls, each behind what feeds it
	Exits  []Exit
	// Bound is how many items of the sources may be in flight at once; 0 or less is no bound.
	Bound int64
	// Ways returns what becomes of an item of a source if nothing fails, and where it comes out; nothing if it is filtered.
	Ways func(root Item) []Way
}

// A Stage is one that runs a function.
type Stage struct {
	Name     string
	Mailbox  int // calls at once
	Attempts int // at one item, if they end with a death or what is retryable
	Holds    bool
}

// An Exit is where items come out: the consumer, or a sink.
type Exit struct {
	Name string
	// Gapless says that what comes out in order is the beginning of what would have, however the run ends.
	Gapless bool
	// Epochs says that items come out epoch by epoch, those of unordered stages included.
	Epochs bool
}

// A Way is one item that comes out.
type Way struct {
	Item Item
	Exit int
	// Ordered says that it comes out in order with the others of the same lane at the same exit. All of them are of one
	// source, and have equally many ancestors.
	Ordered bool
	Lane    uint64
}

// An End is how a run has ended.
type End int

// Of a run that did not end by itself, or by being drained, less is known.
const (
	Complete End = iota
	Broken       // by a failure
	Stopped      // from outside
)

// Counts are what the runtime has counted.
type Counts struct {
	Yielded, Delivered, Filtered, Failed, InFlight int64

	StageFailed []int64 // by stage of the Graph
	MostSeen    int64   // the largest InFlight that was seen while it ran
}

// Kind is what is wrong.
type Kind int

// A run of which none of these can be said has lost nothing, and has done nothing twice.
const (
	Lost       Kind = iota // it neither came out nor failed
	Duplicated             // it came out twice, or came out and failed
	Repeated               // it was worked on again when that was done, or twice at the same time
	Reordered              // it came out of order
	Invented               // it came out, or failed, without a reason
	OverBound              // more than the bound were at work, or in flight
	Miscounted             // the counts do not add up, or are not those of the history
	kinds
)

// String returns "lost", "duplicated" and so on.
func (k Kind) String() string {
	return [kinds]string{"lost", "duplicated", "repeated", "reordered", "invented", "over bound", "miscounted"}[k]
}

// A Violation is one thing that is wrong.
type Violation struct {
	Kind Kind
	Text string
}

// Error returns what is wrong.
func (v Violation) Error() string { return v.Kind.String() + ": " + v.Text }

// Check returns what is wrong with a history; nothing if it is clean.
func Check(g Graph, events []Event, end End, n Counts) []Violation {
	c := &checker{Graph: g, events: events, end: end, n: n, calls: map[sort][]int{}, taken: set{}, failed: map[Item]bool{}}
	c.gather()
	c.work()
	c.failures()
	c.deliveries()
	c.losses()
	c.flight()
	c.counts()
	return c.found
}

// A sort is what calls are about: an item at a stage.
type sort struct {
	stage int
	key   any
}

type checker struct {
	Graph
	events []Event
	end    End
	n      Counts
	found  []Violation

	calls     map[sort][]int // the events that began them
	ended     map[int]int    // by the event that began a call: the one that ended it
	yielded   []Item         // roots that were taken, as far as anything shows that, in the order of their sources
	unsure    int            // roots of which nothing shows that they were taken
	taken     set            // those of yielded
	delivered map[place]int  // how often
	failed    map[Item]bool  // what has failed, as it was given to the stage
}

// A place is where an item came out.
type place struct {
	item Item
	exit int
}

func (c *checker) say(k Kind, format string, args ...any) {
	c.found = append(c.found, Violation{k, fmt.Sprintf(format, args...)})
}

// outcome is that of a call, and whether it has ended.
func (c *checker) outcome(began int) (Outcome, bool) {
	e, ok := c.ended[began]
	if !ok {
		return 0, false
	}
	return c.events[e].Outcome, true
}

// gather reads the history once.
func (c *checker) gather() {
	c.ended, c.delivered = map[int]int{}, map[place]int{}
	maybe := map[Item]bool{}
	shown := func(items []Item) {
		for _, it := range items {
			if root := it.Root(); maybe[root] && !c.taken[root] {
				c.take(root)
			}
		}
	}
	for i, e := range c.events {
		switch e.What {
		case Yielding:
			for _, it := range e.Items {
				maybe[it] = true
			}
		case Yielded:
			shown(e.Items)
		case Began:
			k := sort{e.Stage, e.Key}
			c.calls[k] = append(c.calls[k], i)
			shown(e.Items)
		case Ended:
			c.ended[e.Call] = i
		case Delivered:
			for _, it := range e.Items {
				c.delivered[place{it, e.Stage}]++
			}
			shown(e.Items)
		}
	}
	c.unsure = len(maybe) - len(c.yielded)
}

func (c *checker) take(root Item) {
	c.taken.add(root)
	c.yielded = append(c.yielded, root)
}
