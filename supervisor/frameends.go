package supervisor

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

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
