package stages

import (
	"context"
	"fmt"

	"github.com/weirflow/weir/internal/plan"
)

// An ID names an item: enough to find it again, to acknowledge it and to recognise its second coming. IDs are
// comparable, and equal on every placement and after every restart.
type ID struct {
	Source string // the source stage
	Epoch  int
	Index  int64 // in the source, within the epoch
	// Path is "" for an item that is still one to one with the source's. Where an input became several items, they
	// are ".0", ".1" and so on behind their input's path.
	Path string
}

// String returns "list/0/1234.3": source, epoch, index and path.
func (id ID) String() string {
	return fmt.Sprintf("%s/%d/%d%s", id.Source, id.Epoch, id.Index, id.Path)
}

// IDOf converts an identity of the plan: for the packages of this module.
func IDOf(g *plan.Graph, id plan.ID) ID {
	if g.Rename != nil {
		id = g.Rename(id)
	}
	return ID{Source: g.Stages[id.Source].Name, Epoch: id.Epoch, Index: id.Index, Path: id.Path}
}

// ItemID returns the identity of the item that the function called with ctx is working on. A batch has that of its
// first item. Outside a stage's function, and in open and Flush, it is the zero ID. It does not outlast the call.
func ItemID(ctx context.Context) ID {
	w := plan.WorkOf(ctx)
	if !working(w) {
		return ID{}
	}
	return IDOf(w.Place.Graph, w.Item())
}

// working reports whether w is at an item: not in open, nor in a flush.
func working(w *plan.Work) bool { return w != nil && w.In != nil && !w.Flushing && w.Next < w.To }

// Attempt returns which attempt at its item this is, counted from 1, over all workers that have tried. An item that an
// aggregator held when it was replaced, and that is given to its successor, is attempted again too. Functions with
// effects outside use it, or ItemID as a key, to be safe when run twice. Outside a stage's function, and in open and
// Flush, it is 0.
func Attempt(ctx context.Context) int {
	w := plan.WorkOf(ctx)
	if !working(w) {
		return 0
	}
	before := w.Replays
	if tried := w.Place.Graph.Tried; tried != nil {
		before += tried(w.Place.Stage.Index, w.Item())
	}
	if w.Next == w.First {
		return w.Attempt + before
	}
	return 1 + before
}

// Where describes the stage and the place that a function runs in: for logs and metrics, not for decisions.
func Where(ctx context.Context) StageInfo {
	w := plan.WorkOf(ctx)
	if w == nil {
		return StageInfo{}
	}
	p := &w.Place
	return StageInfo{Pipeline: p.Graph.Name, Stage: p.Stage.Name, Kind: p.Stage.Kind, Worker: p.Worker, Incarnation: p.Incarnation}
}

// StageInfo is what hooks and logs may know of a stage.
type StageInfo struct {
	Pipeline    string
	Stage       string
	Kind        string
	Worker      int // 0 <= Worker < Mailbox
	Incarnation int // lives of this worker so far, counted from 1; 0 where there is no worker
}
