package actors

import "math"

// Where items of a fork stand. Those of one input come in the order of their positions; marks say how far an input has
// come that gives nothing.

// locate finds where the next item of input i stands.
func (m *mixer) locate(in *inlet) {
	if in.known {
		return
	}
	pos, run, step, ok := in.look.Position(m.mix.Fork)
	if !ok || pos < in.low { // what an aggregate has held back stands where it is let go of
		pos, step = in.low, 0
	}
	in.known, in.pos, in.run, in.step = true, pos, run, uint64(step)
}

// first returns the input whose next item stands first, and before which position it has to stop, on behalf of which
// other input. An item stands before another of the same position if its input comes first.
func (m *mixer) first() (best int, limit uint64, of int) {
	best, of, limit = -1, -1, math.MaxUint64
	var at uint64
	for i := range m.ins {
		in := &m.ins[i]
		low := in.low
		switch {
		case in.ready():
			m.locate(in)
			if low = in.pos; best < 0 || low < at {
				if best >= 0 && (at < limit || at == limit && best < of) {
					limit, of = at, best
				}
				best, at = i, low
				continue
			}
		case in.through():
			continue
		}
		if of < 0 || low < limit {
			limit, of = low, i
		}
	}
	return best, limit, of
}
