package wire

import "time"

// Version is that of the protocol which this package speaks.
const Version = 1

// A Message is one of the types below that Append and Decode know. Pointers to them are messages.
type Message interface{ kind() kind }

// A Mode is how a region is spoken to. There is no mode 0.
type Mode uint8

// The modes.
const (
	// Keyed regions get inputs, and answer each with all that came of it.
	Keyed Mode = 1
	// Stream regions hold a source or an aggregate, and send frames.
	Stream Mode = 2
)

// Open is the coordinator's first message of a session, and its only one of this type. The node answers it with Ready or Refuse
// within 5 s.
type Open struct {
	Versions    []uint32 // that the coordinator speaks, ascending, at most MaxVersions
	Run         string   // names the run, for people
	Pipeline    string   // by which the node knows it
	From, To    string   // names of the stages between which the region lies; "": it begins with sources, it ends with the graph
	Copy        int      // from 0
	Incarnation int      // of the copy, from 1
	Build       string   // of the coordinator's program, for people
	Fingerprint [32]byte // of the graph that the coordinator has built; the node's must be the same
	Config      []byte   // of the pipeline, encoded
	Mode        Mode
	Window      int           // most ids that are out at once in this session
	Grace       time.Duration // how long a function may ignore that it is to end
	Arena       uint64        // bytes of the arena that comes with the session; 0: there is none

	// Of Stream regions; in a Keyed one they are not sent.
	Next    uint64     // number of the first frame
	Epochs  int        // ends of epochs that have been accepted: they do not come again
	Done    []Span     // what is done, of the region's own sources: not to be yielded; ascending, apart from each other
	Partial []Member   // what is settled of inputs that are not done: not to be made again; the inputs ascend
	Stop    []Position // where its sources end, if they were drained, ascending; empty: nowhere
	Box     uint64     // bytes of the black box that comes with the session; 0: there is none
	// Suspects are items that were executed when the processes of earlier sessions died.
	Suspects []Suspect
}

// A Suspect is items of which processes may have died: those that a stage has executed then. Each is executed alone, or not any
// more.
type Suspect struct {
	Stage         int // that executes them
	Source, Epoch int
	From, To      int64 // inputs [From, To), at least one: those that the items are made of
	// Exact says that it is one item, that of this path which is made of these inputs and no others; else it is every
	// item at that stage that has to do with one of them, and Path is "".
	Exact  bool
	Path   string
	Deaths int
	Poison bool // it is Exact, and has failed: it is not executed any more
}

// Ready is the node's first message if it accepts an Open. It is sent when the region has been built, before its stages are open.
type Ready struct {
	Version     uint32   // one of Open.Versions: the rest of the session is in it
	Build       string   // of the node's program, for people: it need not be the coordinator's
	Fingerprint [32]byte // that of the Open
	Boot        [16]byte // names the process that answers: the same again means that it has not died
}

// Refuse is the node's first and last message if it declines an Open.
type Refuse struct {
	Code Code
	Text string // what it is, with both sides' values where two differ
}

// A Code says why a session was refused. There is no code 0; of one that is not known the text is shown.
type Code uint8

// The codes. Their numbers are never used again.
const (
	OtherVersion     Code = 1 // no version in common
	OtherGraph       Code = 2 // the fingerprints differ
	UnknownPipeline  Code = 3 // the node was not compiled with it
	BadConfig        Code = 4 // the configuration cannot be decoded, or the pipeline has faults with it
	Full             Code = 5 // a quota is used up
	NotAuthenticated Code = 6
	BadRequest       Code = 7 // anything else that is wrong with the message
)

// Task is inputs of a Keyed region, or of a Stream region that is fed. The coordinator sends it while fewer ids than the window
// are out at the session; the items of one Task count alone.
type Task struct {
	Isolated bool   // it has one item, which is suspected to kill its process; nothing else is out
	Items    []Item // ids ascend, usually
	// Ends are those of epochs among the items, ascending: of Stream regions. They are sent again, in their places, to a later
	// incarnation that is given items before them, or that has not had them accepted.
	Ends []EpochEnd
}

// An Item is one input.
type Item struct {
	ID       uint64 // given by the coordinator in order of arrival, from 0; never used again, but by the same item
	Skip     int    // outputs that have been accepted and are not to be sent again; reserved with Part: 0
	Attempt  int    // times that it was given to a session which was lost
	Identity Identity
	Payload  Payload
}

// An Identity names an item for user code and for people: no rule compares them.
type Identity struct {
	Source int   // index of the source stage in the graph
	Epoch  int   // from 0
	Index  int64 // in the source, from 0
	// Path is "" for what is one to one with the source's, else its place in what each stage made of one item: ".3.0".
	Path string
}

// A Payload is an encoded value.
type Payload struct {
	Bytes  []byte  // nil if there are none; at most MaxPayload
	Blocks []Block // parts of it that lie in the sender's arena, in the order in which the value has them
}

// A Block is a place in an arena: of the sender of the message, but in a Release. One of generation 0 and offset 0 is in no arena: it
// is the last Length of the payload's Bytes.
type Block struct {
	Offset, Length uint64
	Generation     uint32 // how often the place has been used: a block that was released is told from the next one there
}

// End is the last of its kind: from the coordinator behind the last Task of a region that is fed, again in every later session,
// and from the node of a Stream region behind the last frame.
type End struct {
	Last uint64 // id of the last task, or number of the last frame, plus one; 0: there was none
}

// Limit lets a Stream region send frames with outputs. The coordinator sends it as frames are taken: how many may have been sent
// since Open. It is never lower than before. Frames without outputs need none.
type Limit struct{ Frames uint64 }

