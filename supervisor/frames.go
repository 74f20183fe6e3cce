package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A frames sends what comes out of a stream region. An output leaves with all else that came of its leaves (framequeue.go), and what is
// done is a set of inputs, which the next node need not yield again.
type frames struct {
	t     *tenancy
	limit chan struct{} // told when more frames may be sent

	mu      sync.Mutex
	seq     uint64                         // guarded by mu: of the next frame
	sent    uint64                         // guarded by mu: frames with outputs
	allowed uint64                         // guarded by mu
	over    map[actors.EpochOf]*overSet    // guarded by mu: inputs of which nothing is alive, and of which nothing was told
	yielded map[actors.EpochOf]int64       // guarded by mu: how far the sources are, where that was not told
	epochs  map[actors.EpochOf]*progress   // guarded by mu: of epochs that have not been told to be over
	failed  []failure                      // guarded by mu: that were not told
	last    map[actors.EpochOf]*plan.Spans // guarded by mu: inputs that have failed the region's run: they are told last
	behind  map[actors.EpochOf]*plan.Spans // guarded by mu: inputs that have failed, and are told behind those before
	units   []unit                         // guarded by mu: the same inputs, as they have ended together
	fatal   bool                           // guarded by mu: the region's run has failed of an item
	queue   frameQueue                     // guarded by mu: outputs in order, what has failed, and ends of epochs
	atLast  []waiting                      // guarded by mu: what the region's run has failed of
	pending int                            // guarded by mu: inputs over since the last frame
	urgent  bool                           // guarded by mu: a failure is to be told
	busy    bool                           // guarded by mu: the sender is about to send a frame
	closed  bool                           // guarded by mu: everything has been sent
	timer   *time.Timer                    // guarded by mu: tells what is done if nothing comes out; nil: it does not run
	payload map[letterKey][][]byte         // guarded by mu: items of dead letters
	members []wire.Member                  // guarded by mu: memory for a frame
	outs    []wire.FrameOutput             // memory for a chunk; the sender's
	fed     map[uint64]*fedItem            // guarded by mu: inputs that are alive, by id, if the coordinator feeds the region
	low     uint64                         // guarded by mu: of those, none is lower
	epoch   int                            // guarded by mu: that its next input is of
	next    uint64                         // the least id that its next input may have; of the goroutine that hears
}

// An overSet is inputs that are over, by what has become of them.
type overSet [4]plan.Spans

// A progress is how far a source is in an epoch, and what of that is over.
type progress struct {
	upto int64
	over plan.Spans
}

// A failure is one of an input.
type failure struct {
	of   actors.EpochOf
	at   int64
	last bool // the region's run fails of it
	turn bool // it is told behind what comes before it
	rec  wire.Failure
}

const (
	// markEvery is how many inputs may be over before that is told although nothing comes out.
	markEvery = 256
	// markAfter is how long it may take until it is told of fewer.
	markAfter = 10 * time.Millisecond
	// maxFrame is the most bytes of outputs in a frame that could be divided.
	maxFrame = 8 << 20
)

func newFrames(t *tenancy) *frames {
	f := &frames{
		t: t, limit: make(chan struct{}, 1), seq: t.open.Next, over: map[actors.EpochOf]*overSet{}, yielded: map[actors.EpochOf]int64{},
		epochs: map[actors.EpochOf]*progress{}, payload: map[letterKey][][]byte{}, last: map[actors.EpochOf]*plan.Spans{},
		behind: map[actors.EpochOf]*plan.Spans{}, epoch: t.open.Epochs,
	}
	f.queue.init()
	return f
}

// config is what a stream region wants to be told of.
func (f *frames) config(c *actors.Config) {
	c.OnEnds, c.OnFailed, c.OnYielded, c.Resume, c.FailsHere = f.ended, f.fails, f.yields, f.resume(), true
	c.Letters = lettersOf(f.t, frameKeeper{f})
}

