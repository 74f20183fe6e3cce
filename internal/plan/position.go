package plan

import "math"

// Where items stand in the order of a fork: found by a walk up what they were made of.

// Position returns the place of the item under the cursor in the order of fork, and for how many items from there on it is
// known with it: each stands step behind the one before. ok is false if the item has not come by fork.
func (c *Cursor) Position(fork int) (at uint64, n, step int, ok bool) {
	r := &c.ids.runs[c.k]
	n = int(r.n) - c.i
	if r.fam != nil && r.fam.split().isOf(fork) {
		return r.fam.split().place(int(r.sub) + c.i*r.step()), n, r.step(), true
	}
	one := r.from(c.i, 1)
	if at, ok = one.position(fork); !ok {
		return 0, n, 0, false
	}
	if !r.kids || r.fam.split() != nil {
		n = 1 // the next one may have come another way
	}
	return at, n, 0, true
}

func (s *Split) place(i int) uint64 { return s.round.seq<<placeBits | uint64(s.base) + uint64(i) }

// isOf reports whether s is where items parted at fork. s may be nil.
func (s *Split) isOf(fork int) bool { return s != nil && s.round != nil && s.round.Fork == fork }

// EpochEnd is the position of what stands at the end of the epoch.
const EpochEnd = math.MaxUint64 - 1

// A spot is a position in the order of a fork.
type spot struct {
	fork int
	at   uint64
}

// position walks up. What was made of several items stands where the last of them stood, unless it is known better.
func (r Run) position(fork int) (uint64, bool) {
	for r.fam != nil {
		if s := r.fam.split(); s.isOf(fork) {
			return s.place(int(r.sub)), true
		}
		if x := r.fam.special; x != nil && x.spots != nil {
			for _, s := range x.spots {
				if s.fork == fork {
					return s.at, true
				}
			}
			return 0, false
		}
		if r = r.up(); r.n == 0 {
			break
		}
	}
	return 0, false
}

// EndOfEpoch returns what stands for an item, in Merged, where outputs of the stage stand at the end of the epoch. It is
// empty if nobody asks where they stand.
func (s *Stage) EndOfEpoch() Run {
	if len(s.Rounds) == 0 {
		return Run{}
	}
	var spots []spot
	for _, fork := range s.Rounds[0] {
		spots = append(spots, spot{fork, EpochEnd})
	}
	return Run{fam: &Family{special: &special{spots: spots}}, n: 1}
}

// spots returns the positions of the item, a run of one, in the orders of all forks that it has come by.
func (r Run) spots() (all []spot) {
	for r.fam != nil {
		x := r.fam.special
		switch {
		case x == nil:
		case x.spots != nil:
			return append(all, x.spots...) // a copy
		case x.split != nil && x.split.round != nil:
			all = append(all, spot{x.split.round.Fork, x.split.place(int(r.sub))})
		}
		if r = r.up(); r.n == 0 {
			break
		}
	}
	return all
}

// up returns the item that a member of a family, a run of one, was made of: the last one if there were several. It is
// empty if there was none.
func (r Run) up() Run {
	f := r.fam
	switch {
	case f.parents.n == 0:
		return Run{}
	case f.split() != nil:
		return f.parents.at(int(r.sub))
	}
	return f.parents.last()
}
