package stagetest

import (
	"testing"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A Result is what became of the items given to a part of a graph.
type Result[Out any] struct {
	Out      []Out
	Filtered int                 // items given of which nothing came, and which did not fail
	Failed   []*stages.ItemError // in order, whether the run would have gone on or not
	Letters  []stages.Letter     // what dead-letter sinks would have been handed, all of them, in order
	Err      error               // what would have failed the run, or nil
}

// Run feeds in to the part of a graph that build adds behind its argument, which may be any number of stages, then ends
// the epoch. Each item goes as far as it gets before the next one is touched, so results do not depend on time, and a
// merge by Arrival takes items in the order in which they were given. Definition faults fail the test; so does an input of a
// stage with a DeadLetter policy that cannot be encoded.
//
// Options are obeyed, within limits. A stage works on one item at a time, so it has one worker whatever its Mailbox.
// There are no pauses: before another attempt, or another worker, a clock is put forward that only Restart.Within looks at.
// Time stands still for what is held: MaxWait is never up. (A Timeout is real.) Dead-letter sinks are not opened: what
// they would have been handed is the Result's Letters.
//
// A function that panics, or calls runtime.Goexit (as t.FailNow does), is treated as in a run: the item is tried again, with
// a new worker, as stages.Retry and stages.Restart say. So is one that returns an error that is to be tried again. When
// something fails the run, the items before it are complete and those behind it are not begun; what is held then is not
// flushed. ItemID names items "given/0/0", "given/0/1" and so on.
//
// Run returns when everything is closed. A function that does not return holds it up.
func Run[In, Out any](t testing.TB, build func(stages.Stream[In]) stages.Stream[Out], in ...In) Result[Out] {
	t.Helper()
	g := define(t, func(_ *stages.Graph, given stages.Stream[In]) stages.Stream[Out] { return build(given) })
	var r Result[Out]
	w := newWalk(t.Context(), g, func(c plan.Chunk) { r.Out = append(r.Out, c.(*plan.Of[Out]).Items...) }, t.Logf)
	for _, v := range in {
		if !w.give(single(g, v)) {
			break
		}
	}
	w.endEpoch()
	w.end()
	_, filtered, _ := w.account.Settled()
	r.Filtered, r.Failed, r.Letters, r.Err = int(filtered), w.failed, w.letters, w.err()
	return r
}

// define makes a graph of what build adds behind a source. Faults end the test.
func define[In, Out any](t testing.TB, build func(*stages.Graph, stages.Stream[In]) stages.Stream[Out]) *plan.Graph {
	t.Helper()
	p := stages.Define("stagetest", func(g *stages.Graph, _ struct{}) stages.Stream[Out] {
		return build(g, stages.Source(g, "given", stages.FromSlice[In](nil)))
	}).With(struct{}{})
	if err := p.Err(); err != nil {
		t.Fatalf("the definition is refused: %v", err)
	}
	if err := stages.CheckLetters(p.Plan()); err != nil {
		t.Fatalf("the definition is refused: %v", err)
	}
	return p.Plan()
}

// single returns v as an item of the source, without an identity yet.
func single[In any](g *plan.Graph, v In) plan.Chunk {
	c := g.Stages[0].Pool.Get(1).(*plan.Of[In])
	c.Items = append(c.Items, v)
	return c
}