// resume is where the region's sources go on.
func (f *frames) resume() *actors.Resume {
	o := f.t.open
	r := &actors.Resume{Epochs: o.Epochs, Done: map[actors.EpochOf]*plan.Spans{}, Stop: map[int]actors.Position{}}
	for _, s := range o.Done {
		at := actors.EpochOf{Source: s.Source, Epoch: s.Epoch}
		if r.Done[at] == nil {
			r.Done[at] = &plan.Spans{}
		}
		r.Done[at].Add(s.From, s.To)
		f.progress(at).over.Add(s.From, s.To)
	}
	for _, m := range o.Partial {
		r.Settled.Add(m.Source, m.Epoch, m.Index, m.Path, m.N)
	}
	for _, p := range o.Stop {
		r.Stop[p.Source] = actors.Position{Epoch: p.Epoch, Index: p.Index}
	}
	return r
}

// hear handles what the coordinator says to a stream region.
func (f *frames) hear(m wire.Message) {
	switch m := m.(type) {
	case *wire.Limit:
		f.mu.Lock()
		f.allowed = max(f.allowed, m.Frames)
		if !f.busy && !f.closed && len(f.queue.list) > 0 {
			f.flush()
		}
		f.mu.Unlock()
		select {
		case f.limit <- struct{}{}:
		default:
		}
	case *wire.Drain:
		f.t.actors.Drain()
	case *wire.Skip:
		f.t.actors.SkipEpoch(m.Epoch)
	}
}

// send sends what comes out of the region until there is nothing any more.
func (f *frames) send(ctx context.Context) error {
	for f.mayGo(ctx) {
		c, err := f.t.actors.Outlet().Next(ctx)
		if err == io.EOF {
			f.finish()
			return nil
		}
		if err != nil {
			return err
		}
		f.add(c)
	}
	return ctx.Err()
}

// finish sends what is left when nothing comes out any more.
func (f *frames) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.last)
	clear(f.behind)
	f.units = nil
	for _, w := range f.atLast {
		f.queue.push(w)
	}
	f.atLast = nil
	f.queue.all = true
	f.flush()
}

// close sends what has been told behind the last output, when nothing is told any more.
func (f *frames) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
	f.tellRest()
	f.closed = true
	if f.timer != nil {
		f.timer.Stop()
	}
}

// mayGo waits until a frame with outputs may be sent, and reports whether one ever may.
func (f *frames) mayGo(ctx context.Context) bool {
	for {
		f.mu.Lock()
		ok := f.sent < f.allowed
		f.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-f.limit:
		case <-ctx.Done():
			return false
		}
	}
}

// add takes what has come out, and sends what is complete.
func (f *frames) add(c plan.Chunk) {
	var all []waiting
	var refused []int
	f.t.actors.Apart(func() { all, refused = f.pack(c) })
	h := c.Head()
	f.mu.Lock()
	for i := range all {
		f.queue.push(all[i])
	}
	if h.Last {
		f.queue.push(waiting{ends: true, epoch: h.Epoch})
	}
	f.busy = true
	f.mu.Unlock()
	fate := plan.Delivered
	if f.t.region.Parts {
		fate = plan.Filtered // what comes of its outputs is not known here: delivered is only what a sink has got
	}
	f.t.actors.Outlet().DoneBut(c, c.Len(), refused, fate) // ended is called in here
	f.mu.Lock()
	f.busy = false
	f.flush()
	f.mu.Unlock()
	f.t.sendStatsAtTimes()
}

func (f *frames) progress(at actors.EpochOf) *progress {
	p := f.epochs[at]
	if p == nil {
		p = &progress{}
		f.epochs[at] = p
	}
	return p
}

// yields is told how far a source is.
func (f *frames) yields(source int, at actors.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := actors.EpochOf{Source: source, Epoch: at.Epoch}
	f.yielded[of] = at.Index
	f.progress(of).upto = at.Index
	f.later()
}

