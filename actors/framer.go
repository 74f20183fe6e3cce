package actors

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// A framer is the worker of a streamer: it has the session, and decodes what comes, which is user code. What it has decoded is
// accepted: it knows where the next session goes on.
type framer struct {
	s    *streamer // only what never changes
	box  *mailbox
	self *actor.PID
	up   *actor.PID

	session Session
	life    int
	ready   bool
	shut    bool
	tally   plan.Tally

	next     uint64                   // frame
	epochs   int                      // ends that have come
	done     map[EpochOf]*plan.Spans  // what is done, of the epochs that are not over
	fed      *fed                     // of a region that is fed from here; nil: it has its own sources
	partial  plan.Settled             // of inputs that are not done: what has been accepted
	live     map[inputOf]*plan.Family // the same inputs
	yielded  map[EpochOf]int64
	stop     map[int]Position // where the sources end, when they are drained
	draining bool
	suspects suspects
	counted  counted
	skipped  int    // the last epoch that is to be skipped; -1: none
	taken    uint64 // frames with outputs of this session
	waiting  uint64 // frames with outputs that have not left, of any session
	sent     uint64 // what the last Limit said
}

// A framed is a frame that was accepted.
type framed struct {
	quiet
	steps    []step
	outputs  bool
	faults   []*fault       // that have no place in the steps yet
	failed   plan.IDs       // items of the sources that have failed, and of which nothing has come
	partly   []*plan.Family // of those of which something has
	finished int64          // items of the sources that have not failed, but for those that the steps count
	abort    error          // why the run fails behind it
}

// A step is a part of a frame's outputs, or a failure that lies between two of them.
type step struct {
	part     plan.Chunk
	finished int64 // items of the sources
	fault    *fault
}

func (*framed) control() {}

func (f *framed) free() {
	for _, s := range f.steps {
		if s.part != nil {
			s.part.Free()
		}
	}
}

// settleFailed says in the account what has failed.
func (f *framed) settleFailed(r *Run) {
	if f.failed.Len() == 0 && len(f.partly) == 0 {
		return
	}
	var t plan.Tally
	t.Settle(&f.failed, 0, f.failed.Len(), plan.Failed)
	for _, p := range f.partly {
		p.Settle(&t, plan.Failed)
	}
	f.failed.Reset()
	f.partly = nil
	r.settle(&t)
}

func newFramer(s *streamer, box *mailbox) *framer {
	a := &framer{s: s, box: box, skipped: -1, counted: newCounted(s.run, s.spec.Far.Region),
		done: map[EpochOf]*plan.Spans{}, yielded: map[EpochOf]int64{}, live: map[inputOf]*plan.Family{}}
	if s.in != nil {
		a.fed = &fed{}
	}
	return a
}

func (a *framer) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *told:
		if m.life == a.life && !a.shut {
			a.hear(m.what)
		}
	case *openCopy:
		a.open(m.life)
	case *fedInput:
		if a.shut {
			m.chunk.Free()
			return
		}
		a.take(m.chunk)
	case *fedEnd:
		if a.fed.ended = true; a.ready {
			a.session.Send(&wire.End{Last: a.fed.count})
		}
	case *frameGone:
		a.waiting--
		a.limit()
	case *drain:
		a.drain()
	case *skip:
		if a.skipped = max(a.skipped, m.epoch); a.ready {
			a.session.Send(&wire.Skip{Epoch: m.epoch})
		}
	case *endCopy:
		a.shut = true
		a.leave()
	case *actor.Started:
		a.self, a.up = c.Self(), c.Parent()
	case *actor.Stopping:
		a.shut = true
		a.leave()
	case *actor.Stopped:
		a.box.close()
	}
}

func (a *framer) tell(m any) { a.s.run.send(a.up, m) }

// open begins a session where the one before has left off.
func (a *framer) open(life int) {
	if a.shut {
		return
	}
	a.life = life
	run, self := a.s.run, a.self
	a.counted.renew()
	o := wire.Open{Incarnation: life, Window: framesAhead, Next: a.next, Epochs: a.epochs}
	for at, d := range a.done {
		for _, s := range d.All() {
			o.Done = append(o.Done, wire.Span{Source: at.Source, Epoch: at.Epoch, From: s.From, To: s.To})
		}
	}
	slices.SortFunc(o.Done, func(a, b wire.Span) int {
		return cmp.Or(a.Source-b.Source, a.Epoch-b.Epoch, cmp.Compare(a.From, b.From))
	})
	a.partial.Each(func(item plan.ID, path string, n int64) {
		o.Partial = append(o.Partial, wire.Member{Source: item.Source, Epoch: item.Epoch, Index: item.Index, N: n, Path: path})
	})
	if a.draining && a.stop == nil && life > 1 {
		a.stop = a.furthest()
	}
	for source, at := range a.stop {
		o.Stop = append(o.Stop, wire.Position{Source: source, Epoch: at.Epoch, Index: at.Index})
	}
	slices.SortFunc(o.Stop, func(a, b wire.Position) int { return a.Source - b.Source })
	o.Suspects = a.suspected()
	a.session = run.cfg.Nodes.Start(a.s.spec.Far.Region, 0, o, func(what any) { run.send(self, &told{life: life, what: what}) })
}

// drain has the sources end: behind what they have yielded. A node that is not the first does not know what that was, so another
// one begins that does.
func (a *framer) drain() {
	switch {
	case a.draining:
		return
	case a.life > 1 && a.stop == nil && a.fed == nil:
		a.leave()
		a.tell(&retry{})
	case a.ready:
		a.session.Send(&wire.Drain{})
	}
	a.draining = true
}

