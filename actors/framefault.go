package actors

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// faultsOf are the failures of a frame.
func (a *framer) faultsOf(m *wire.Frame) (all []*fault) {
	g := a.s.run.graph
	for k := range m.Failed {
		w := &m.Failed[k]
		if w.Stage < 0 || w.Stage >= len(g.Stages) || w.Identity.Source < 0 || w.Identity.Source >= len(g.Stages) {
			w.Stage, w.Identity.Source = a.s.spec.Far.Region.From, a.s.spec.Far.Region.From
		}
		spec := a.s.run.spec(w.Stage)
		attempts, err := a.suspects.verdict(w, a.s.run.nodeError(w.Error))
		id := plan.ID{Source: w.Identity.Source, Epoch: w.Identity.Epoch, Index: w.Identity.Index, Path: w.Identity.Path}
		all = append(all, &fault{
			id: id, spec: spec, fatal: w.Fatal,
			item:    &stages.ItemError{Stage: spec.Name, Item: stages.IDOf(g, a.named(id)), Attempts: attempts, Err: err},
			counted: !spec.Policy.Strict(), finished: a.counted.until(w.Stage, w.Finished),
			letter: w.Letter.Bytes, lettered: w.Lettered && spec.Policy.Letters != nil,
		})
	}
	return all
}
