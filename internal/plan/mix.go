package plan

import "context"

// A Mix says which input of a merge gives the next item.
type Mix struct {
	How           How
	Weights       []float64 // of the inputs; Weighted only
	Seed          uint64    // Weighted only
	EpochItems    int64     // an epoch has so many items, whatever the inputs' are; 0: theirs. Weighted only
	UntilFirstEnd bool      // the epoch ends with the first input that ends it; Weighted only
	Fork          int       // whose order is restored, as in Round; InputOrder and Rejoin only
	Join          Join      // Rejoin only
	Stray         error     // what is wrong with an item that is no part of the batch, or comes twice; Rejoin only
	// Open makes the function of the user's that chooses; ByValue only.
	Open func() Chooser
}

// How is a way to take from several inputs.
type How int

// The ways.
const (
	Arrival    How = iota // as they come
	RoundRobin            // one of each in turn
	Weighted              // at random
	InputOrder            // as they were where they parted
	Rejoin                // the same for parts of batches, which become whole
	ByValue               // as a function says
)

// A Join makes one batch of its parts: it appends it to out, without an identity. It reports which elements of the batch
// are still there, nil for all of them, or an error, and the branch of which the number of elements is not what it was.
type Join func(out Chunk, parts []Part, to []int) (kept []int, branch int, err error)

// A Part is what came of a part of a batch: item At of a chunk, or nothing if that is nil.
type Part struct {
	Chunk Chunk
	At    int
	Kept  []int // the elements that are still there, of those that it had; nil: all
}

// A Chooser chooses by value. It runs user code, in a worker.
type Chooser interface {
	// Choose appends to order which input gives an item, one after the other, until an input that has not ended has no
	// more items at hand, or max have been chosen. heads[i] is nil for an input that has ended, and else a chunk of which
	// the items from at[i] on are at hand. What was appended before a panic is in order.
	Choose(ctx context.Context, heads []Chunk, at []int, max int, order *[]int) error
}
