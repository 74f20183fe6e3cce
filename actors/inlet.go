package actors

import "github.com/weirflow/weir/internal/plan"

// An inlet is one input of a merge.
type inlet struct {
	edge *edge
	win  window
	left uint64 // places that have left

	q       fifo[plan.Chunk]
	at      int         // items of the front chunk that have been taken
	ids     plan.Cursor // there
	look    plan.Cursor // behind what has been picked, which may not have been taken yet
	known   bool        // the next three say where the item there and those behind it stand
	pos     uint64
	run     int
	step    uint64   // to the next item of the run
	low     uint64   // no later item stands before this; not 0, as positions are
	upto    []uint64 // how far the rounds of mixer.rounds have come
	parked  bool     // it has ended the epoch
	dropped bool     // the rest of the epoch is not wanted
	ended   bool
	failed  bool
}

func (in *inlet) pop() {
	in.q.pop()
	in.at, in.known = 0, false
	if in.q.len() > 0 {
		in.begin()
	}
}

// begin goes to the first item of the front chunk.
func (in *inlet) begin() {
	in.ids = (*in.q.front()).Head().IDs.From(0)
	in.look = in.ids
}

// pass goes behind the next n items, of one run.
func (in *inlet) pass(n int) {
	in.low = in.pos + uint64(n-1)*in.step
	in.pos += uint64(n) * in.step
	in.run -= n
	in.known = in.run > 0
	in.look.Skip(n)
}

// ready reports whether the input has an item at hand. settle has been called.
func (in *inlet) ready() bool { return !in.parked && in.q.len() > 0 }

// through reports whether the input gives nothing more to this epoch.
func (in *inlet) through() bool { return in.parked || in.q.len() == 0 && in.ended && !in.failed }

// stuck reports whether the input gives nothing more although it is not complete.
func (in *inlet) stuck() bool { return !in.parked && in.q.len() == 0 && in.failed }
