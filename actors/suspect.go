package actors

import (
	"slices"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// What a region with a source or an aggregate was at when its processes died. Its items have no tasks, so they are known by
// the stage and by the inputs that they are made of.

// Suspects are items of which processes may have died, and are not done.
type suspects []suspectItem

type suspectItem struct {
	wire.Suspect
	err error // of the last death
}

// charge notes that a process has died of err while it was at all of this. Items that have cost most of them are poison.
func (s *suspects) charge(all []plan.Executing, err error, most int) {
	before := len(*s)
	for i := range all {
		e := &all[i]
		if e.What != plan.DoesItems || e.Flush {
			continue
		}
		for _, r := range e.Of {
			x := wire.Suspect{Stage: e.Stage, Source: r.Source, Epoch: r.Epoch, From: r.From, To: r.To, Exact: e.Exact, Path: e.Path, Deaths: 1}
			if known := s.find(&x, before); known != nil {
				known.Deaths++
				known.err = err
				known.Poison = known.Exact && known.Deaths >= most
				continue
			}
			x.Deaths += s.deaths(&x, before)
			x.Poison = x.Exact && x.Deaths >= most
			*s = append(*s, suspectItem{x, err})
		}
	}
}

// find returns the one of the first n that is of the same items, or nil.
func (s *suspects) find(x *wire.Suspect, n int) *suspectItem {
	for i := range (*s)[:n] {
		y := &(*s)[i]
		if y.Stage == x.Stage && reachOf(&y.Suspect) == reachOf(x) && y.Exact == x.Exact && y.Path == x.Path {
			return y
		}
	}
	return nil
}

// deaths is how many the items have been suspected of together with others, by the first n.
func (s *suspects) deaths(x *wire.Suspect, n int) (most int) {
	at := reachOf(x)
	for i := range (*s)[:n] {
		y := &(*s)[i]
		r := reachOf(&y.Suspect)
		if y.Stage == x.Stage && !y.Exact && r.Meets(&at) {
			most = max(most, y.Deaths)
		}
	}
	return most
}

// forget lets go of those that are done.
func (s *suspects) forget(done func(at EpochOf, from, to int64) bool) {
	keep := (*s)[:0]
	for _, x := range *s {
		if !done(EpochOf{x.Source, x.Epoch}, x.From, x.To) {
			keep = append(keep, x)
		}
	}
	clear((*s)[len(keep):])
	*s = keep
}

// list is what a node is told.
func (s suspects) list() (all []wire.Suspect) {
	for i := range s {
		all = append(all, s[i].Suspect)
	}
	return all
}

// verdict returns after how many attempts an item has failed, and why: err, unless a node has not executed it.
func (s suspects) verdict(w *wire.Failure, err error) (attempts int, why error) {
	for i := range s {
		x, id := &s[i], &w.Identity
		if w.Poison && x.Poison && x.Stage == w.Stage && x.Source == id.Source && x.Epoch == id.Epoch && x.Path == id.Path && x.From <= id.Index && id.Index < x.To {
			return x.Deaths, x.err
		}
	}
	return w.Attempts, err
}

// suspect notes what a process was at that has died.
func (a *framer) suspect(m *Lost) {
	if !m.Blames || m.Final {
		return
	}
	known := m.Executing[:0]
	for _, e := range m.Executing { // the process may have written anything
		ok := slices.Contains(a.s.spec.Far.Region.Stages, e.Stage)
		for _, r := range e.Of {
			ok = ok && r.Source < len(a.s.run.graph.Stages) && r.Epoch <= wire.MaxCount
		}
		if ok {
			known = append(known, e)
		}
	}
	a.suspects.charge(known, m.Err, a.s.run.cfg.Poison)
}

// suspected is what the next session is told.
func (a *framer) suspected() []wire.Suspect {
	a.suspects.forget(func(at EpochOf, from, to int64) bool {
		if a.fed == nil && a.s.spec.Far.Region.Epochs && at.Epoch < a.epochs {
			return true
		}
		for i := from; i < to; i++ {
			if a.fed != nil && a.fed.lot(i) != nil || a.fed == nil && (a.done[at] == nil || !a.done[at].Has(i)) {
				return false
			}
		}
		return true
	})
	return a.suspects.list()
}
