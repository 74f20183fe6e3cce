package supervisor

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"

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
	seq     uint64                      // guarded by mu: of the next frame
	sent    uint64                      // guarded by mu: frames with outputs
	allowed uint64                      // guarded by mu
	over    map[actors.EpochOf]*overSet // guarded by mu: inputs of which nothing is alive, and of which nothing was told
	yielded map[actors.EpochOf]int64    // guarded by mu: how far the sources are, where that was not told
	failed  []failure                   // guarded by mu: that were not told
	groups  map[any]*siblings           // guarded by mu: of outputs that wait for others that were made with them
	queue   []waitingOutput             // guarded by mu: outputs in order, and ends of epochs
	pending int                         // guarded by mu: inputs over since the last frame
	busy    bool                        // guarded by mu: the sender is about to send a frame
	payload map[letterKey][]byte        // guarded by mu: items of dead letters
}

// An overSet is inputs that are over, by what has become of them.
type overSet [4]plan.Spans

func (o *overSet) has(i int64) bool {
	for f := range o {
		if o[f].Has(i) {
			return true
		}
	}
	return false
}

// A failure is one of an input.
type failure struct {
	of  actors.EpochOf
	at  int64
	rec wire.Failure
}

// A waitingOutput is an output, or the end of an epoch behind those before.
type waitingOutput struct {
	out    wire.FrameOutput
	roots  []plan.Root
	leaves []plan.Leaf // in a region in which inputs leave by parts
	group  *siblings   // nil: it stands alone
	ends   bool
	epoch  int
}

// Siblings are outputs that an aggregate has made together.
type siblings struct {
	left int // that have not come out
	last int // place in the queue of the last one that has
}

// markEvery is how many inputs may be over before that is told although nothing comes out.
const markEvery = 256

func newFrames(t *tenancy) *frames {
	return &frames{
		t: t, limit: make(chan struct{}, 1), seq: t.open.Next, over: map[actors.EpochOf]*overSet{}, yielded: map[actors.EpochOf]int64{},
		payload: map[letterKey][]byte{}, groups: map[any]*siblings{},
	}
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
			f.mu.Lock()
			f.flush(true)
			f.mu.Unlock()
			return nil
		}
		if err != nil {
			return err
		}
		f.add(c)
	}
	return ctx.Err()
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
	h := c.Head()
	at := h.IDs.From(0)
	n := c.Len()
	var before plan.Run
	var all []waitingOutput
	for i := range n {
		run := at.Next()
		id := run.ID()
		f.t.shared.packer.Leave()
		p, err := f.t.shared.pack(c, i)
		w := waitingOutput{out: wire.FrameOutput{Epoch: h.Epoch, Path: id.Path}, epoch: h.Epoch}
		if i > 0 && run.Sibling(before) {
			w.out.Sibling = true
		} else {
			f.made(&w, run)
		}
		if f.t.region.Parts {
			f.join(&w, run)
		}
		before = run
		if err != nil {
			f.mu.Lock()
			f.failed = append(f.failed, failure{actors.EpochOf{Source: id.Source, Epoch: id.Epoch}, id.Index, wire.Failure{
				Stage: f.t.region.To, Attempts: 1, Error: stages.EncodeError(f.t.graph, err),
				Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
			}})
			f.mu.Unlock()
			continue
		}
		w.out.Payload = p
		all = append(all, w)
	}
	if h.Last {
		all = append(all, waitingOutput{ends: true, epoch: h.Epoch})
	}
	f.mu.Lock()
	f.queue = append(f.queue, all...)
	f.busy = true
	f.mu.Unlock()
	f.t.actors.Outlet().Done(c, n) // ended is called in here
	f.mu.Lock()
	f.busy = false
	f.flush(true)
	f.mu.Unlock()
	f.t.sendStatsAtTimes()
}

// yields is told how far a source is.
func (f *frames) yields(source int, at actors.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.yielded[actors.EpochOf{Source: source, Epoch: at.Epoch}] = at.Index
}

// ended is told of inputs of which nothing is alive any more.
func (f *frames) ended(ends []plan.End) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range ends {
		at := actors.EpochOf{Source: e.Source, Epoch: e.Epoch}
		if f.over[at] == nil {
			f.over[at] = &overSet{}
		}
		set := &f.over[at][e.Fate&3]
		if e.Step == 1 {
			set.Add(e.Index, e.Index+e.N)
		} else {
			for i := range e.N {
				set.Add(e.Index+i*e.Step, e.Index+i*e.Step+1)
			}
		}
		f.pending += int(e.N)
	}
	if !f.busy && (len(f.failed) > 0 || f.pending >= markEvery) {
		f.flush(false)
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
		w.Lettered, w.Letter = true, wire.Payload{Bytes: f.payload[key]}
		delete(f.payload, key)
	}
	f.failed = append(f.failed, failure{actors.EpochOf{Source: x.Root.Source, Epoch: x.Root.Epoch}, x.Root.Index, w})
}

