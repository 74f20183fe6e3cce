package supervisor

import (
	"cmp"
	"slices"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// Failures in a stream region, and when they are told.

// holdBack sees to it that inputs which have failed together are told in their turn: where items keep their order, behind those
// before; and at the end if the region's run fails of them.
func (f *frames) holdBack(failed []plan.End) {
	if f.closed || f.queue.all || !f.fatal && !f.t.region.Ordered {
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
		if !f.allBefore(u.at[k], e.Index, e.Index+(e.N-1)*e.Step) {
			return false
		}
	}
	return true
}

// allBefore reports whether all inputs before one are over; last is that, or the last of several in which the first one is.
func (f *frames) allBefore(of actors.EpochOf, first, last int64) bool {
	if f.fed != nil {
		return f.first(first)
	}
	for at, p := range f.epochs {
		switch over := p.over.First(); {
		case at.Source != of.Source:
		case at.Epoch < of.Epoch && over < p.upto, at == of && over < last:
			return false
		}
	}
	return true
}

// untimely reports whether a failure is told behind what has not left.
func (f *frames) untimely(x *failure) bool { return x.turn && !f.allBefore(x.of, x.at, x.at) }

// unorder has all failures told that waited for their turn.
func (f *frames) unorder() {
	clear(f.behind)
	f.units = nil
	for _, w := range f.queue.list {
		if w.rec != nil {
			w.rec.turn = false
		}
	}
}

// note keeps a failure until it is told. One of a whole input is told when that is done, and any other among the outputs: it settles
// leaves, as they do.
func (f *frames) note(r plan.Run, x failure) {
	if leaves := r.Leaves(nil); slices.ContainsFunc(leaves, func(l plan.Leaf) bool { return l.Path != "" }) {
		x.turn = f.t.region.Ordered && !x.last
		w := waiting{
			outs: []wire.FrameOutput{{Epoch: x.of.Epoch, Failed: true}}, leaves: leaves, groups: r.Groups(nil), rec: &x, epoch: x.of.Epoch,
		}
		if x.last && !f.queue.all {
			f.atLast = append(f.atLast, w)
		} else {
			f.queue.push(w)
		}
		return
	}
	f.failed = append(f.failed, x)
}

// takeFailed returns the failures of inputs that are done: all that is told of an input is told at once.
func (f *frames) takeFailed(done []wire.Span) (all []wire.Failure) {
	if len(f.failed) == 0 {
		return nil
	}
	keep := f.failed[:0]
	for _, x := range f.failed {
		if isDone(done, &x) {
			all = append(all, x.rec)
		} else {
			keep = append(keep, x)
		}
	}
	f.failed = keep
	return all
}

// fails is told of an item that has failed for good.
func (f *frames) fails(x actors.Fault) {
	w := wire.Failure{
		Stage: x.Stage.Index, Attempts: x.Err.Attempts, Fatal: x.Fatal, Hung: x.Hung, Poison: x.Err.Err == actors.ErrPoison, Finished: x.Finished, Error: stages.EncodeError(f.t.graph, x.Err.Err),
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
	f.note(x.At, failure{of: of, at: x.Root.Index, last: last, rec: w})
	f.urgent = f.urgent || !last
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

// tellRest tells the failures of inputs that never end: the region's run has failed, and something of them waits for what does not
// come any more, as in a Rejoin.
func (f *frames) tellRest() {
	if len(f.failed) == 0 {
		return
	}
	for _, x := range f.failed {
		if f.over[x.of] == nil {
			f.over[x.of] = &overSet{}
		}
		f.over[x.of][plan.Failed].Add(x.at, x.at+1)
	}
	f.flush()
}
