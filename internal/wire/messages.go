package wire

import "time"

// Version is that of the protocol which this package speaks.
const Version = 1

// A Message is one of the types below that Append and Decode know.
type Message interface{ kind() kind }

// A Mode is how a region is spoken to.
type Mode uint8

// The modes.
const (
	// Keyed regions get TASK for TASK, and answer each with all that came of it.
	Keyed Mode = 1
	// Stream regions hold a source or an aggregate, and send frames.
	Stream Mode = 2
)

// Open is the coordinator's first message. It is answered by Ready or Refuse, within 5 s.
type Open struct {
	Versions    []uint32 // that the coordinator speaks
	Run         string
	Pipeline    string
	From, To    string // names of the stages between which the region lies
	Copy        int
	Incarnation int
	Build       string // of the coordinator's program
	Fingerprint [32]byte
	Config      []byte // of the pipeline, encoded
	Mode        Mode
	Window      int           // most tasks that are outstanding at once
	Grace       time.Duration // how long a function may ignore that it is to end
	Arena       uint64        // bytes of the arena that comes with the session; 0: there is none

	// Of Stream regions.
	Next    uint64     // number of the first frame
	Done    []Span     // what is done, of the region's own sources
	Partial []Partial  // what is done in part
	Stop    []Position // where its sources end, if they are drained; empty: nowhere
}

// Ready accepts an Open.
type Ready struct {
	Version     uint32
	Build       string
	Fingerprint [32]byte
	Boot        [16]byte // names the process that answers
}

// Refuse declines an Open.
type Refuse struct {
	Code Code
	Text string
}

// A Code says why a session was refused.
type Code uint8

// The codes.
const (
	OtherVersion     Code = 1 // no version in common
	OtherGraph       Code = 2 // the fingerprints differ
	UnknownPipeline  Code = 3 // the node was not compiled with it
	BadConfig        Code = 4 // the configuration cannot be decoded, or the pipeline has faults with it
	Full             Code = 5 // a quota is used up
	NotAuthenticated Code = 6
	BadRequest       Code = 7 // anything else that is wrong with the message
)

// Task is inputs of a Keyed region, or of a Stream region without a source of its own.
type Task struct {
	Isolated bool // the only item, which is suspected to kill its process
	Items    []Item
}

// An Item is one input.
type Item struct {
	ID       uint64 // given by the coordinator in order of arrival, never reused
	Skip     int    // outputs that have been accepted: Streaming only
	Attempt  int    // times that it was given to a session which was lost
	Identity Identity
	Payload  Payload
}

// An Identity names an item for user code and for people: no rule compares them.
type Identity struct {
	Source int // index of the source stage in the graph
	Epoch  int
	Index  int64
	Path   string // ".3.0"
}

// A Payload is an encoded value.
type Payload struct {
	Bytes  []byte
	Blocks []Block // parts of it that lie in the sender's arena, in the order in which the value has them
}

// A Block is a place in an arena.
type Block struct {
	Offset, Length uint64
	Generation     uint32
}

// End follows the last Task, or the last frame.
type End struct {
	Last uint64 // id of the last task, or number of the last frame, plus one; 0: there was none
}

// Limit lets a Stream region send frames: absolute, never lower than before.
type Limit struct{ Frames, Bytes uint64 }

// Drain asks a Stream region with a source to stop yielding. It is answered by Stopped.
type Drain struct{}

// Stopped says where the sources of a drained region end.
type Stopped struct{ At []Position }

// Cancel asks for the end of everything. It is not answered.
type Cancel struct{ Reason string }

// Result is what came of some tasks of a Keyed region, in any order.
type Result struct{ Entries []Entry }

// An Entry is everything that came of one input.
type Entry struct {
	ID       uint64
	Outputs  []Output
	Failures []Failure
}

// An Output is an item that leaves a region.
type Output struct {
	Port    int
	Path    string // behind that of the input: "" or ".3.0"
	Payload Payload
}

// A Failure is an item of the region that has failed for good there.
type Failure struct {
	Stage    int      // index in the graph
	Identity Identity // of the item
	Attempts int
	Fatal    bool // no policy may skip it
	Hung     bool // a function that does not return was the cause
	Error    []byte
	Letter   Payload // the item itself, if the stage has dead letters
	Lettered bool    // there is a Letter
}

// Part is some of the outputs of an input that is still worked on: Streaming only.
type Part struct {
	ID      uint64
	From    int // outputs of this input in the parts before
	Outputs []Output
}

// Frame is what a Stream region sends: outputs, and what is done with them.
type Frame struct {
	Seq     uint64
	Yielded []Position // how far its own sources are
	Done    []Span     // inputs of which no further output will come, and which nothing holds
	Outputs []FrameOutput
	Failed  []Failure
	Epochs  []EpochEnd
}

// A FrameOutput is an output of a Stream region.
type FrameOutput struct {
	Epoch   int
	Members []Member // what it was made of
	Path    string   // of the output itself: "" or ".3.0"
	Payload Payload
}

// A Member is items that an output was made of: n inputs in a row, or one of the items that came of one input.
type Member struct {
	Source, Epoch int
	Index         int64
	N             int64  // 1 if there is a Path
	Path          string // "" or ".3.0"
}

// A Span is inputs [From, To) of one epoch of a source.
type Span struct {
	Source, Epoch int
	From, To      int64
	Fate          uint8 // as plan.Fate: what became of those of which there is no output
}

// A Partial is an input of which some outputs have been accepted.
type Partial struct {
	Source, Epoch int
	Index         int64
	Paths         []string // of those, at the place where they were made
}

// A Position is a place in a source: before item Index of the epoch.
type Position struct {
	Source, Epoch int
	Index         int64
}

// An EpochEnd says that an epoch ends behind the first After outputs of a frame.
type EpochEnd struct{ Epoch, After int }

// Abort fails the run.
type Abort struct{ Error []byte }

// Event is something that happened in a node. It may be dropped.
type Event struct{ Body []byte }

// Stats are the counts of a session so far. They may be dropped, but for the last ones.
type Stats struct{ Body []byte }

// Log is output of a node. It may be dropped.
type Log struct{ Text string }

// Profile asks for a profile, and carries a part of one.
type Profile struct {
	ID   uint64
	Name string
	For  time.Duration
	Part []byte
	Last bool
}

// Release gives blocks of the receiver's arena back.
type Release struct{ Blocks []Block }

// Ping and Pong fill silences.
type (
	Ping struct{}
	Pong struct{}
)
