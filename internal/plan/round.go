package plan

// A Round is the end of what a fork has sent in one go: a mark in the data lane of its outputs, which says that
// everything up to position Upto has been sent. Marks are not counted: a later one stands for those before it, so a
// queue may drop all but the last of neighbours.
//
// It is what a join waits for that restores the order of the fork: an item may be on its way, or filtered, and
// without the mark nobody could tell which.
type Round struct {
	Fork int    // index of the stage that parts, plus one; 0: no mark
	Upto uint64 // position of the last item of the round
}

// An OpenRound is a round, one result of a fork, that has not been sent. Its items get their positions when the fork's
// actor closes it.
type OpenRound struct {
	Fork int // as in Round
	seq  uint64
}

// Rounds beyond 1<<40, and items of one round beyond 1<<24, are not expected: a round is the result of about 0.1 ms of
// work.
const placeBits = 24

// Close numbers the round and returns its end.
func (r *OpenRound) Close(seq uint64) Round {
	r.seq = seq
	return Round{r.Fork, seq<<placeBits | (1<<placeBits - 1)}
}
