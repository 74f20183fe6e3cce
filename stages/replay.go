package stages

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/weirflow/weir/internal/plan"
)

// A pipeline runs letters instead of its sources when its build function is called again with a Graph that knows of them:
// the sources are empty then, and a stage that has letters gets a source of them, and a merge, put before it. So
// everything else is the runtime's usual business.

// Replaying returns the pipeline that supervisor.Replay runs: for the packages of this module. It goes through the
// letters once, to learn which stages have how many. Its errors are joined: the sequence's, the letters', and those of the
// definition (*DefinitionError) that are there only because of them.
func (p Pipeline[Out]) Replaying(ctx context.Context, letters iter.Seq2[Letter, error]) (Pipeline[Out], error) {
	if err := p.Err(); err != nil {
		return p, err
	}
	r, err := survey(ctx, p.plan, letters)
	if err != nil {
		return p, err
	}
	p = p.again.build(r)
	return p, p.err
}

// A replay is what a graph knows of the letters that it is to run. It is immutable once surveyed.
type replay struct {
	letters iter.Seq2[Letter, error]
	seed    maphash.Seed
	of      map[string]*seen // by stage: those that have letters
	names   map[string]bool  // of all stages of the graph without letters
}

// A seen is what going through the letters has shown of those of one stage.
type seen struct {
	count int64
	hash  maphash.Hash
	shape string // of the stage's input
}

// add notes a letter. What it looks like the second time is compared with that.
func (s *seen) add(l *Letter) {
	s.count++
	maphash.WriteComparable(&s.hash, l.Codec)
	maphash.WriteComparable(&s.hash, l.Shape)
	maphash.WriteComparable(&s.hash, l.Item)
	maphash.WriteComparable(&s.hash, len(l.Payload))
	s.hash.Write(l.Payload)
}

// mostRefused is how many kinds of wrong letters survey tells.
const mostRefused = 8

// survey goes through the letters, and refuses those that cannot be run: the first of each kind is told.
func survey(ctx context.Context, g *plan.Graph, letters iter.Seq2[Letter, error]) (*replay, error) {
	r := &replay{letters: letters, seed: maphash.MakeSeed(), of: map[string]*seen{}, names: map[string]bool{}}
	stages, shapes := map[string]*plan.Stage{}, map[string]string{}
	for _, s := range g.Stages {
		r.names[s.Name], stages[s.Name], shapes[s.Name] = true, s, letterShape(g.Input(s))
	}
	var refused []error
	told := map[string]bool{}
	n := 0
	for l, err := range whole(letters) {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, errors.Join(append(refused, fmt.Errorf("stages: replay: letter %d: %w", n+1, err))...)
		}
		n++
		if why := unfit(g, stages[l.Stage], &l, shapes[l.Stage]); why != "" {
			why = fmt.Sprintf("which failed in stage %q: %s", l.Stage, why)
			if told[why] {
				continue
			}
			if len(refused) == mostRefused {
				refused = append(refused, errors.New("stages: replay: and others"))
				break
			}
			told[why] = true
			refused = append(refused, fmt.Errorf("stages: replay: letter %d, of item %v, %s", n, l.Item, why))
			continue
		}
		s := r.of[l.Stage]
		if s == nil {
			s = &seen{shape: shapes[l.Stage]}
			s.hash.SetSeed(r.seed)
			r.of[l.Stage] = s
		}
		s.add(&l)
	}
	return r, errors.Join(refused...)
}

// whole yields the letters but for one that is cut short at their end: its program died while it wrote it, and never took it
// as handed over.
func whole(letters iter.Seq2[Letter, error]) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		var cut error // maybe the last
		for l, err := range letters {
			if cut != nil && !yield(Letter{}, cut) {
				return
			}
			if cut = nil; errors.Is(err, io.ErrUnexpectedEOF) {
				cut = err
			} else if !yield(l, err) {
				return
			}
		}
	}
}

// unfit says why a letter, of stage s, cannot be run; nothing if it can. shape is that of the stage's input.
func unfit(g *plan.Graph, s *plan.Stage, l *Letter, shape string) string {
	switch {
	case l.Pipeline != g.Name && l.Pipeline != "": // one made by hand may leave it out
		return fmt.Sprintf("it is one of pipeline %q, not of %q", l.Pipeline, g.Name)
	case s == nil:
		return "there is no such stage; letters can be run by " + workplaces(g)
	case s.Feed != nil:
		return "it is a source, which takes nothing in; letters can be run by " + workplaces(g)
	case s.Open == nil:
		return fmt.Sprintf("it is a %s, which does not work on items; letters can be run by %s", s.Kind, workplaces(g))
	case l.Codec != g.Codec.Name():
		return fmt.Sprintf("its codec is %q, and that of the pipeline is %q", l.Codec, g.Codec.Name())
	}
	return reshaped(l.Shape, shape)
}

// workplaces names the stages that can have letters.
func workplaces(g *plan.Graph) string {
	var names []string
	for _, s := range g.Stages {
		if s.Open != nil {
			names = append(names, strconv.Quote(s.Name))
		}
	}
	if len(names) == 0 {
		return "no stage"
	}
	return strings.Join(names, ", ")
}

