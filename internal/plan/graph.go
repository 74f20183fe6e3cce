package plan

import (
	"context"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
)

// A Graph is a validated pipeline, stages in topological order. It is immutable.
type Graph struct {
	Name   string
	Stages []*Stage
	Outlet Port         // whose items leave the graph
	Hooks  []Hook       // around its stages, the outermost first
	Codec  codecs.Codec // of items that leave the process

	// Rename returns the name of an item of the sources, where the graph is a part of another one. nil: it keeps its own.
	Rename func(ID) ID
	// Tried returns how often a stage has tried an item before, in processes that are gone. nil: never.
	Tried func(stage int, id ID) int

	HookCount int // all hooks, those around items among them

	// Errors are sentinels that are recognised by their place here when they come from another process, and ErrorTypes
	// types of errors.
	Errors     []error
	ErrorTypes []ErrorType
	ErrorCodec *msgpack.Codec // of errors; nil: nobody has made one
}

// A Hook is user code around each stage of a graph. WorkOf finds the stage in ctx. Either field may be nil.
type Hook struct {
	Enter func(ctx context.Context) error
	// Exit returns what err, the stage's error, has become.
	Exit func(ctx context.Context, err error) error
}

// A Port is one output of one stage.
type Port struct{ Stage, Out int }

// A Stage is one declared stage.
type Stage struct {
	Index      int // in Graph.Stages
	Name, Kind string
	File       string // of the statement that declares it
	Line       int
	In         []Port       // what feeds it; none for a source
	Outs       int          // number of outputs
	Item       reflect.Type // of the outputs

	Mailbox    int  // items worked on at once, at least 1
	Buffer     int  // waiting places besides, or Flow
	MaxRoom    int  // the most of those that follow the flow; 0: LargestRoom
	Ordered    bool // hand on in input order
	Serial     bool // one worker, whose state spans items
	Holds      bool // the kernel holds items back: Work.Held
	Streaming  bool // outputs are handed on while their input is worked on
	MaxOutputs int  // of one input, unless Streaming; negative: no limit
	MaxHeld    int  // items that the kernel may hold back; 0 unless Holds
	Groups     int  // that the kernel may keep open, which may hold any items; 0: it has none, and holds the latest
	Size       int  // of its batches, in what its kind counts; 0: it makes none
	DropLast   bool // what is held at the end of an epoch is dropped
	MaxWait    time.Duration
	Timeout    time.Duration
	Epochs     int // of a source; Forever is -1
	Local      bool
	Policy     Policy
	Retry      Retry
	Restart    Restart

	// Rounds are, for each output, the forks (as in Round) whose rounds are marked there, because a join below restores
	// their order. A stage passes on the marks that it gets of those, and a fork that is Numbered makes its own.
	Rounds [][]int
	// Fork is of a stage of which the kernel names the outputs that something leaves by: Work.Outs. nil for all others.
	Fork *Fork
	// Mix says how a stage with several inputs takes from them. nil for all other stages.
	Mix *Mix

	// Absent says that the stage is elsewhere: see Region.
	Absent bool
	// Far is of a stage that stands for a region. nil for all others.
	Far *Far
	// Intake says that the stage stands for what feeds a region, where that is.
	Intake bool

	// Pool makes the chunks of the outputs. nil if there are none.
	Pool Pool
	// Open makes one worker's kernel. It runs user code. nil for a source and a merge.
	Open func(ctx context.Context) (Kernel, error)
	// Feed makes the source's worker. nil for all other stages.
	Feed func() Feed
	// Content describes what the source was made of, as far as it can be compared with what it is made of in another
	// process. It may take long, and runs user code. nil for all other stages.
	Content func() string
}

// OneByOne reports whether the stage's items are worked on in order, also behind one that has failed: it has one worker.
func (s *Stage) OneByOne() bool { return s.Mailbox == 1 }

// Marks reports whether the rounds of fork are marked at output out.
func (s *Stage) Marks(out, fork int) bool {
	return out < len(s.Rounds) && slices.Contains(s.Rounds[out], fork)
}

// A Fork is what a stage with several outputs has besides.
type Fork struct {
	// Several says that an input may go out by several outputs: its place is given back with the last of them. Otherwise
	// it is with the one that it goes out by.
	Several bool
	// Numbered says that a join restores the order: Work.Round. The stage's own rounds are among its Rounds then.
	Numbered bool
}

// Flow as a Buffer: the waiting room follows the flow. (No number that somebody could mean.)
const Flow = math.MinInt

// Forever as Epochs: without end.
const Forever = -1

// A Policy says how many items of a stage may fail for good before the run does. The zero Policy tolerates none.
type Policy struct {
	Count    int64
	Fraction float64 // of the items finished; 0 if Count rules
	Letters  any     // a stages.LetterSink, which is given each of them; nil: they are dropped
}

// Strict reports whether the first failure is one too many: then it is the run's error itself.
func (p Policy) Strict() bool { return p.Count == 0 && p.Fraction == 0 }

// DefaultProbation is how many items are finished before a fraction of failures is judged, where nothing else is said.
const DefaultProbation = 100

// Tolerates reports whether failed items, of finished ones (those included), are within the policy. A fraction is
// judged once probation items are finished, and when final is set.
func (p Policy) Tolerates(failed, finished, probation int64, final bool) bool {
	if p.Fraction > 0 {
		return !final && finished < probation || float64(failed) <= p.Fraction*float64(finished)
	}
	return failed <= p.Count
}

// Retry says how often and when an item is tried again. Zero fields have defaults: see stages.Retry.
type Retry struct {
	Attempts   int
	First, Max time.Duration
	If         func(error) bool // user code; nil: no errors but those that are marked
}

// Most returns how many attempts at one item there may be.
func (r Retry) Most() int {
	if r.Attempts == 0 {
		return MaxAttempts
	}
	return r.Attempts
}

// Restart says how often and when workers are replaced. Zero fields have defaults: see stages.Restart.
type Restart struct {
	Max                  int
	Within, First, Pause time.Duration
	Together             []int // stages of which the workers are replaced, too
}

// Input is the type of what s works on; nil for a source. All inputs of a merge are of one type.
func (g *Graph) Input(s *Stage) reflect.Type {
	if len(s.In) == 0 {
		return nil
	}
	return g.Stages[s.In[0].Stage].Item
}
