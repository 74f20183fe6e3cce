package actors

import "github.com/weirflow/weir/internal/plan"

// What a stage does with its results: one output, several, or none.

// emit hands a result, of an epoch, to the outboxes.
func (s *stage) emit(r result, epoch int) {
	switch {
	case s.spec.Fork != nil:
		s.emitBranches(r, epoch)
	case len(s.outs) == 0:
		s.hasLeft(r.inputs)
	default:
		s.outs[0].push(out{chunk: r.chunk, inputs: r.inputs, door: r.door})
	}
}

// emitBranches hands the branches of a result to their outboxes, and marks the end of its round in all branches of which a
// join restores the order.
func (s *stage) emitBranches(r result, epoch int) {
	var round plan.Round
	items, used := 0, 0
	for _, c := range r.branches {
		if c != nil {
			items += c.Len()
			used++
		}
	}
	if used == 0 {
		s.hasLeft(r.inputs)
		s.keepBranches(r.branches)
		return
	}
	if r.begun != nil {
		s.rounds++
		round = r.begun.Close(s.rounds)
	}
	var sh *shared
	if s.spec.Fork.Several {
		sh = &shared{r.inputs, used}
	} else {
		s.hasLeft(r.inputs - items) // those that went nowhere
	}
	for i, c := range r.branches {
		o := &s.outs[i]
		marks := round.Fork != 0 && s.spec.Marks(i, round.Fork)
		switch {
		case c != nil:
			n := c.Len()
			if marks {
				c.Head().Round = round
			}
			if sh != nil {
				n = 0
			}
			o.push(out{chunk: c, inputs: n, single: sh == nil, shared: sh})
		case marks:
			o.push(out{chunk: s.markOf(round, epoch)})
		}
	}
	s.keepBranches(r.branches)
}

func (s *stage) markOf(r plan.Round, epoch int) plan.Chunk {
	c := s.spec.Pool.Get(0)
	c.Head().Epoch, c.Head().Round = epoch, r
	return c
}

// endRound passes on the end of a round: everything before it is in the outboxes.
func (s *stage) endRound(p *piece) {
	for i := range s.outs {
		if s.spec.Marks(i, p.round.Fork) {
			s.outs[i].push(out{chunk: s.markOf(p.round, p.epoch)})
		}
	}
	p.round = plan.Round{}
	s.hasLeft(1)
}

// stops returns how far the rounds are complete at the item at which p stands, for each output. It asks while the item is
// alive.
func (s *stage) stops(p *piece) (all []stop) {
	for i, forks := range s.spec.Rounds {
		for _, fork := range forks {
			c := p.lot.chunk.Head().IDs.From(p.from)
			if at, _, _, ok := c.Position(fork); ok {
				all = append(all, stop{i, plan.Round{Fork: fork, Upto: at - 1}})
			}
		}
	}
	return all
}

// A stop is how far an output is complete when the run fails.
type stop struct {
	out   int
	round plan.Round
}

// endRounds says how far the rounds are complete in which the run fails.
func (s *stage) endRounds(p *piece) {
	for _, st := range p.stops {
		s.outs[st.out].push(out{chunk: s.markOf(st.round, p.epoch)})
	}
}

// toAll hands a chunk to every output; inputs leave with the last of them.
func (s *stage) toAll(chunk func() plan.Chunk, inputs int) {
	switch len(s.outs) {
	case 0:
		s.hasLeft(inputs)
	case 1:
		s.outs[0].push(out{chunk: chunk(), inputs: inputs})
	default:
		sh := &shared{inputs, len(s.outs)}
		for i := range s.outs {
			s.outs[i].push(out{chunk: chunk(), shared: sh})
		}
	}
}

// newBranches returns memory for one delivery's outputs.
func (s *stage) newBranches() []plan.Chunk {
	n := len(s.spareBranches)
	if n == 0 {
		return make([]plan.Chunk, len(s.outs))
	}
	p := s.spareBranches[n-1]
	s.spareBranches = s.spareBranches[:n-1]
	return p
}

func (s *stage) keepBranches(p []plan.Chunk) {
	if p != nil && len(s.spareBranches) < maxSpares {
		clear(p)
		s.spareBranches = append(s.spareBranches, p)
	}
}

// maxSpares is how many pieces, lots and the like a stage keeps for later.
const maxSpares = 16
