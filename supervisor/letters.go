package supervisor

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// openLetters opens the dead-letter sinks of a graph, each once, whatever the number of stages that name it. If one cannot
// be opened, or the input of such a stage cannot be encoded, none is left open.
func openLetters(ctx context.Context, g *plan.Graph) (all []actors.Letters, err error) {
	if err := stages.CheckLetters(g); err != nil {
		return nil, err
	}
	var sinks []any
	for i, s := range g.Stages {
		if s.Policy.Letters == nil {
			continue
		}
		k := indexOf(sinks, s.Policy.Letters)
		if k >= 0 {
			all[k].Stages = append(all[k].Stages, i)
			continue
		}
		w, failed := openSink(ctx, s)
		if failed != nil {
			err = errors.Join(err, sinkFault(g, s, "cannot be opened", failed))
			continue
		}
		sinks, all = append(sinks, s.Policy.Letters), append(all, actors.Letters{Stages: []int{i}, To: w})
	}
	if err == nil {
		return all, nil
	}
	for _, l := range all {
		s := g.Stages[l.Stages[0]]
		if failed := shielded(s, l.To.Close); failed != nil {
			err = errors.Join(err, sinkFault(g, s, "cannot be closed", failed))
		}
	}
	return nil, err
}

// sinkFault is what went wrong with the sink of a stage: it says where that is declared, as a DefinitionError does.
func sinkFault(g *plan.Graph, s *plan.Stage, what string, err error) error {
	at := &stages.DefinitionError{Pipeline: g.Name, Stage: s.Name, File: s.File, Line: s.Line, Reason: "its dead-letter sink " + what}
	return fmt.Errorf("%v: %w", at, err)
}

func openSink(ctx context.Context, s *plan.Stage) (w stages.LetterWriter, err error) {
	err = shielded(s, func() error {
		var failed error
		if w, failed = s.Policy.Letters.(stages.LetterSink).OpenLetters(ctx); failed == nil && w == nil {
			failed = errors.New("it has no writer: nil")
		}
		return failed
	})
	return w, err
}

// shielded calls the sink of a stage, and returns a panic there as an error.
func shielded(s *plan.Stage, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			value, stack := plan.Panicked(r)
			err = &stages.PanicError{Stage: s.Name, Value: value, Stack: stack}
		}
	}()
	return call()
}

// indexOf finds a sink that is equal to s. Some cannot be compared: then it is another one.
func indexOf(sinks []any, s any) int {
	if !reflect.ValueOf(s).Comparable() {
		return -1
	}
	for i, o := range sinks {
		if reflect.ValueOf(o).Comparable() && o == s {
			return i
		}
	}
	return -1
}
