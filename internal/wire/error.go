package wire

import "strconv"

// An Error says why Decode refused bytes. Whoever sent them does not speak this protocol, or not this version of it: the
// session is over.
type Error struct {
	Kind   string // of the message, such as "Task"; "message" if it has none that is known
	Offset int    // where in the message, from 0
	Reason string // one of a fixed set of sentences: nothing of what the peer sent is in it
}

func (e *Error) Error() string {
	return "malformed " + e.Kind + " at byte " + strconv.Itoa(e.Offset) + ": " + e.Reason
}

// Why a message is refused.
const (
	early       = "it ends too early"
	late        = "there are bytes behind its end"
	unknown     = "there is no such kind"
	overlong    = "a number is not written in the shortest way"
	overflow    = "a number does not fit into 64 bits"
	tooLarge    = "a number is above its limit"
	tooMany     = "it announces more elements than it has room for"
	tooFew      = "it has fewer elements than it announces"
	noOutput    = "it describes what has failed"
	unannounced = "it has more elements than it announces"
	undefined   = "a bit is set that means nothing"
	roundabout  = "something is written that goes without saying"
	unordered   = "the elements of a list are not in ascending order"
	noMode      = "there is no such mode"
	noCode      = "a refusal has no code"
	badPath     = "a path is not numbers with a dot before each"
	oversize    = "it is above the largest size of a message"
)
