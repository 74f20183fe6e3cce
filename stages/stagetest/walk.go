package stagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A walk takes items through a graph by hand: each as far as it gets, before the next one is touched.
type walk struct {
	graph   *plan.Graph
	ctx     context.Context // of all user code
	cancel  context.CancelFunc
	posts   []post // by stage; nil for the source
	outlet  func(plan.Chunk)
	log     func(format string, args ...any) // of what nothing follows from
	watch   func(late bool)                  // is told of each emit; nil: nobody is
	account plan.Account
	failed  []*stages.ItemError
	letters []stages.Letter
	causes  []cause
	entered []entry

	epoch int
	index int64
	clock time.Duration // that of pauses, which nobody waits for; otherwise it stands still
}

// A post is a stage of a walk.
type post interface {
	// take works on a chunk, which has at most one item, and its marks. It comes by that input.
	take(c plan.Chunk, in int)
	// complete judges, at the end of the stream, what can only be judged there.
	complete()
	// close ends what user code has opened.
	close()
}

// A cause is why the run would have failed.
type cause struct {
	stage *plan.Stage
	err   error
}

// newWalk makes a walk of g, which has one source, the first of its stages. outlet is given what leaves it: chunks of one
// item, or of none that end an epoch.
func newWalk(ctx context.Context, g *plan.Graph, outlet func(plan.Chunk), log func(string, ...any)) *walk {
	w := &walk{graph: g, posts: make([]post, len(g.Stages)), outlet: outlet, log: log}
	w.ctx, w.cancel = context.WithCancel(ctx)
	for i, s := range g.Stages {
		switch {
		case s.Feed != nil:
		case s.Mix != nil:
			w.posts[i] = newMerge(w, s)
		default:
			w.posts[i] = newStation(w, s)
		}
	}
	w.enter()
	return w
}

// give takes an item, alone in its chunk and without an identity yet, through the graph. It reports whether more is
// wanted.
func (w *walk) give(c plan.Chunk) bool {
	if w.over() {
		return false
	}
	h := c.Head()
	h.Epoch = w.epoch
	h.IDs.Source(0, w.epoch, w.index, 1)
	w.index++
	w.push(plan.Port{}, c)
	return !w.over()
}

// endEpoch ends an epoch, unless the run has failed: what is not complete is not flushed.
func (w *walk) endEpoch() {
	if w.over() {
		return
	}
	w.push(plan.Port{}, w.mark(w.graph.Stages[0], w.epoch, true, plan.Round{}))
	w.epoch++
	w.index = 0
}

// replace gives every worker a successor, which is given first what was held.
func (w *walk) replace() {
	for _, p := range w.posts {
		if s, ok := p.(*station); ok && s.worker != nil && !w.over() {
			s.replace()
			s.catchUp()
		}
	}
}

// end ends the stream.
func (w *walk) end() {
	for _, p := range w.posts {
		if p != nil && !w.over() {
			p.complete()
		}
	}
	w.cancel()
	for _, p := range w.posts {
		if p != nil {
			p.close()
		}
	}
	w.exit()
}

// over reports whether the run has failed.
func (w *walk) over() bool { return len(w.causes) > 0 }

func (w *walk) fail(s *plan.Stage, err error) { w.causes = append(w.causes, cause{s, err}) }

// err is why the run would have failed, or nil.
func (w *walk) err() error {
	var errs []error
	for _, c := range w.causes {
		errs = append(errs, c.err)
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// push hands on what has come out at a port, one item at a time.
func (w *walk) push(from plan.Port, c plan.Chunk) {
	last := c.Len() - 1
	for i := range last {
		w.hand(from, w.single(from, c, i))
	}
	if last > 0 {
		one := w.single(from, c, last)
		one.Head().Last, one.Head().Round = c.Head().Last, c.Head().Round
		c = one
	}
	if c.Len() > 0 || c.Head().Marked() {
		w.hand(from, c)
	}
}

// single returns item i of c in a chunk of its own.
func (w *walk) single(from plan.Port, c plan.Chunk, i int) plan.Chunk {
	one := w.graph.Stages[from.Stage].Pool.Get(1)
	one.Append(c, i, i+1)
	one.Head().Epoch = c.Head().Epoch
	return one
}

// hand gives a chunk to the stage that it is for, or to the consumer.
func (w *walk) hand(from plan.Port, c plan.Chunk) {
	for _, s := range w.graph.Stages {
		if in := slices.Index(s.In, from); in >= 0 {
			w.posts[s.Index].take(c, in)
			return
		}
	}
	w.settle(c, plan.Delivered)
	w.outlet(c)
}

// mark returns a chunk that says that something ends.
func (w *walk) mark(s *plan.Stage, epoch int, last bool, round plan.Round) plan.Chunk {
	c := s.Pool.Get(0)
	h := c.Head()
	h.Epoch, h.Last, h.Round = epoch, last, round
	return c
}

// settle says what has become of the items of c.
func (w *walk) settle(c plan.Chunk, f plan.Fate) {
	var t plan.Tally
	t.Settle(&c.Head().IDs, 0, c.Len(), f)
	w.account.Add(&t)
}

// An entry is one hook that has been entered for one stage.
type entry struct {
	stage *plan.Stage
	hook  plan.Hook
}

// enter calls the hooks around the stages, before there is any item.
func (w *walk) enter() {
	for _, s := range w.graph.Stages {
		for _, k := range w.graph.Hooks {
			if err := w.call(w.ctx, s, k.Enter); err != nil {
				w.fail(s, fmt.Errorf("stage %q: StageEnter: %w", s.Name, err))
				return
			}
			w.entered = append(w.entered, entry{s, k})
		}
	}
}

// exit calls them behind the last worker.
func (w *walk) exit() {
	var at *plan.Stage
	var err error // of that stage
	for _, e := range slices.Backward(w.entered) {
		if e.stage != at {
			at, err = e.stage, w.failure(e.stage)
		}
		if e.hook.Exit == nil {
			continue
		}
		left := w.call(context.WithoutCancel(w.ctx), at, func(ctx context.Context) error { return e.hook.Exit(ctx, err) })
		if left != nil && left != err { // err is a pointer of ours, which can be compared
			left = fmt.Errorf("stage %q: StageExit: %w", at.Name, left)
			w.fail(at, left)
		}
		err = left
	}
}

// call runs f, unless it is nil, as user code of s.
func (w *walk) call(ctx context.Context, s *plan.Stage, f func(context.Context) error) (err error) {
	if f == nil {
		return nil
	}
	at := &plan.Work{Place: plan.Place{Graph: w.graph, Stage: s}}
	d := apart(func() { err = plan.Examine(f(plan.Bind(ctx, at)), nil).Err })
	if d != nil {
		return d.error(s.Name)
	}
	return err
}

// failure returns why s has failed the run, or nil.
func (w *walk) failure(s *plan.Stage) error {
	var errs []error
	for _, c := range w.causes {
		if c.stage == s {
			errs = append(errs, c.err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
