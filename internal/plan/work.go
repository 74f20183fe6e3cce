package plan

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Kernel is a worker's instance of a stage: typed inside, untyped at its door. Its methods run user code, in the
// worker's goroutine.
type Kernel interface {
	// Run works on items [Next, To) of w until all are done, one has failed or Yield is set (at least one is done, or
	// has failed, then); afterwards it flushes, if w says so. Next is then the first item not done.
	Run(ctx context.Context, w *Work)
	// Rescue completes w when Run has not returned: what belongs to the item at Next is withdrawn, what was done before
	// it stands. The kernel is not used again.
	Rescue(w *Work)
	// Close ends the worker's state.
	Close() error
}

// Work is one delivery as a kernel sees it. It lives as long as the worker, so that the context given to user code can
// point at it.
type Work struct {
	Place  Place     // immutable
	Base   time.Time // immutable; from which Due counts
	Kernel Kernel    // once it is open

	// The delivery. Set by the worker before each Run.
	In      Chunk  // nil: no items, only a flush
	Number  uint64 // of item 0 of In, among all that the stage was sent
	Next    int    // the item being worked on
	To      int
	First   int     // the item that Attempt and Resume are about: the first one
	Attempt int     // at item First, counted from 1
	Replays int     // how often these items were given to an aggregator before
	Alone   int     // items before it are taken one by one: see Unsure
	Resume  Partial // what of item First has been handed on before; Streaming only
	Flush   Flush
	Slot    *Slot    // where it is noted what the worker is at; nil: nowhere
	Settled *Settled // descendants of items that are dropped where they are made; nil: none
	Ends    bool     // the epoch ends with the flush
	Until   uint64   // a kernel with groups flushes those whose oldest item has a smaller number; any other all it holds
	Tally   *Tally

	// The result.
	Out      Chunk
	Outs     []Chunk    // instead of Out, if the stage is a Fork: by output; nil: nothing for it
	Round    *OpenRound // of a fork whose order is restored
	Err      error      // of item Next, or of the flush; ErrDropped
	Flushing bool       // a flush is under way: Err, or a panic, is not that of an item
	Dropped  int        // items of which nothing came
	Held     int        // latest items that the kernel still holds, if it has no groups
	Gone     []uint64   // numbers of the items that a kernel with groups has let go of: it holds all others that it has done
	Open     Partial    // what of item Next has been handed on; Streaming only
	Unsure   int        // set by Rescue: items [Next, Unsure) were taken together, and any of them may be at fault
	CloseErr error      // of state that was closed during the delivery

	due    atomic.Int64 // see Begin
	asking sync.Mutex
	last   ID // guarded by asking: of the item at which the work was taken away

	// Yield is set by the stage a while after the delivery: give back what is not begun. One load per item is cheaper
	// than looks at the clock.
	Yield atomic.Bool
	// Parts hands on outputs while their input is still worked on. nil unless the stage is Streaming.
	Parts Parts
	// Watch is told of each emit, if there are hooks around items, and of each in a flush; late says that it comes when its
	// call is over. It may panic. nil: nobody watches.
	Watch func(late bool)
}

// A Spoiled is what a kernel panics with that holds an item which has failed, or is to be dropped, all the same. The
// worker is to be replaced, but the item has had its attempt: Err is as in Work.Err.
type Spoiled struct{ Err error }

// A Partial is an item of which outputs have been handed on although it is not done.
type Partial struct {
	Family  *Family // nil: there is none
	Outputs int
}

// All as Work.Until: every group is flushed.
const All = math.MaxUint64

// Flush says what becomes of held items behind a delivery.
type Flush int

// The zero Flush leaves them where they are.
const (
	NoFlush   Flush = iota
	FlushHeld       // they are emitted
	DropHeld        // they are dropped
)

// Parts is the door for the outputs of a Streaming stage.
type Parts interface {
	// Wanted reports whether the stage can take a part at once.
	Wanted() bool
	// Hand gives w.Out away, together with what w says of it, and sets a new one. It blocks until the stage has room,
	// and returns false when nobody wants more.
	// The context is the worker's.
	Hand(ctx context.Context, w *Work) bool
}

// A Place is where a kernel works: what user code may know of it.
type Place struct {
	Graph       *Graph
	Stage       *Stage
	Worker      int
	Incarnation int
}

type workKey struct{}

type workContext struct {
	context.Context
	w *Work
}

func (c *workContext) Value(key any) any {
	if key == (workKey{}) {
		return c.w
	}
	return c.Context.Value(key)
}

// Bind returns a context from which WorkOf finds w: once per worker, at no cost per item.
func Bind(ctx context.Context, w *Work) context.Context { return &workContext{ctx, w} }

// WorkOf returns the work that ctx was bound to, or nil.
func WorkOf(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}
