package stagetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/restart"
	"github.com/weirflow/weir/stages"
)

// A merge takes from its inputs what the mix says, as soon as it can be known. They have one source in common, so only
// Arrival, InputOrder and Rejoin may have several: the others could wait for ever, and are refused.
type merge struct {
	whole *plan.Deal // the last batch that was joined: a part of it that comes now comes twice
	w     *walk
	spec  *plan.Stage
	mix   *plan.Mix
	ins   []inlet
	over  bool

	epoch   int
	chooser plan.Chooser
	deaths  *restart.Record // of the chooser
	passed  []pass          // marks of rounds that are not this join's own
	keeps   bool            // the order that it restores is asked for again, below
}

// An inlet is one input of a merge.
type inlet struct {
	q      []plan.Chunk // of at most one item each
	parked bool         // it has ended the epoch
	low    uint64       // no later item stands before this; not 0, as positions are
	upto   []uint64     // how far the rounds of merge.passed have come
}

// A pass is how far a fork's rounds have been passed on.
type pass struct {
	fork int
	upto uint64
}

func newMerge(w *walk, s *plan.Stage) *merge {
	m := &merge{w: w, spec: s, mix: s.Mix, keeps: s.Marks(0, s.Mix.Fork), deaths: restart.New(s.Restart.Limits())}
	for _, forks := range s.Rounds {
		for _, fork := range forks {
			m.passed = append(m.passed, pass{fork: fork})
		}
	}
	for range s.In {
		m.ins = append(m.ins, inlet{low: 1, upto: make([]uint64, len(m.passed))})
	}
	return m
}

func (m *merge) take(c plan.Chunk, in int) {
	if m.over {
		return
	}
	m.ins[in].q = append(m.ins[in].q, c)
	for i := range m.ins {
		m.settle(i)
	}
	for !m.over && (m.endEpoch() || m.step()) {
	}
	m.passRounds()
}

// settle goes over the marks at the front of input i.
func (m *merge) settle(i int) {
	in := &m.ins[i]
	for !in.parked && len(in.q) > 0 && in.q[0].Len() == 0 {
		m.pop(i)
	}
}

// pop goes behind the front of input i.
func (m *merge) pop(i int) {
	in := &m.ins[i]
	h := in.q[0].Head()
	in.q = in.q[1:]
	if h.Round.Fork != 0 {
		if h.Round.Fork == m.mix.Fork {
			in.low = max(in.low, h.Round.Upto+1)
		}
		for k := range m.passed {
			if m.passed[k].fork == h.Round.Fork {
				in.upto[k] = h.Round.Upto
			}
		}
	}
	in.parked = h.Last
}

// ready reports whether an input has an item at hand. settle has been called.
func (in *inlet) ready() bool { return !in.parked && len(in.q) > 0 }

// endEpoch ends the epoch when every input has ended it.
func (m *merge) endEpoch() bool {
	if slices.ContainsFunc(m.ins, func(in inlet) bool { return !in.parked }) {
		return false
	}
	m.w.push(m.port(), m.w.mark(m.spec, m.epoch, true, plan.Round{}))
	m.epoch++
	for i := range m.ins {
		m.ins[i].parked, m.ins[i].low = false, 1 // what stood at the end does not hold back the next epoch
		m.settle(i)
	}
	return true
}

func (m *merge) port() plan.Port { return plan.Port{Stage: m.spec.Index} }

// step takes one item, and reports whether there was one to take.
func (m *merge) step() bool {
	i := -1
	switch {
	case m.mix.How == plan.Rejoin:
		return m.rejoin()
	case m.mix.How == plan.ByValue:
		i = m.byValue()
	case m.mix.Fork != 0:
		i = m.inOrder()
	default:
		i = slices.IndexFunc(m.ins, func(in inlet) bool { return in.ready() }) // one at most: nothing waits here
	}
	if i < 0 {
		return false
	}
	c := m.ins[i].q[0]
	d := m.spec.Pool.Get(1)
	d.Copy(c, 0, 1)
	ids := c.Head().IDs.From(0)
	if m.mix.How == plan.InputOrder && !m.keeps {
		ids.Unsplit(&d.Head().IDs, 1, m.mix.Fork)
	} else {
		ids.CopyTo(&d.Head().IDs, 1)
	}
	m.pop(i)
	m.settle(i)
	m.give(d)
	return true
}

func (m *merge) give(d plan.Chunk) {
	d.Head().Epoch = m.epoch
	m.w.push(m.port(), d)
}

// byValue has the user's function choose, of one input.
func (m *merge) byValue() int {
	if !m.ins[0].ready() {
		return -1
	}
	for {
		if m.chooser == nil {
			m.chooser = m.mix.Open()
		}
		var order []int
		var err error
		d := apart(func() { err = m.chooser.Choose(m.w.ctx, m.ins[0].q[:1], []int{0}, 1, &order) })
		if d != nil {
			err = d.error(m.spec.Name)
			m.chooser = nil
		}
		switch {
		case err == nil && len(order) > 0:
			m.deaths.Progress()
			return order[0]
		case d != nil:
			if _, again := m.deaths.Died(m.w.clock, err, false, noDice); again {
				continue
			}
			m.fail(stages.RestartErrorOf(m.spec.Name, m.deaths))
		case err != nil:
			m.fail(fmt.Errorf("stage %q: %w", m.spec.Name, err))
		}
		return -1
	}
}

// passRounds hands on the marks of rounds that every input has reached, for a join below.
func (m *merge) passRounds() {
	for k := range m.passed {
		p := &m.passed[k]
		upto := uint64(math.MaxUint64)
		for i := range m.ins {
			if in := &m.ins[i]; !in.parked {
				upto = min(upto, in.upto[k])
			}
		}
		if !m.over && upto > p.upto && upto < math.MaxUint64 {
			p.upto = upto
			m.w.push(m.port(), m.w.mark(m.spec, m.epoch, false, plan.Round{Fork: p.fork, Upto: upto}))
		}
	}
}

func (m *merge) fail(err error) {
	m.over = true
	m.w.fail(m.spec, err)
}

func (m *merge) complete() {}

func (m *merge) close() {}
