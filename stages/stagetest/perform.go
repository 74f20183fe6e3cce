package stagetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A play is how the samples are given to a kind.
type play struct {
	epochs    int // 0: one
	around    *stages.Hook
	watch     func(late bool) // is told of each emit, if there is a hook, and of each in a flush
	replaced  int             // workers are replaced before this item, counted from 1; 0: never
	ended     int             // their context ends there
	endAtEmit bool            // or at the first emit
}

// A performance is what came of a play.
type performance struct {
	out    []string // as printed when they came out
	later  []string // as printed at the end
	failed []*stages.ItemError
	err    error
	log    []string
	hung   bool
}

// complain reports what must not be, whatever comes out.
func (p *performance) complain(t testing.TB, how string) bool {
	t.Helper()
	switch {
	case p.hung:
		t.Errorf("%s: it does not return within %v", how, patience)
	case p.err != nil:
		t.Errorf("%s: %v", how, p.err)
	case len(p.failed) > 0:
		t.Errorf("%s: %v", how, p.failed[0])
	default:
		return false
	}
	return true
}

// A scene is a walk while it is watched.
type scene[Out any] struct {
	w      *walk
	out    []Out
	prints []string
	log    []string
	passed atomic.Int64
}

func (x *exam[In, Out]) graph(t testing.TB, around *stages.Hook) *plan.Graph {
	t.Helper()
	return define(t, func(g *stages.Graph, given stages.Stream[In]) stages.Stream[Out] {
		if around != nil {
			g.Hook(*around)
		}
		return x.build(given)
	})
}

func (x *exam[In, Out]) stage(t testing.TB, g *plan.Graph, p play) *scene[Out] {
	s := &scene[Out]{}
	s.w = newWalk(t.Context(), g, func(c plan.Chunk) {
		for _, v := range c.(*plan.Of[Out]).Items {
			s.out, s.prints = append(s.out, v), append(s.prints, printOf(v))
		}
	}, func(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) })
	s.w.watch = func(late bool) {
		s.passed.Add(1)
		if p.endAtEmit {
			s.w.cancel()
		}
		if p.watch != nil {
			p.watch(late)
		}
	}
	return s
}

// performance is what came of it, when it has ended.
func (s *scene[Out]) performance() performance {
	return performance{out: s.prints, later: prints(s.out), failed: s.w.failed, err: s.w.err(), log: s.log}
}

// perform gives the samples to a new graph.
func (x *exam[In, Out]) perform(t testing.TB, p play) performance {
	t.Helper()
	g := x.graph(t, p.around)
	s := x.stage(t, g, p)
	done := make(chan bool, 1)
	// Owner: the test. Ends when the kind has returned from its last call. perform waits for it, but no longer than its
	// patience.
	go func() {
		for range max(p.epochs, 1) {
			for i := range len(x.samples) + 1 {
				if i+1 == p.replaced {
					s.w.replace()
				}
				if i+1 == p.ended {
					s.w.cancel()
				}
				s.passed.Add(1)
				if i < len(x.samples) {
					s.w.give(single(g, x.samples[i]))
				}
			}
			s.w.endEpoch()
		}
		s.w.end()
		done <- true
	}()
	if _, returned := wait(done, &s.passed); !returned {
		s.w.cancel()
		return performance{hung: true}
	}
	return s.performance()
}

// atOnce gives the samples to a worker in one delivery, as a run does when they come fast: some workers take several in one
// go. It is for kinds that are one stage.
func (x *exam[In, Out]) atOnce(t testing.TB) {
	t.Helper()
	g := x.graph(t, nil)
	last := g.Stages[len(g.Stages)-1]
	if len(g.Stages) != 2 || last.Open == nil || last.Streaming {
		return
	}
	s := x.stage(t, g, play{})
	defer s.w.end()
	c := g.Stages[0].Pool.Get(len(x.samples)).(*plan.Of[In])
	c.Items = append(c.Items, x.samples...)
	c.Head().IDs.Source(0, 0, 0, len(c.Items))
	p := &parcel{item: c, flush: flushOf(last)}
	at := s.w.posts[1].(*station)
	at.worker = newWorker(at)
	for p.from < c.Len() {
		before := p.from
		o := at.worker.do(p)
		if o.out != nil {
			s.w.outlet(o.out)
		}
		if o.err != nil || p.from == before {
			t.Errorf("in one go: stopped at item %d: %v", p.from, o.err)
			return
		}
	}
	if d := difference(s.prints, x.first.out); d != "" {
		t.Errorf("in one go: %s", d)
	}
}

func prints[T any](all []T) (out []string) {
	for _, v := range all {
		out = append(out, printOf(v))
	}
	return out
}
