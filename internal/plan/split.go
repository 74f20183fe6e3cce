package plan

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// Where items part: what a stage with several outputs adds to the identities that go through it.

// A Round is the end of what a fork has sent in one go: a mark in the data lane of its outputs, which says that
// everything up to position Upto has been sent. Marks are not counted: a later one stands for those before it, so a
// queue may drop all but the last of neighbours.
//
// It is what a join waits for that restores the order of the fork: an item may be on its way, or filtered, and
// without the mark nobody could tell which.
type Round struct {
	Fork int    // index of the stage that parts, plus one; 0: no mark
	Upto uint64 // position of the last item of the round
}

// A Turn is one result of a fork. Its items get their positions when the fork's actor releases it.
type Turn struct {
	Fork int // as in Round
	seq  uint64
}

// Turns beyond 1<<40, and items of one turn beyond 1<<24, are not expected: a turn is the result of about 0.1 ms of
// work.
const placeBits = 24

// Release numbers the turn and returns its last position.
func (t *Turn) Release(seq uint64) Round {
	t.seq = seq
	return Round{t.Fork, seq<<placeBits | (1<<placeBits - 1)}
}

// A Split is a stretch of items that part. Its members are the items [0, n) of its parents, once or in several
// branches each, so each of them has an account of its own.
type Split struct {
	turn  *Turn // nil: nobody restores the order
	base  uint32
	slots []atomic.Uint64 // of the members that are alive and their fates; nil: each is alive once
	width uint8           // bits of a slot
}

// A slot is a count, and above it two bits of a Fate.
const fateBits = 2

// maxSplitRuns keeps the walk to a member's parent short where every item is a run of its own.
const maxSplitRuns = 32

// NewSplit begins a stretch of items that part, with the item under c, and returns it and how many items it is for: at
// most to the item to. turn is nil if nobody restores the order. outs, if it is more than one, is how many branches an
// item may take; SetAlive then says how many each takes.
func NewSplit(c Cursor, to int, turn *Turn, base, outs int) (*Family, int) {
	x := &struct {
		Family
		special
		Split
	}{Split: Split{turn: turn, base: uint32(base)}}
	f := &x.Family
	f.special = &x.special
	f.special.split = &x.Split
	f.parents.runs = f.one[:0]
	first := c.at
	for c.at < to && len(f.parents.runs) < maxSplitRuns {
		r := &c.ids.runs[c.k]
		m := min(to-c.at, int(r.n)-c.i)
		f.parents.add(r.from(c.i, m))
		c.step(m)
	}
	n := c.at - first
	if outs > 1 {
		s := &x.Split
		for s.width = 4; outs > 1<<(s.width-fateBits)-1; {
			s.width *= 2
		}
		per := 64 / int(s.width)
		s.slots = make([]atomic.Uint64, (n+per-1)/per)
	}
	return f, n
}

// SetAlive says in how many branches member i is. It is called before anybody else knows the member. In none means that
// the caller settles the parent.
func (f *Family) SetAlive(i, n int) {
	s := f.split()
	if s.slots == nil {
		return
	}
	per := 64 / int(s.width)
	w := &s.slots[i/per]
	w.Store(w.Load() | uint64(n)<<(i%per*int(s.width)))
}

// SetAllAlive is SetAlive(i, n) for members [0, to).
func (f *Family) SetAllAlive(to, n int) {
	s := f.split()
	per := 64 / int(s.width)
	word := uint64(0)
	for i := range per {
		word |= uint64(n) << (i * int(s.width))
	}
	for i := range s.slots {
		if m := to - i*per; m < per {
			word &= 1<<(max(m, 0)*int(s.width)) - 1
		}
		s.slots[i].Store(word)
	}
}

// settleMembers says what became of the members of r, of one branch each.
func (t *Tally) settleMembers(fam *Family, r Run, f Fate) {
	if r.gap == 0 {
		t.settleRow(fam, int(r.sub), int(r.n), f)
		return
	}
	for i := range int(r.n) {
		t.settleRow(fam, int(r.sub)+i*r.step(), 1, f)
	}
}

// settleRow is settleMembers for members [at, at+n).
func (t *Tally) settleRow(fam *Family, at, n int, f Fate) {
	s := fam.split()
	if s.slots == nil {
		t.Settle(&fam.parents, at, at+n, f)
		return
	}
	width := int(s.width)
	per := 64 / width
	for n > 0 {
		first := at % per
		m := min(n, per-first)
		ones := slotOnes(width, first, m)
		w := &s.slots[at/per]
		if f != Filtered {
			w.Or(ones << (width - fateBits) * uint64(f))
		}
		now := w.Add(-ones)
		if gone := zeroSlots(now, width) & ones; gone != 0 {
			t.settleGone(fam, at-first, now, gone)
		}
		at += m
		n -= m
	}
}

