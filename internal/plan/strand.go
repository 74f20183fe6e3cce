package plan

import "math"

// HOT PATH: Strand.Add runs for every item that parts.

// A Base is a stretch of items of one chunk whose identities are those of one run.
type Base struct {
	run        Run
	start, end int // items of the chunk
	key        int // tells bases of one chunk from each other
}

// Base makes b that of the item under the cursor.
func (c *Cursor) Base(b *Base) {
	start := c.at - c.i
	*b = Base{c.ids.runs[c.k], start, start + int(c.ids.runs[c.k].n), b.key + 1}
}

// Base makes b that of the n members of f, which NewSplit made; the first is item start of the chunk.
func (f *Family) Base(b *Base, start, n int) {
	run := f.Member(0)
	run.n = uint32(n)
	*b = Base{run, start, start + n, b.key + 1}
}

// Has reports whether item i is one of b.
func (b *Base) Has(i int) bool { return i >= b.start && i < b.end }

// A Strand is the items of one chunk that go one way. It finds those at equal distances, so that they become one run.
type Strand struct {
	base           Base // with the key 0 if there is nothing in it
	first, last, n int  // items of the chunk
	gap            int  // from one to the next; 0 for one item
	way            int  // branch
}

// Goes says by which branch the items go.
func (s *Strand) Goes(way int) { s.way = way }

// Add adds item i, which is one of b and comes behind those before it. Identities that are complete go to dst.
func (s *Strand) Add(dst *IDs, b *Base, i int) {
	if s.base.key == b.key && i-s.last == s.gap { // so short that it is inlined
		s.last = i
		s.n++
		return
	}
	s.begin(dst, b, i)
}

func (s *Strand) begin(dst *IDs, b *Base, i int) {
	if s.n == 1 && s.base.key == b.key {
		s.gap, s.last, s.n = i-s.last, i, 2
		return
	}
	s.Flush(dst)
	*s = Strand{base: *b, first: i, last: i, n: 1, way: s.way}
	s.base.run.goes(s.way)
}

// Flush appends what has not gone to dst yet.
func (s *Strand) Flush(dst *IDs) {
	if s.n == 0 {
		return
	}
	r := &s.base.run
	one := r.from(s.first-s.base.start, 1)
	switch gap := s.gap*r.step() - 1; {
	case s.n == 1:
		dst.add(one)
	case gap <= math.MaxUint8:
		one.n, one.gap = uint32(s.n), uint8(gap)
		dst.add(one)
	default:
		for i := s.first; i <= s.last; i += s.gap {
			dst.add(r.from(i-s.base.start, 1))
		}
	}
	s.n, s.gap, s.base.key = 0, 0, 0
}
