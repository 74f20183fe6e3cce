package supervisor

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
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

// add takes what has come out, and sends what is complete.
func (f *frames) add(c plan.Chunk) {
	all, refused := f.pack(c)
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
	if r := f.t.region; r.Several || r.Parts {
		fate = plan.Filtered // what comes of its outputs is not known here: delivered is only what a sink has got
	}
	f.t.actors.Outlet().DoneBut(c, c.Len(), refused, fate) // ended is called in here
	f.mu.Lock()
	f.busy = false
	f.flush()
	f.mu.Unlock()
	f.t.sendStatsAtTimes()
}

// pack makes outputs of a chunk, and tells which of its items cannot be encoded: they have failed.
func (f *frames) pack(c plan.Chunk) (all []waiting, refused []int) {
	h := c.Head()
	at := h.IDs.From(0)
	n := c.Len()
	outs := make([]wire.FrameOutput, n)
	parts := f.t.region.Parts
	rows := !parts && !f.t.region.Several
	var before plan.Run
	for i := range n {
		run := at.Next()
		o := &outs[i]
		o.Epoch = h.Epoch
		f.t.shared.packer.Leave()
		var err error
		if o.Payload, err = f.t.shared.pack(c, i); err != nil {
			f.refused(run.ID(), err)
			refused = append(refused, i)
			before = plan.Run{}
			continue
		}
		src, plain := run.Plain()
		k := len(all) - 1
		switch {
		case plain && rows && k >= 0 && all[k].row && all[k].first+len(all[k].outs) == i && all[k].follows(src):
			all[k].outs = outs[all[k].first : i+1]
			all[k].roots[0].N++
		case plain && rows:
			src.N = 1
			all = append(all, waiting{outs: outs[i : i+1], first: i, row: true, roots: []plan.Root{src}, epoch: h.Epoch})
		case k >= 0 && all[k].first+len(all[k].outs) == i && run.Sibling(before):
			o.Path, o.Sibling = run.ID().Path, true
			all[k].outs = outs[all[k].first : i+1]
		default:
			o.Path = run.ID().Path
			w := waiting{outs: outs[i : i+1], first: i, epoch: h.Epoch}
			f.made(&w, run)
			all = append(all, w)
		}
		if parts {
			f.join(&all[len(all)-1], run)
		}
		before = run
	}
	return all, refused
}

// refused notes an output that cannot be encoded.
func (f *frames) refused(id plan.ID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, failure{of: actors.EpochOf{Source: id.Source, Epoch: id.Epoch}, at: id.Index, rec: wire.Failure{
		Stage: f.t.region.To, Attempts: 1, Error: stages.EncodeError(f.t.graph, err),
		Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
	}})
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
		if f.t.region.Holds { // what comes before may be held for long
			clear(f.behind)
			f.units = nil
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
	case f.urgent || f.pending >= markEvery || len(f.queue.list) > 0 || f.fed != nil: // places of inputs wait for it
		f.flush()
	default:
		f.later()
	}
}