// slotOnes is a 1 in each of the m slots of a word from first on.
func slotOnes(width, first, m int) uint64 {
	var ones uint64
	switch width {
	case 4:
		ones = 0x1111111111111111
	case 8:
		ones = 0x0101010101010101
	case 16:
		ones = 0x0001000100010001
	default:
		ones = 1 | 1<<32
	}
	if m*width < 64 {
		ones &= 1<<(m*width) - 1
	}
	return ones << (first * width)
}

// zeroSlots is a 1 in each slot of which the count is 0.
func zeroSlots(word uint64, width int) uint64 {
	ones := slotOnes(width, 0, 64/width)
	counts := word & (ones * (1<<(width-fateBits) - 1))
	any := counts
	for k := 1; k < width-fateBits; k++ { // or the bits of each count into its lowest
		any |= counts >> k
	}
	return ^any & ones
}

// settleGone settles the parents of the slots in gone: runs of one fate together.
func (t *Tally) settleGone(fam *Family, base int, word, gone uint64) {
	width := int(fam.split().width)
	for gone != 0 {
		i := bits.TrailingZeros64(gone) / width
		fate := word >> (i*width + width - fateBits) & 3
		j := i
		for j*width < 64 && gone>>(j*width)&1 != 0 && word>>(j*width+width-fateBits)&3 == fate {
			gone &^= 1 << (j * width)
			j++
		}
		t.Settle(&fam.parents, base+i, base+j, Fate(fate))
	}
}

// Member returns the identity of member i of f, which NewSplit made.
func (f *Family) Member(i int) Run {
	p := &f.parents.runs[0]
	return Run{index: p.index, fam: f, sub: uint32(i), n: 1, epoch: p.epoch, src: p.src, kids: true}
}

// Split appends members [from, from+n) of f, which NewSplit made, to s.
func (s *IDs) Split(f *Family, from, n int) {
	p := &f.parents.runs[0]
	s.add(Run{index: p.index, fam: f, sub: uint32(from), n: uint32(n), epoch: p.epoch, src: p.src, kids: true})
}

// Position returns the place of the item under the cursor in the order of fork, and for how many items from there on it is
// known with it: each stands step behind the one before. ok is false if the item has not come by fork.
func (c *Cursor) Position(fork int) (at uint64, n, step int, ok bool) {
	r := &c.ids.runs[c.k]
	n = int(r.n) - c.i
	if r.fam != nil && r.fam.split().parts(fork) {
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

func (s *Split) place(i int) uint64 { return s.turn.seq<<placeBits | uint64(s.base) + uint64(i) }

// parts reports whether s is where items parted at fork. s may be nil.
func (s *Split) parts(fork int) bool { return s != nil && s.turn != nil && s.turn.Fork == fork }

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
		if s := r.fam.split(); s.parts(fork) {
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
		case x.split != nil && x.split.turn != nil:
			all = append(all, spot{x.split.turn.Fork, x.split.place(int(r.sub))})
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

// pick appends those of o that are at the places of r.
func (s *IDs) pick(o *IDs, r Run) {
	if r.gap == 0 {
		s.Range(o, int(r.sub), int(r.sub)+int(r.n))
		return
	}
	if p := o.runs[0]; len(o.runs) == 1 && r.step()*p.step() <= math.MaxUint8+1 {
		one := p.from(int(r.sub), 1)
		one.n, one.gap = r.n, uint8(r.step()*p.step()-1)
		s.add(one)
		return
	}
	for i := range int(r.n) {
		s.add(o.at(int(r.sub) + i*r.step()))
	}
}

// Restore is Gather for identities that go on as they were before fork parted them: see Unsplit. Neighbours there are
// taken in one go.
func (s *IDs) Restore(from []*Cursor, order []int, fork int) {
	var of *Family
	first, end := 0, 0
	for _, i := range order {
		c := from[i]
		r := &c.ids.runs[c.k]
		if f := r.fam; f != nil && f == of || f.split().parts(fork) && f.split().slots == nil {
			at := int(r.sub) + c.i*r.step()
			if f != of || at != end {
				if of != nil {
					s.Range(&of.parents, first, end)
				}
				of, first = f, at
			}
			end = at + 1
			c.step(1)
			continue
		}
		if of != nil {
			s.Range(&of.parents, first, end)
			of = nil
		}
		s.add(c.Next())
	}
	if of != nil {
		s.Range(&of.parents, first, end)
	}
}

// Unsplit appends the items up to item to to dst, as they were before fork parted them, as far as each is alone in what
// it became: where items have been restored to the order of the fork, its mark on them has served.
func (c *Cursor) Unsplit(dst *IDs, to, fork int) {
	for c.at < to {
		r := &c.ids.runs[c.k]
		m := min(to-c.at, int(r.n)-c.i)
		if f := r.fam; f != nil && f.split().parts(fork) && f.split().slots == nil {
			dst.pick(&f.parents, r.from(c.i, m))
		} else {
			dst.add(r.from(c.i, m))
		}
		c.step(m)
	}
}