// Drain is the coordinator's: the sources of a Stream region are to yield no more. What was yielded runs to its end.
type Drain struct{}

// Skip is the coordinator's: the sources of a Stream region are to end this epoch here, if they are not beyond it, and to go on
// with the next one. What of it is under way may still come. It is sent again in every later session.
type Skip struct{ Epoch int }

// Stopped is the node's answer to Drain: where its sources end. It comes before End, and goes into every later Open. It is reserved:
// nothing sends it.
type Stopped struct{ At []Position } // ascending

// Cancel is the coordinator's: everything ends now. It is not answered; the session is closed after the grace.
type Cancel struct{ Reason string }

// Result is what came of some tasks of a Keyed region, in any order. The node sends an entry when nothing of the input is
// left in the region; it needs no credit.
type Result struct {
	Entries []Entry
	// Finished is how many items each stage of the region of which some may fail has finished in this session, failed ones
	// included; in the order of the graph. It is what fractions are fractions of.
	Finished []int64
}

// An Entry is everything that came of one input. Outputs and failures are applied together, in one step: an input of which one
// descendant has failed still delivers the others. It is accepted if the id is out at the session, else it is dropped.
type Entry struct {
	ID       uint64
	Outputs  []Output  // in order; of Streaming those behind the parts
	Failures []Failure // of descendants of the input, or of itself
}

// An Output is an item that leaves a region.
type Output struct {
	Port    int    // of the ways out of the region, from 0
	Path    string // behind that of the input: "" or ".3.0"
	Payload Payload
}

// A Failure is an item of the region that has failed for good there: no retry is left. Its stage's policy is applied where the
// failure arrives.
type Failure struct {
	Stage    int      // index in the graph
	Identity Identity // of the item at that stage
	Attempts int      // in this session
	Finished int64    // by the stage in this session until then, this one included; 0: not known
	Fatal    bool     // no policy may skip it
	Hung     bool     // a function that does not return was the cause
	Poison   bool     // it was not executed, for an Open says that it is poison
	Error    []byte   // encoded, at most MaxText
	Letter   Payload  // the item itself, as the stage got it, if the stage has dead letters
	Lettered bool     // there is a Letter; without it that is not sent
}

// Part is some of the outputs of an input that is still worked on. It is reserved: nothing sends it. The node sends it for stages that are Streaming, and never
// more than a window of parts ahead of what was handed on.
type Part struct {
	ID      uint64
	From    int // outputs of this input before these, those of Item.Skip included
	Outputs []Output
}

// Frame is what a Stream region sends: outputs, and what is done with them, applied in one step. One with outputs waits for the
// Limit; one without says only what is done.
type Frame struct {
	Seq     uint64     // one above that of the frame before; Open.Next at first
	Yielded []Position // how far its own sources are, ascending
	Done    []Span     // inputs of which no further output will come, and which nothing holds; ascending, apart from each other
	Outputs []FrameOutput
	Failed  []Failure
	Epochs  []EpochEnd // ascending
	// Finished is as of a Result.
	Finished []int64
}

// A FrameOutput is an output of a Stream region.
type FrameOutput struct {
	Epoch   int
	Members []Member // what it was made of
	Sibling bool     // made of the same items as the output before it, or of the siblings in its one Member: it has no Members
	Failed  bool     // there is none: what would have become of its Members has failed, and is settled; neither Path nor Payload
	Path    string   // of the output itself: "" or ".3.0"
	Payload Payload
}

// A Member is items that an output was made of: inputs in a row, or siblings in a row, of those that came of one input. The path of
// such a leaf has a number for each stage that made several of one item, and for each branch: so it names one thing in the region.
type Member struct {
	Source, Epoch int
	Index         int64
	N             int64  // at least 1: inputs from Index on, or siblings from Path on, whose last number counts up
	Path          string // "" or ".3.0"
}

// A Span is inputs [From, To) of one epoch of a source. It is not empty.
type Span struct {
	Source, Epoch int
	From, To      int64
	Fate          uint8 // as plan.Fate, at most 3: what became of those of which there is no output
}

// A Position is a place in a source: before item Index of the epoch.
type Position struct {
	Source, Epoch int
	Index         int64
}

// An EpochEnd says that an epoch ends behind the first After outputs of a frame, or items of a task.
type EpochEnd struct{ Epoch, After int }

// Abort is the node's: the run fails with this error, and not an item. It is the last message of the session.
type Abort struct{ Error []byte } // encoded, at most MaxText

// Event is something that happened in a node. It may be dropped, and never goes before data.
type Event struct{ Body []byte }

// Stats are the counts of a session so far, from the node. They may be dropped, but for the last ones, which come before End.
type Stats struct{ Body []byte }

// Log is output of a node, a line or less. It may be dropped, and never goes before data. It is reserved: nothing sends it.
type Log struct{ Text string }

// Profile asks a node for a profile; its answers have the same ID and carry the parts of it, in order. Data goes first. It is
// reserved: nothing sends it.
type Profile struct {
	ID   uint64
	Name string        // as runtime/pprof has it, or "cpu" or "trace"
	For  time.Duration // for those that take time
	Part []byte        // at most MaxBody; in an answer
	Last bool          // in the last answer
}

// Release gives blocks of the receiver's arena back: the sender will not look at them again. It is not answered.
type Release struct{ Blocks []Block }

// Ping and Pong fill silences: who has sent nothing for 2 s sends a Ping, and who gets one and has nothing to send, a Pong.
type (
	Ping struct{}
	Pong struct{}
)