// fails is told of an item that has failed for good.
func (f *frames) fails(x actors.Fault) {
	w := wire.Failure{
		Stage: x.Stage.Index, Attempts: x.Err.Attempts, Fatal: x.Fatal, Hung: x.Hung, Error: stages.EncodeError(f.t.graph, x.Err.Err),
		Identity: wire.Identity{Source: x.Root.Source, Epoch: x.Root.Epoch, Index: x.Root.Index, Path: x.Root.Path},
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.Letter {
		key := letterKey{x.Err.Stage, x.Err.Item}
		if all := f.payload[key]; len(all) > 0 {
			w.Letter.Bytes = all[0]
			f.payload[key] = all[1:]
			if len(all) == 1 {
				delete(f.payload, key)
			}
		}
		w.Lettered = true
	}
	of := actors.EpochOf{Source: x.Root.Source, Epoch: x.Root.Epoch}
	last := x.Fatal || x.Stage.Policy.Strict()
	f.fatal = f.fatal || last
	f.failed = append(f.failed, failure{of, x.Root.Index, last, w})
	f.urgent = f.urgent || !last
}

// holdBack sees to it that inputs which have failed together are told in their turn: where items keep their order, behind those
// before; and at the end if the region's run fails of them.
func (f *frames) holdBack(failed []plan.End) {
	ordered := f.t.region.Ordered && !f.t.region.Parts
	if f.closed || f.queue.all || !f.fatal && !ordered {
		return
	}
	into := f.behind
	if f.fatal {
		into = f.last
	}
	var u unit
	for _, e := range failed {
		at := actors.EpochOf{Source: e.Source, Epoch: e.Epoch}
		if into[at] == nil {
			into[at] = &plan.Spans{}
		}
		for i := range e.N {
			into[at].Add(e.Index+i*e.Step, e.Index+i*e.Step+1)
		}
		u.at = append(u.at, at)
		u.spans = append(u.spans, e)
	}
	if !f.fatal {
		f.units = append(f.units, u)
	}
}

// A unit is inputs that have failed together.
type unit struct {
	at    []actors.EpochOf
	spans []plan.End
}

// release lets those that have failed be told before which everything is over.
func (f *frames) release() {
	keep := f.units[:0]
	for _, u := range f.units {
		if !f.inTurn(&u) {
			keep = append(keep, u)
			continue
		}
		for k, e := range u.spans {
			for i := range e.N {
				f.behind[u.at[k]].Remove(e.Index+i*e.Step, e.Index+i*e.Step+1)
			}
			if s := f.behind[u.at[k]]; len(s.All()) == 0 {
				delete(f.behind, u.at[k])
			}
		}
	}
	clear(f.units[len(keep):])
	f.units = keep
}

func (f *frames) inTurn(u *unit) bool {
	for k, e := range u.spans {
		if f.fed != nil {
			if !f.first(e.Index) {
				return false
			}
			continue
		}
		for at, p := range f.epochs {
			first := p.over.First()
			switch {
			case at.Source != e.Source:
			case at.Epoch < e.Epoch && first < p.upto, at == u.at[k] && first < e.Index+(e.N-1)*e.Step:
				return false
			}
		}
	}
	return true
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
	if f.sent < f.allowed || f.queue.all {
		if len(f.units) > 0 {
			f.release()
		}
		more = f.take(m)
	}
	m.Done = f.takeOver()
	m.Failed = f.takeFailed(m.Done)
	if len(m.Outputs) == 0 && len(m.Epochs) == 0 && len(m.Done) == 0 && len(m.Failed) == 0 && len(f.yielded) == 0 {
		return false
	}
	m.Yielded = f.takeYielded()
	f.pending = 0
	f.urgent = false
	f.seq++
	if len(m.Outputs) > 0 {
		f.sent++
	}
	f.t.peer.Send(m)
	return more
}

// take moves what is complete from the queue to a frame, and reports whether the frame is full.
func (f *frames) take(m *wire.Frame) (full bool) {
	n := f.together()
	bytes := 0
	for n > 0 && len(f.queue.list) > 0 && bytes < maxFrame {
		w := f.queue.front()
		if w.ends {
			if !f.queue.all && !f.epochIsOver(w.epoch) {
				return false
			}
			m.Epochs = append(m.Epochs, wire.EpochEnd{Epoch: w.epoch, After: len(m.Outputs)})
			f.queue.pop()
			n--
			continue
		}
		k := f.complete(w)
		if k == 0 {
			return false
		}
		fit := w.fit(maxFrame - bytes)
		k = min(k, fit)
		set, ok := f.queue.closure(f)
		if !ok {
			return false
		}
		for _, w := range set {
			bytes += f.send1(m, w, k)
		}
		if k < len(w.outs) {
			f.queue.cut(k)
			return k == fit
		}
		f.queue.popFront()
		n--
	}
	return n > 0 && len(f.queue.list) > 0
}

// send1 adds the first k outputs of w to a frame, or all of them if they belong together, and returns their bytes.
func (f *frames) send1(m *wire.Frame, w *waiting, k int) (bytes int) {
	if !w.row {
		k = len(w.outs)
		w.outs[0].Members = w.members()
	} else {
		r := w.roots[0]
		slab := make([]wire.Member, k)
		for i := range slab {
			slab[i] = wire.Member{Source: r.Source, Epoch: r.Epoch, Index: r.Index + int64(i)*r.Step, N: 1}
			w.outs[i].Members = slab[i : i+1 : i+1]
		}
	}
	for i := range w.outs[:k] {
		bytes += len(w.outs[i].Payload.Bytes)
	}
	m.Outputs = append(m.Outputs, w.outs[:k]...)
	return bytes
}

// epochIsOver reports whether nothing of an epoch is alive, not even on the way to a sink: those behind do not wait for it.
func (f *frames) epochIsOver(epoch int) bool {
	if !f.t.region.Epochs || f.fed != nil {
		return true
	}
	for at, p := range f.epochs {
		if at.Epoch == epoch && p.over.First() < p.upto {
			return false
		}
	}
	for at := range f.epochs {
		if at.Epoch <= epoch {
			delete(f.epochs, at)
		}
	}
	return true
}

// made notes what an output was made of.
func (f *frames) made(w *waiting, r plan.Run) {
	if !f.t.region.Parts {
		w.roots = r.Roots(nil)
		return
	}
	w.leaves = r.Leaves(nil)
	for _, l := range w.leaves {
		n := l.N
		if l.Path != "" {
			n = 1
		}
		w.roots = append(w.roots, plan.Root{Source: l.Source, Epoch: l.Epoch, Index: l.Index, N: n, Step: 1})
	}
}

// join has an output wait for those that were made together with it.
func (f *frames) join(w *waiting, r plan.Run) {
	key, n := r.Together()
	if key == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.groups[key] == nil {
		f.groups[key] = &siblings{left: n}
	}
	w.group = f.groups[key]
	if w.group.left--; w.group.left == 0 {
		delete(f.groups, key)
	}
}

// takeFailed returns the failures of inputs that are done: all that is told of an input is told at once.
func (f *frames) takeFailed(done []wire.Span) (all []wire.Failure) {
	if len(f.failed) == 0 {
		return nil
	}
	keep := f.failed[:0]
	for _, x := range f.failed {
		if x.rec.Identity.Path != "" && f.t.region.Parts && (!x.last || f.queue.all) || isDone(done, &x) {
			all = append(all, x.rec)
		} else {
			keep = append(keep, x)
		}
	}
	f.failed = keep
	return all
}

func (f *frames) takeYielded() (all []wire.Position) {
	for at, n := range f.yielded {
		all = append(all, wire.Position{Source: at.Source, Epoch: at.Epoch, Index: n})
	}
	clear(f.yielded)
	slices.SortFunc(all, func(a, b wire.Position) int { return cmp.Or(a.Source-b.Source, a.Epoch-b.Epoch) })
	return all
}

// isDone reports whether the input of a failure is among those that are done, which ascend.
func isDone(done []wire.Span, x *failure) bool {
	i, found := slices.BinarySearchFunc(done, x, func(s wire.Span, x *failure) int {
		switch c := cmp.Or(s.Source-x.of.Source, s.Epoch-x.of.Epoch); {
		case c != 0:
			return c
		case s.To <= x.at:
			return -1
		case s.From > x.at:
			return 1
		}
		return 0
	})
	return found && i < len(done)
}
