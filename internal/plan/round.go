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

// A Turn is one result of a fork. Its items get their positions when the fork's actor releases it.
type Turn struct {
	Fork int // as in Round
	seq  uint64
}

// Turns beyond 1<<40, and items of one turn beyond 1<<24, are not expected: a turn is the result of about 0.1 ms of
// work.
const placeBits = 24

// Release numbers the turn and returns its last position.
func (t *Turn) Release(seq uint64) Round {
	t.seq = seq
	return Round{t.Fork, seq<<placeBits | (1<<placeBits - 1)}
}
