package actors

import (
	"errors"
	"sync"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// Items that were executed when an earlier process of this region died: one of them may kill this one, too. Each is a piece of its
// own, and executed while nothing else is, so that another death says which one it was. Those that have cost as many processes as
// they may are not executed any more: they fail, at the stage where it happened.

// ErrPoison is why an item fails that is not executed any more. Who has counted the deaths knows what they were.
var ErrPoison = errors.New("processes have died of it")

// A care is what a run knows of such items.
type care struct {
	gate gate

	mu sync.RWMutex
	of map[int][]*suspicion // guarded by mu: by stage
}

// A suspicion is items of a stage.
type suspicion struct {
	wire.Suspect
	over plan.Spans // guarded by care.mu: of its inputs, those of which nothing is alive
}

func (x *suspicion) reach() plan.Reach { return reachOf(&x.Suspect) }

func reachOf(s *wire.Suspect) plan.Reach {
	return plan.Reach{Source: s.Source, Epoch: s.Epoch, From: s.From, To: s.To}
}

// newCare returns nil if nothing is suspected.
func newCare(cfg *Config) *care {
	if len(cfg.Suspects) == 0 {
		return nil
	}
	c := &care{of: map[int][]*suspicion{}}
	c.gate.changed = make(chan struct{})
	for _, s := range cfg.Suspects {
		x := &suspicion{Suspect: s}
		if cfg.Resume != nil {
			if done := cfg.Resume.Done[EpochOf{s.Source, s.Epoch}]; done != nil {
				for _, d := range done.All() {
					x.end(d.From, d.To, 1)
				}
			}
		}
		c.of[s.Stage] = append(c.of[s.Stage], x)
	}
	return c
}

// end notes inputs of which nothing is alive.
func (x *suspicion) end(from, to, step int64) {
	if step == 1 {
		if from, to = max(from, x.From), min(to, x.To); from < to {
			x.over.Add(from, to)
		}
		return
	}
	for ; from < to; from += step {
		x.end(from, from+1, 1)
	}
}

// ended lets go of what is suspected of inputs of which nothing is alive any more.
func (c *care) ended(ends []plan.End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for stage, all := range c.of {
		keep := all[:0]
		for _, x := range all {
			for _, e := range ends {
				if e.Source == x.Source && e.Epoch == x.Epoch {
					x.end(e.Index, e.Index+e.N*e.Step, e.Step)
				}
			}
			if left := x.over.All(); len(left) != 1 || left[0].From > x.From || left[0].To < x.To {
				keep = append(keep, x)
			}
		}
		if clear(all[len(keep):]); len(keep) == 0 {
			delete(c.of, stage)
		} else {
			c.of[stage] = keep
		}
	}
}

// look reports whether item i of a stage's input is suspected, and whether it is not to be executed at all.
func (c *care) look(stage int, ids *plan.IDs, i int) (suspect, poison bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := c.of[stage]
	if len(all) == 0 {
		return false, false
	}
	var of [plan.MostReaches]plan.Reach
	n := ids.Reaches(i, i+1, of[:])
	for _, x := range all {
		at := x.reach()
		for k := range n {
			if !at.Meets(&of[k]) {
				continue
			}
			if !x.Exact {
				suspect = true
				continue
			}
			if ids.NameOf(i) == (plan.Name{Reach: at, Path: x.Path}) {
				suspect, poison = true, poison || x.Poison
			}
		}
	}
	return suspect, poison
}

// apart is how many of the next n items may be executed together: a suspect goes alone.
func (c *care) apart(stage int, ids *plan.IDs, from, n int) int {
	for i := range n {
		if suspect, _ := c.look(stage, ids, from+i); suspect {
			return max(i, 1)
		}
	}
	return n
}

// apart is care.apart for items of c; all n where nothing is suspected, and in the stage of a region: its node is careful.
func (s *stage) apart(c plan.Chunk, from, n int) int {
	if s.run.care == nil || s.far != nil {
		return n
	}
	return s.run.care.apart(s.spec.Index, &c.Head().IDs, from, n)
}

// A gate lets workers execute together, and suspects alone. It is no lock: who would wait for long goes on all the same, since
// functions may wait for each other.
type gate struct {
	mu      sync.Mutex
	in      int           // guarded by mu: workers that execute
	stuck   int           // guarded by mu: of those the ones that nobody waits for any more
	alone   bool          // guarded by mu: one of them is at a suspect, and is waited for
	asked   int           // guarded by mu: suspects that wait
	changed chan struct{} // guarded by mu: closed when somebody has left, and replaced
}

// gatePatience is how long anybody waits at a gate.
const gatePatience = time.Minute

// enter waits until a worker may execute, or done is closed.
func (g *gate) enter(done <-chan struct{}, alone bool) {
	if alone {
		g.mu.Lock()
		g.asked++
		g.mu.Unlock()
	}
	var late <-chan time.Time
	for waited := false; ; {
		g.mu.Lock()
		if waited {
			g.stuck, g.alone = g.in, false
		}
		if waited || !alone && !g.alone && g.asked == 0 || alone && g.in <= g.stuck {
			g.in++
			if alone {
				g.asked--
				g.alone = true
				g.wake()
			}
			g.mu.Unlock()
			return
		}
		changed := g.changed
		g.mu.Unlock()
		if late == nil {
			t := time.NewTimer(gatePatience)
			defer t.Stop()
			late = t.C
		}
		select {
		case <-changed:
		case <-late:
			waited = true
		case <-done:
			waited = true
		}
	}
}

// leave is called by who has entered.
func (g *gate) leave(alone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in--
	g.stuck = min(g.stuck, g.in)
	if alone {
		g.alone = false
	}
	g.wake()
}

// wake has those who wait look again. g.mu is held.
func (g *gate) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Apart calls f, which is user code that works on no item in particular, while no suspect is executed: what it costs is not to be
// charged to one. It is for who runs a region's graph.
func (r *Run) Apart(f func()) {
	if r.care != nil {
		r.care.gate.enter(r.ctx.Done(), false)
		defer r.care.gate.leave(false)
	}
	f()
}

// iterates notes that the iterator of a source is at work, and returns what ends that. Where something is suspected it waits at each
// item until no suspect is executed.
func (r *Run) iterates(s *source, g *plan.Gate) (leave func()) {
	slot := r.cfg.Box.Take()
	slot.Note(plan.DoesIterate, s.spec.Index)
	if r.care == nil {
		return slot.Return
	}
	at := &r.care.gate
	g.Aside = func(wait func()) {
		at.leave(false)
		wait()
		at.enter(s.tap.ctx.Done(), false)
	}
	at.enter(s.tap.ctx.Done(), false)
	return func() {
		at.leave(false)
		slot.Return()
	}
}

// enter notes what the worker is about to execute, and waits for its turn. It reports whether that is poison, and not to be
// executed.
func (a *worker) enter() (poison bool) {
	w, c := &a.work, a.s.run.care
	alone := false
	if c != nil {
		begun := a.s.run.clock()
		if w.In != nil && w.Next < w.To {
			if alone, poison = c.look(a.s.spec.Index, &w.In.Head().IDs, w.Next); poison {
				return true
			}
		}
		c.gate.enter(a.s.ctx.Done(), alone)
		a.inside, a.alone = true, alone
		a.waited += a.s.run.clock() - begun
	}
	switch n := w.To - w.Next; {
	case w.In == nil || n <= 0:
		w.Slot.Note(plan.DoesItems, a.s.spec.Index)
		w.Slot.Flush(true)
	case n == 1 && c != nil:
		w.Slot.Item(a.s.spec.Index, w.In.Head().IDs.NameOf(w.Next))
	default:
		w.Slot.Items(a.s.spec.Index, &w.In.Head().IDs, w.Next, w.To)
	}
	return false
}

// away gives the worker's slot back: its incarnation is over.
func (a *worker) away() {
	a.work.Slot.Return()
	a.work.Slot = nil
}

// exit says that the worker executes nothing.
func (a *worker) exit() {
	a.work.Slot.Clear()
	if a.inside {
		a.inside = false
		a.s.run.care.gate.leave(a.alone)
	}
}
