package plan

import (
	"math/bits"
	"sync/atomic"
)

// Where items part: what a stage with several outputs adds to the identities that go through it.

// A Split is a stretch of items that part. Its members are the items [0, n) of its parents, once or in several
// branches each, so each of them has an account of its own.
type Split struct {
	round *OpenRound // nil: nobody restores the order
	base  uint32
	slots []atomic.Uint64 // of the members that are alive and their fates; nil: each is alive once
	width uint8           // bits of a slot
}

// A slot is a count, and above it two bits of a Fate.
const fateBits = 2

// maxSplitRuns keeps the walk to a member's parent short where every item is a run of its own.
const maxSplitRuns = 32

// NewSplit begins a stretch of items that part, with the item under c, and returns it and how many items it is for: at
// most to the item to. round is nil if nobody restores the order. outs, if it is more than one, is how many branches an
// item may take; SetAlive then says how many each takes.
func NewSplit(c Cursor, to int, round *OpenRound, base, outs int) (*Family, int) {
	x := &struct {
		Family
		special
		Split
	}{Split: Split{round: round, base: uint32(base)}}
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
	default: // 16: no stage has more branches
		ones = 0x0001000100010001
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

// Split appends members [from, from+n) of f, which NewSplit made, to s, which goes that way.
func (s *IDs) Split(f *Family, from, n, way int) {
	r := f.Member(from)
	r.n = uint32(n)
	r.goes(way)
	s.add(r)
}

// goes notes by which branch members of a split go, where an item may go by several: its index says so, for those in the split's
// parents say where they are from.
func (r *Run) goes(way int) {
	if s := r.fam.split(); s != nil && s.slots != nil {
		r.index = uint64(way)
	}
}