// flush sends a frame of what is complete, if there is anything; outputs only if with says so. It is called with mu held, so that
// frames leave in order.
func (f *frames) flush(with bool) {
	m := &wire.Frame{Seq: f.seq}
	n := f.sendable(with)
	for i := range n {
		w := &f.queue[i]
		if w.ends {
			m.Epochs = append(m.Epochs, wire.EpochEnd{Epoch: w.epoch, After: len(m.Outputs)})
			continue
		}
		w.out.Members = w.members()
		m.Outputs = append(m.Outputs, w.out)
	}
	f.queue = slices.Delete(f.queue, 0, n)
	m.Done = f.takeOver()
	m.Failed = f.takeFailed(m.Done)
	if len(m.Outputs) == 0 && len(m.Epochs) == 0 && len(m.Done) == 0 && len(m.Failed) == 0 && (!with || len(f.yielded) == 0) {
		return
	}
	m.Yielded = f.takeYielded()
	f.pending = 0
	f.seq++
	if len(m.Outputs) > 0 {
		f.sent++
	}
	f.t.peer.Send(m)
}

// made notes what an output was made of.
func (f *frames) made(w *waitingOutput, r plan.Run) {
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
func (f *frames) join(w *waitingOutput, r plan.Run) {
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

// sendable returns how many of the queue can be sent: in order, and those that were made together in one frame.
func (f *frames) sendable(with bool) int {
	n := 0
	for ; with && n < len(f.queue) && f.complete(&f.queue[n]); n++ {
		if g := f.queue[n].group; g != nil {
			g.last = n
		}
	}
	for i := n; i < len(f.queue); i++ {
		if g := f.queue[i].group; g != nil {
			g.last = i
		}
	}
	for i := 0; i < n; i++ {
		if g := f.queue[i].group; g != nil && g.last >= n {
			n, i = i, -1 // it waits, and with it what comes behind it
		}
	}
	return n
}

// members says what an output was made of.
func (w *waitingOutput) members() (all []wire.Member) {
	if w.leaves == nil {
		return members(w.roots)
	}
	for _, l := range w.leaves {
		all = append(all, wire.Member{Source: l.Source, Epoch: l.Epoch, Index: l.Index, N: l.N, Path: l.Path})
	}
	return all
}

// complete reports whether everything that an output was made of is over. Siblings go with the first of them.
func (f *frames) complete(w *waitingOutput) bool {
	if f.t.region.Parts {
		return w.group == nil || w.group.left == 0
	}
	for _, r := range w.roots {
		set := f.over[actors.EpochOf{Source: r.Source, Epoch: r.Epoch}]
		for i := range r.N {
			if set == nil || !set.has(r.Index+i*r.Step) {
				return false
			}
		}
	}
	return true
}

// takeOver returns what is done: what is over, and of which no output waits.
func (f *frames) takeOver() (all []wire.Span) {
	var wait map[actors.EpochOf]*plan.Spans
	for _, w := range f.queue {
		for _, r := range w.roots {
			at := actors.EpochOf{Source: r.Source, Epoch: r.Epoch}
			if wait == nil {
				wait = map[actors.EpochOf]*plan.Spans{}
			}
			if wait[at] == nil {
				wait[at] = &plan.Spans{}
			}
			for i := range r.N {
				wait[at].Add(r.Index+i*r.Step, r.Index+i*r.Step+1)
			}
		}
	}
	for at, set := range f.over {
		keep := &overSet{}
		left := false
		for fate := range set {
			for _, s := range set[fate].All() {
				for from := s.From; from < s.To; {
					to, held := s.To, false
					if wait[at] != nil {
						held = wait[at].Has(from)
						for to = from + 1; to < s.To && wait[at].Has(to) == held; to++ {
						}
					}
					if held {
						keep[fate].Add(from, to)
						left = true
					} else {
						all = append(all, wire.Span{Source: at.Source, Epoch: at.Epoch, From: from, To: to, Fate: uint8(fate)})
					}
					from = to
				}
			}
		}
		if delete(f.over, at); left {
			f.over[at] = keep
		}
	}
	slices.SortFunc(all, func(a, b wire.Span) int {
		return cmp.Or(a.Source-b.Source, a.Epoch-b.Epoch, cmp.Compare(a.From, b.From))
	})
	return all
}

// takeFailed returns the failures of inputs that are done: all that is told of an input is told at once.
func (f *frames) takeFailed(done []wire.Span) (all []wire.Failure) {
	keep := f.failed[:0]
	for _, x := range f.failed {
		if x.rec.Identity.Path != "" && f.t.region.Parts || slices.ContainsFunc(done, func(s wire.Span) bool {
			return s.Source == x.of.Source && s.Epoch == x.of.Epoch && x.at >= s.From && x.at < s.To
		}) {
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

// members says what an output was made of.
func members(roots []plan.Root) (all []wire.Member) {
	for _, r := range roots {
		for i := range r.N {
			at := r.Index + i*r.Step
			n := len(all)
			if n > 0 {
				l := &all[n-1]
				if l.Source == r.Source && l.Epoch == r.Epoch {
					switch {
					case l.Index+l.N == at:
						l.N++
						continue
					case at >= l.Index && at < l.Index+l.N:
						continue // siblings of one input
					}
				}
			}
			all = append(all, wire.Member{Source: r.Source, Epoch: r.Epoch, Index: at, N: 1})
		}
	}
	return all
}