// later sees to it that what is done is told before long.
func (f *frames) later() {
	if f.timer != nil || f.closed {
		return
	}
	f.timer = time.AfterFunc(markAfter, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.timer = nil
		if f.busy || f.closed {
			return
		}
		if f.t.region.Holds || f.fed != nil { // what comes before may be held for long
			f.unorder()
		}
		f.flush()
	})
}

// ended is told of inputs of which nothing is alive any more.
func (f *frames) ended(ends []plan.End) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed []plan.End
	for _, e := range ends {
		if e.Of != nil {
			if g := f.queue.groups[e.Of]; g != nil {
				g.over = true
			}
			continue
		}
		if e.Fate&plan.Failed != 0 {
			failed = append(failed, e)
		}
		at := actors.EpochOf{Source: e.Source, Epoch: e.Epoch}
		if f.over[at] == nil {
			f.over[at] = &overSet{}
		}
		set, p := &f.over[at][e.Fate&3], f.progress(at)
		if e.Step == 1 {
			set.Add(e.Index, e.Index+e.N)
			p.over.Add(e.Index, e.Index+e.N)
		} else {
			for i := range e.N {
				set.Add(e.Index+i*e.Step, e.Index+i*e.Step+1)
				p.over.Add(e.Index+i*e.Step, e.Index+i*e.Step+1)
			}
		}
		f.pending += int(e.N)
		f.leave(e)
	}
	if failed != nil {
		f.holdBack(failed)
	}
	switch {
	case f.busy:
	case f.urgent || f.fed != nil || // their places wait for it
		f.pending >= markEvery || len(f.queue.list) > 0:
		f.flush()
		if len(f.units) > 0 || len(f.queue.list) > 0 {
			f.later()
		}
	default:
		f.later()
	}
}

// flush sends what is complete, if there is anything; outputs only as far as they may be sent. It is called with mu held, so that
// frames leave in order.
func (f *frames) flush() {
	for f.sendFrame() {
	}
}

// sendFrame sends one frame, and reports whether there may be more to send.
func (f *frames) sendFrame() (more bool) {
	m := &wire.Frame{Seq: f.seq}
	f.members = f.members[:0]
	if f.sent < f.allowed || f.queue.all {
		if len(f.units) > 0 {
			f.release()
		}
		more = f.fill(m)
	}
	m.Done = f.takeOver()
	m.Failed = append(m.Failed, f.takeFailed(m.Done)...)
	if len(m.Outputs) == 0 && len(m.Epochs) == 0 && len(m.Done) == 0 && len(m.Failed) == 0 && len(f.yielded) == 0 {
		return false
	}
	m.Yielded = f.takeYielded()
	m.Finished = f.t.finished()
	f.pending = 0
	f.urgent = false
	f.seq++
	if len(m.Outputs) > 0 {
		f.sent++
	}
	if err := f.t.peer.Send(m); tooLarge(m, err) {
		// Another node would make the same again.
		f.t.peer.Send(&wire.Abort{Error: stages.EncodeError(f.t.graph, fmt.Errorf(
			"stage %q: %w for a message: outputs that must leave together are more than %d bytes, or of more than %d items",
			f.t.graph.Stages[f.t.region.To].Name, codecs.ErrTooLarge, wire.MaxMessage, wire.MaxElements))})
		return false
	}
	return more
}

// tooLarge reports whether a frame cannot be sent, or would be refused, because of its size.
func tooLarge(m *wire.Frame, err error) bool {
	if _, large := errors.AsType[*link.TooLargeError](err); large {
		return true
	}
	elements := len(m.Outputs) + len(m.Done) + len(m.Failed)
	for i := range m.Outputs {
		elements += len(m.Outputs[i].Members)
	}
	return elements > wire.MaxElements
}

func (f *frames) takeYielded() (all []wire.Position) {
	for at, n := range f.yielded {
		all = append(all, wire.Position{Source: at.Source, Epoch: at.Epoch, Index: n})
	}
	clear(f.yielded)
	slices.SortFunc(all, func(a, b wire.Position) int { return cmp.Or(a.Source-b.Source, a.Epoch-b.Epoch) })
	return all
}