// furthest is how far the sources are known to have come.
func (a *framer) furthest() map[int]Position {
	all := map[int]Position{}
	for _, i := range a.s.spec.Far.Region.Stages {
		if a.s.run.spec(i).Feed != nil {
			all[i] = Position{Epoch: a.epochs} // one of which nothing is known yields nothing
		}
	}
	for at, n := range a.yielded {
		if p := all[at.Source]; at.Epoch >= p.Epoch {
			all[at.Source] = Position{at.Epoch, n}
		}
	}
	return all
}

func (a *framer) leave() {
	if a.session != nil {
		a.session.Stop()
		a.session, a.ready, a.life = nil, false, 0
	}
}

func (a *framer) hear(what any) {
	switch m := what.(type) {
	case *wire.Ready:
		a.ready, a.sent, a.taken = true, 0, 0
		a.tell(&copyReady{})
		if a.draining && a.stop == nil {
			a.session.Send(&wire.Drain{})
		}
		if a.skipped >= 0 {
			a.session.Send(&wire.Skip{Epoch: a.skipped})
		}
		a.limit()
		if a.fed != nil {
			a.sendAll()
		}
	case *wire.Frame:
		if err := a.accept(m); err != nil {
			a.hear(&Lost{Err: err})
		}
	case *Counted:
		a.counted.told = m.Finished
	case *wire.End:
		a.leave()
		a.tell(&copyEnded{finished: a.counted.rest()})
	case *wire.Abort:
		a.shut = true
		a.leave()
		a.tell(&framed{abort: a.s.run.nodeError(m.Error)})
	case *Lost:
		a.suspect(m)
		a.leave()
		a.tell(&copyLost{why: m, finished: a.counted.rest()})
	}
}

// limit lets the node send more frames, counted from the beginning of the session.
func (a *framer) limit() {
	n := a.taken + framesAhead
	if n -= min(n, a.waiting); a.ready && n > a.sent && (n-a.sent)*2 >= framesAhead {
		a.sent = n
		a.session.Send(&wire.Limit{Frames: n})
	}
}

// accept takes a frame into the run: from here on nothing of it is asked for again.
func (a *framer) accept(m *wire.Frame) error {
	if m.Seq != a.next {
		return fmt.Errorf("the node has sent frame %d, not %d", m.Seq, a.next)
	}
	err := a.check(m)
	if err == nil {
		err = a.whole(m)
	}
	if err == nil && a.fed != nil {
		err = a.fed.check(m)
	}
	if err != nil {
		return err
	}
	a.next++
	a.counted.told = m.Finished
	f := &framed{outputs: len(m.Outputs) > 0}
	for _, p := range m.Yielded {
		at := EpochOf{p.Source, p.Epoch}
		if more := p.Index - a.yielded[at]; more > 0 {
			a.yielded[at] = p.Index
			a.s.run.elsewhere.Add(more)
		}
	}
	if f.outputs {
		a.taken++
		a.waiting++
	}
	f.finished = a.identities(m, f)
	a.part(m)
	if a.fed != nil {
		a.over(m)
	} else {
		a.isDone(m.Done)
	}
	if len(m.Epochs) > 0 {
		a.epochs += len(m.Epochs)
		a.forget()
	}
	a.s.run.settle(&a.tally)
	a.tell(f)
	return nil
}

// isDone notes items of the region's own sources that are done.
func (a *framer) isDone(done []wire.Span) {
	for _, s := range done {
		at := EpochOf{s.Source, s.Epoch}
		if a.done[at] == nil {
			a.done[at] = &plan.Spans{}
		}
		a.done[at].Add(s.From, s.To)
	}
}

// forget lets go of what no session needs to be told of epochs that are over.
func (a *framer) forget() {
	a.partial.DropEpochs(a.epochs)
	for at := range a.done {
		if at.Epoch < a.epochs && a.s.spec.Far.Region.Epochs {
			delete(a.done, at)
		}
	}
	for at := range a.yielded {
		if _, more := a.yielded[EpochOf{at.Source, at.Epoch + 1}]; at.Epoch < a.epochs && more {
			delete(a.yielded, at)
		}
	}
}

// part notes which parts of inputs have come that are not done.
func (a *framer) part(m *wire.Frame) {
	if !a.s.spec.Far.Region.Parts {
		return
	}
	for i := range m.Outputs {
		for _, k := range m.Outputs[i].Members {
			if k.Path != "" {
				a.partial.Add(k.Source, k.Epoch, k.Index, k.Path, k.N)
			}
		}
	}
	for _, s := range m.Done {
		for i := s.From; i < s.To && a.partial.Len() > 0; i++ {
			a.partial.Drop(s.Source, s.Epoch, i)
		}
	}
}

// check refuses what would not be true of any region of this graph.
func (a *framer) check(m *wire.Frame) error {
	source := func(i int) bool {
		if a.fed != nil {
			return i == a.s.spec.Far.Region.In.Stage
		}
		return slices.Contains(a.s.spec.Far.Region.Stages, i) && a.s.run.spec(i).Feed != nil
	}
	for _, s := range m.Done {
		if !source(s.Source) {
			return fmt.Errorf("the node speaks of stage %d as a source", s.Source)
		}
	}
	for _, p := range m.Yielded {
		if !source(p.Source) {
			return fmt.Errorf("the node speaks of stage %d as a source", p.Source)
		}
	}
	for i := range m.Outputs {
		for _, k := range m.Outputs[i].Members {
			if !source(k.Source) {
				return fmt.Errorf("the node speaks of stage %d as a source", k.Source)
			}
		}
	}
	for i, e := range m.Epochs {
		if e.Epoch != a.epochs+i {
			return fmt.Errorf("the node has ended epoch %d, not %d", e.Epoch, a.epochs+i)
		}
	}
	return nil
}
