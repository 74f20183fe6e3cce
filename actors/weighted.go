package actors

import (
	"math/rand/v2"

	"github.com/weirflow/weir/internal/plan"
)

// weighted takes from the input that is drawn, and waits for it. An input that is found to be through has no weight for
// the rest of the epoch, so the order follows from the data, not from when it comes.
type weighted struct {
	picks
	random *rand.PCG
	draws  draws
	drawn  int    // the input that has been drawn and has not given; -1: none
	taps   []*tap // of sources that feed nothing else
}

func newWeighted(m *mixer) *weighted {
	return &weighted{taps: m.run.tapsOf(m.spec), picks: picks{m: m}}
}

func (w *weighted) newEpoch() {
	w.random, w.drawn = rand.NewPCG(w.m.mix.Seed, uint64(w.m.epoch)), -1
	w.draws.fill(w.m.mix.Weights)
}

func (w *weighted) step(credit int) (bool, int) {
	m := w.m
	if m.ending {
		return false, m.stuck() // the inputs end by themselves
	}
	most := min(credit, mostTaken)
	if n := m.mix.EpochItems; n > 0 {
		most = int(min(int64(most), n-m.given))
	}
	d := m.spec.Pool.Get(most)
	for w.begin(); d.Len()+len(w.order) < most; {
		if w.drawn < 0 {
			w.drawn = w.draws.draw(w.random.Uint64())
		}
		i := w.drawn
		in := &m.ins[i]
		if in.ready() {
			w.pick(d, i)
			w.drawn = -1
			continue
		}
		if !in.through() {
			return w.gather(d), i
		}
		if m.mix.UntilFirstEnd {
			moved := w.gather(d)
			return w.firstEnd(i) || moved, m.stuck()
		}
		w.drawn = -1
		w.draws.remove(i)
		if m.allThrough() {
			break
		}
	}
	return w.gather(d), -1
}

// firstEnd ends the epoch because input i has: what the others have left of theirs is dropped. If it has ended for good,
// so does the stream.
func (w *weighted) firstEnd(i int) bool {
	m := w.m
	if !m.ins[i].parked {
		m.ending = true
		for k := range m.ins {
			m.ins[k].parked = false
			m.settle(k)
		}
		for _, t := range w.taps {
			t.gate.Drain()
			t.cancel()
		}
		return true
	}
	moved := false
	for _, t := range w.taps {
		t.gate.Skip(m.epoch)
	}
	for k := range m.ins {
		in := &m.ins[k]
		if !in.through() && !in.dropped {
			in.dropped, moved = true, true
			m.settle(k)
		}
	}
	return moved
}

// tapsOf returns the sources that feed the stage and nothing else, and whose epochs are those that it sees.
func (r *Run) tapsOf(s *plan.Stage) (taps []*tap) {
	for _, p := range s.In {
		up := r.graph.Stages[p.Stage]
		switch {
		case up.Feed != nil:
			taps = append(taps, r.tapOf[up.Index])
		case up.Outs == 1 && (up.Mix == nil || up.Mix.EpochItems == 0):
			taps = append(taps, r.tapsOf(up)...)
		}
	}
	return taps
}
