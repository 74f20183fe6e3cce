package stages

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/plan"
)

// A Stream is the output of one stage, to be consumed by exactly one other or returned from the build function.
// Consuming it twice, or never, is a *DefinitionError; to have it twice, use [Tee]. The zero Stream belongs to no graph.
type Stream[T any] struct {
	g    *Graph
	port plan.Port
}

// A Graph is a pipeline under construction. Define makes it and hands it to the build function; only sources and
// graph-wide settings need it, everything else follows the streams.
type Graph struct {
	name     string
	stages   []*plan.Stage
	order    []Order              // by stage: what was said of it
	together [][]string           // by stage: names of Restart.Together
	complete bool                 // its build function has returned
	used     map[plan.Port]string // by which stage
	faults   []error
	hooks    []Hook
	codec    codecs.Codec
	errors   []error          // see Errors
	types    []plan.ErrorType // see ErrorType
	replay   *replay          // nil: it runs its sources
	entries  map[int]string   // by the index of a merge, the stage behind it, whose letters it merges in

	aroundItems []Hook // those of hooks that concern items; set when the graph is complete
}

// A place is where a fault is reported.
type place struct {
	stage, file string
	line        int
}

func (g *Graph) fault(at place, reason string) {
	g.faults = append(g.faults, &DefinitionError{Pipeline: g.name, Stage: at.stage, File: at.file, Line: at.line, Reason: reason})
}

// A draft is a stage while its options are applied.
type draft struct {
	*plan.Stage
	order  Order    // 0: not said
	modest bool     // it takes no Buffer: its waiting room is no larger than what is before it
	given  []string // options
	faults []string

	together []string // of Restart
}

func newDraft(name, kind string, item reflect.Type) *draft {
	return &draft{Stage: &plan.Stage{Name: name, Kind: kind, Item: item, Outs: 1, Mailbox: 1, Buffer: plan.Flow, Epochs: 1}}
}

func (d *draft) refuse(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

// add makes the draft a stage of the graph.
func (g *Graph) add(d *draft, in ...plan.Port) plan.Port {
	s := d.Stage
	s.Index, s.In = len(g.stages), in
	for _, p := range in {
		if d.modest {
			s.MaxRoom = max(s.MaxRoom, g.stages[p.Stage].RoomBehind())
		}
	}
	s.File, s.Line = statement()
	at := place{s.Name, s.File, s.Line}
	if s.Name == "" {
		g.fault(at, "the stage's name is empty")
	}
	for _, o := range g.stages {
		if o.Name == s.Name {
			g.fault(at, fmt.Sprintf("the name is already taken, at line %d", o.Line))
			break
		}
	}
	for _, p := range in {
		if by, twice := g.used[p]; twice {
			g.fault(at, fmt.Sprintf("the stream of %q is already consumed by %q: Tee makes two of one", g.stages[p.Stage].Name, by))
		}
		g.used[p] = s.Name
	}
	for _, reason := range d.faults {
		g.fault(at, reason)
	}
	g.stages, g.order, g.together = append(g.stages, s), append(g.order, d.order), append(g.together, d.together)
	return plan.Port{Stage: s.Index}
}

// behind returns the graph that in belongs to. There is none to report a zero Stream to, so it panics, which With
// turns into a fault.
func behind[T any](in Stream[T], name string) *Graph {
	switch {
	case in.g == nil:
		panic(undefined(name, "its input is the zero Stream, which no stage has made"))
	case in.g.complete:
		panic(undefined(name, fmt.Sprintf("its input is a stream of another graph, %q", in.g.name)))
	}
	return in.g
}

func undefined(name, reason string) *DefinitionError {
	e := &DefinitionError{Stage: name, Reason: reason}
	e.File, e.Line = statement()
	return e
}

// finish checks what can only be seen when all is there.
func (g *Graph) finish(of *Graph, outlet plan.Port) {
	switch {
	case of == nil:
		g.fault(place{}, "the build function returned the zero Stream, which no stage has made")
		return
	case of != g:
		g.fault(place{}, fmt.Sprintf("the build function returned a stream of another graph, %q", of.name))
		return
	}
	if by, twice := g.used[outlet]; twice {
		s := g.stages[outlet.Stage]
		g.fault(placeOf(s), fmt.Sprintf("its stream is returned, and also consumed by %q: Tee makes two of one", by))
	}
	g.used[outlet] = "the consumer"
	for i, s := range g.stages {
		for o := range s.Outs {
			if _, used := g.used[plan.Port{Stage: i, Out: o}]; used {
				continue
			}
			if s.Outs == 1 {
				g.fault(placeOf(s), "its stream is not consumed")
			} else {
				g.fault(placeOf(s), fmt.Sprintf("its stream %d is not consumed: a Sink ends a branch", o))
			}
		}
	}
	g.expectLetters()
	g.joinFates()
	g.restoreOrders()
	g.refuseDeadlocks()
	g.agreeOnEpochs(outlet.Stage)
}

func placeOf(s *plan.Stage) place { return place{s.Name, s.File, s.Line} }

// statement finds the statement of the build function that is being executed, however many constructors of other
// packages lie between: the frame that Definition.run has called, or behind it the first that is not stagetest's.
func statement() (file string, line int) {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var callee runtime.Frame
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "weir/stages.(*Definition[") && strings.HasSuffix(f.Function, ".run") {
			return callee.File, callee.Line
		}
		if !strings.Contains(f.Function, "weir/stages/stagetest.") {
			callee = f
		}
		if !more {
			return "", 0
		}
	}
}
