package supervisor

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// A frames sends what comes out of a region with sources of its own. An output leaves when nothing of what it was made of is
// alive any more: so everything that came of an input leaves in one frame, and what is done is a set of inputs, which the next
// node need not yield again.
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
	groups  map[any]*siblings              // guarded by mu: of outputs that wait for others that were made with them
	queue   frameQueue                     // guarded by mu: outputs in order, and ends of epochs
	fed     map[uint64]*fedItem            // guarded by mu: inputs that are alive, by id, if the coordinator feeds the region
	epoch   int                            // guarded by mu: that its next input is of
	pending int                            // guarded by mu: inputs over since the last frame
	urgent  bool                           // guarded by mu: a failure is to be told
	busy    bool                           // guarded by mu: the sender is about to send a frame
	closed  bool                           // guarded by mu: everything has been sent
	timer   *time.Timer                    // guarded by mu: tells what is done if nothing comes out; nil: it does not run
	payload map[letterKey][][]byte         // guarded by mu: items of dead letters
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
		epochs: map[actors.EpochOf]*progress{}, payload: map[letterKey][][]byte{}, groups: map[any]*siblings{}, last: map[actors.EpochOf]*plan.Spans{},
		behind: map[actors.EpochOf]*plan.Spans{}, epoch: t.open.Epochs,
	}
	f.queue.init(t.region.Several && !t.region.Parts, t.region.Turns)
	return f
}

// config is what a region with sources wants to be told of.
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

// hear handles what the coordinator says to a region with sources.
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
	f.queue.all = true
	f.flush()
}

// close sends what has been told behind the last output, when nothing is told any more.
func (f *frames) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
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
