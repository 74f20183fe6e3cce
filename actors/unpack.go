package actors

import (
	"slices"
	"strings"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// An unpacking makes of what a node has said of the items of a piece what the stage is told.
type unpacking struct {
	a   *copyActor
	p   *piece
	out plan.Chunk
	bad []badOutput // in order

	// Of the item at hand.
	paths  []string // of its outputs, which are in out
	faults []fault
}

// A badOutput is one that cannot be decoded.
type badOutput struct {
	i, k int
	err  error
}

// unpack decodes the outputs of a piece, up to the first item that has not been accepted, or of which something has failed. It runs
// user code.
func unpack(a *copyActor, p *piece) *unpacking {
	u := &unpacking{a: a, p: p}
	n, to := 0, p.from
	for failed := false; to < p.to && p.lot.entries[to].accepted && !failed; to++ {
		e := &p.lot.entries[to]
		if len(e.failures) > 0 {
			e.outputs = u.before(to, e)
		}
		n += len(e.outputs)
		failed = len(e.failures) > 0 || e.refused != nil
	}
	u.out = a.s.spec.Pool.Get(max(n, 1))
	i, k := p.from, -1 // the output at hand
	plan.ApartEach(n, func(int) {
		for k++; k >= len(p.lot.entries[i].outputs); k = 0 {
			if i++; len(u.bad) > 0 {
				to = i
			}
		}
		if i >= to {
			return
		}
		e := &p.lot.entries[i]
		if err := e.from.Unpack(u.out, e.outputs[k].Payload); err != nil {
			u.bad = append(u.bad, badOutput{i, k, err})
		}
	}, func(int) { u.bad = append(u.bad, badOutput{i, k, errGoexit}) })
	return u
}

// before returns the outputs of item i that lie before a failure of which the run fails, whatever its budgets; all, if there is no
// such failure. Behind a join, what is made of the others stands in the place of what is missing: none of it lies before.
func (u *unpacking) before(i int, e *outcome) []wire.Output {
	r := u.a.s.spec.Far.Region
	joins := slices.ContainsFunc(r.Stages, func(k int) bool { return u.of(k).Mix != nil })
	input, left := u.id(i).Path, e.outputs
	for k := range e.failures {
		f := &e.failures[k]
		if f.Stage < 0 || f.Stage >= len(u.graph().Stages) || !f.Fatal && !u.of(f.Stage).Policy.Strict() {
			continue
		}
		if path, of := strings.CutPrefix(f.Identity.Path, input); of && !joins {
			left = slices.DeleteFunc(slices.Clone(left), func(o wire.Output) bool { return !isBefore(o.Path, path) })
			continue
		}
		return nil
	}
	return left
}

// isBefore reports whether what is called a comes before what is called b, and is not of it.
func isBefore(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return len(as[i]) < len(bs[i]) || len(as[i]) == len(bs[i]) && as[i] < bs[i] // numbers without zeros in front
		}
	}
	return false
}

// look puts together what has become of item i.
func (u *unpacking) look(i int, e *outcome) {
	u.paths, u.faults = u.paths[:0], nil
	if e.refused != nil {
		u.fail(u.of(u.a.s.spec.Far.Region.From), stages.IDOf(u.graph(), u.id(i)), 1, e.refused)
	}
	for k := range e.outputs {
		path := e.outputs[k].Path
		if len(u.bad) == 0 || u.bad[0].i != i || u.bad[0].k != k {
			u.paths = append(u.paths, path)
			continue
		}
		id := stages.IDOf(u.graph(), u.id(i))
		id.Path += path
		u.fail(u.a.s.spec.Far.Of, id, 1, u.bad[0].err)
		u.bad = u.bad[1:]
	}
	for k := range e.failures {
		u.failure(i, &e.failures[k])
	}
}

func (u *unpacking) graph() *plan.Graph { return u.a.s.run.graph }

func (u *unpacking) id(i int) plan.ID { return u.p.lot.chunk.Head().IDs.At(i) }

// of returns a stage of the region.
func (u *unpacking) of(stage int) *plan.Stage { return u.a.s.run.spec(stage) }

func (u *unpacking) fail(spec *plan.Stage, id stages.ID, attempts int, err error) *fault {
	item := &stages.ItemError{Stage: spec.Name, Item: id, Attempts: attempts, Err: err}
	u.faults = append(u.faults, fault{spec: spec, item: item, lettered: spec.Policy.Letters != nil})
	return &u.faults[len(u.faults)-1]
}

// failure is told of an item that has failed in the node.
func (u *unpacking) failure(i int, f *wire.Failure) {
	g, from := u.graph(), u.a.s.spec.Far.Region.From
	if f.Stage < 0 || f.Stage >= len(g.Stages) {
		f.Stage = from
	}
	id := plan.ID{Source: f.Identity.Source, Epoch: f.Identity.Epoch, Index: f.Identity.Index, Path: f.Identity.Path}
	if id.Source < 0 || id.Source >= len(g.Stages) {
		id = u.id(i)
	}
	to := u.fail(u.of(f.Stage), stages.IDOf(g, id), f.Attempts+u.p.lostTimes, u.a.s.run.nodeError(f.Error))
	to.fatal, to.counted = f.Fatal, !to.spec.Policy.Strict()
	switch {
	case f.Lettered:
		to.letter, to.encoded = f.Letter.Bytes, true
	case f.Stage == from: // it could not be decoded there
		to.input = true
	}
}
