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
	if err := encodable(g); err != nil {
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
		w, failed := openSink(ctx, s.Policy.Letters.(stages.LetterSink))
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("supervisor: stage %q: its dead-letter sink cannot be opened: %w", s.Name, failed))
			continue
		}
		sinks, all = append(sinks, s.Policy.Letters), append(all, actors.Letters{Stages: []int{i}, To: w})
	}
	if err == nil {
		return all, nil
	}
	for _, l := range all {
		err = errors.Join(err, l.To.Close())
	}
	return nil, err
}

// encodable checks that what becomes a dead letter can be written down.
func encodable(g *plan.Graph) (err error) {
	for _, cannot := range g.CheckLetters() {
		err = errors.Join(err, fmt.Errorf("supervisor: %w", cannot))
	}
	return err
}

// openSink shields Deploy from a sink that panics.
func openSink(ctx context.Context, sink stages.LetterSink) (w stages.LetterWriter, err error) {
	defer func() {
		if r := recover(); r != nil {
			w, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	if w, err = sink.OpenLetters(ctx); err == nil && w == nil {
		err = errors.New("it has no writer: nil")
	}
	return w, err
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