// lettersAhead is how many letters may be decoded before they are wanted: few, since nobody knows how large they are.
const lettersAhead = 16

// withLetters returns what the stage of a draft takes: in, and the letters that it has, if there are any.
func withLetters[T any](in Stream[T], d *draft) Stream[T] {
	g, name := in.g, d.Name
	if g.replay == nil || g.replay.of[name] == nil {
		return in
	}
	if err := g.codec.Check(reflect.TypeFor[T]()); err != nil {
		d.refuse("it has letters, which cannot be decoded: %v", err)
	}
	// FromChan's rules are those of letters: they stay in the process that deploys them.
	from := Origin[T]{local: true, open: func(ctx context.Context, at Position) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) { decodeLetters(ctx, g, name, at.Index, yield) }
	}}
	letters := source(g, g.replay.name(name, "letters"), from, Buffer(lettersAhead))
	all := Merge(g.replay.name(name, "with letters"), Arrival{}, in, letters)
	g.entries[all.port.Stage] = name
	return all
}

// name is that of what stands before a stage. No other stage has it.
func (r *replay) name(stage, what string) string {
	name := stage + ": " + what
	for r.names[name] {
		name += "'"
	}
	return name
}

// decodeLetters yields the letters of a stage behind the first skip of them, as many in all as there were when the letters
// were first gone through: more may have been added since, by the run itself for one.
func decodeLetters[T any](ctx context.Context, g *Graph, stage string, skip int64, yield func(T, error) bool) {
	r := g.replay
	want := r.of[stage]
	var got seen
	got.hash.SetSeed(r.seed)
	n := 0 // of all stages
	for l, err := range whole(r.letters) {
		var v T
		n++
		switch {
		case ctx.Err() != nil:
			return // nobody wants more
		case err != nil:
			yield(v, Fatal(fmt.Errorf("letters of stage %q, behind %d of %d: %w", stage, got.count, want.count, err)))
			return
		case l.Stage != stage:
			continue
		}
		if got.add(&l); got.count > skip {
			if other := reshaped(l.Shape, want.shape); other != "" {
				err = errors.New(other)
			} else {
				err = g.codec.Decode(l.Payload, &v)
			}
			if err != nil {
				var none T // half a value helps nobody
				v, err = none, fmt.Errorf("letter %d, of item %v, which failed in stage %q, cannot be decoded: %w; "+
					"leave it out of the sequence to go on without it", n, l.Item, stage, err)
			}
			if !yield(v, err) {
				return
			}
		}
		if got.count == want.count {
			break
		}
	}
	var none T
	switch {
	case ctx.Err() != nil:
	case got.count < want.count:
		yield(none, Fatal(fmt.Errorf("letters of stage %q: %d have come, and there were %d before: they must be the same each time",
			stage, got.count, want.count)))
	case got.hash.Sum64() != want.hash.Sum64():
		yield(none, Fatal(fmt.Errorf("letters of stage %q: the %d that have come are not those that there were before: they must be the same each time",
			stage, got.count)))
	}
}

// expectLetters makes sure that every stage that has letters has been built again.
func (g *Graph) expectLetters() {
	if g.replay == nil {
		return
	}
	for name := range g.replay.of {
		if g.named(name) == nil {
			g.fault(place{}, fmt.Sprintf("the build function, called again for a replay, has made no stage %q: it must depend on its Config only", name))
		}
	}
}

// inputs are those of a stage without the letters.
func (g *Graph) inputs(stage int) []plan.Port {
	in := g.stages[stage].In
	if _, entry := g.entries[stage]; entry {
		return in[:1]
	}
	return in
}

// takeAsTheyCome has a join do without the order of a fork if letters come in between, which have no place in it. A Rejoin
// cannot. It reports whether there are such letters.
func (g *Graph) takeAsTheyCome(fork, join *plan.Stage) bool {
	if len(g.entries) == 0 {
		return false
	}
	entered := false
	between := map[int]bool{join.Index: true}
	for i := join.Index; i > fork.Index; i-- {
		if !between[i] {
			continue
		}
		for _, p := range g.inputs(i) {
			between[p.Stage] = true
		}
		name, entry := g.entries[i]
		if entered = entered || entry; entry && join.Mix.How == plan.Rejoin {
			g.fault(placeOf(g.named(name)), fmt.Sprintf("its letters cannot be run: it works on parts of the batches that %q splits, "+
				"which %q, at line %d, puts together again, and the other parts of a letter's batch are gone", fork.Name, join.Name, join.Line))
		}
	}
	if !entered || join.Mix.How == plan.Rejoin {
		return entered
	}
	join.Mix.How = plan.Arrival
	for i := range between {
		if i > fork.Index {
			g.stages[i].Ordered = true // within each input
		}
	}
	return true
}

// mixLetters changes a mixture of what are empty sources now, but for the letters: it makes no epochs of its own, and drops
// nothing when an input ends.
func (g *Graph) mixLetters(m *plan.Mix) {
	if g.replay != nil {
		m.EpochItems, m.UntilFirstEnd = 0, false
	}
}
