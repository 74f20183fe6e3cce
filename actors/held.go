package actors

import (
	"slices"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// What an aggregator holds stays in the stage's custody: mostly the end of its input, and in a stage with groups any part
// of it.

// A shelf is what is held, in input order.
type shelf struct {
	fifo[stretch]
	items int // held in all of them
	empty int // stretches of which nothing is held any more
}

// A stretch is items of one lot that have come to be held together.
type stretch struct {
	lot      *lot
	number   uint64 // of item from
	from, to int
	past
	left int      // how many are still held
	gone []uint64 // which are not, a bit for each, if they are not the first ones
}

// past is what items have been through that were held before.
type past struct {
	replays int           // times that they were given to an aggregator before
	since   time.Duration // when they were first held; only with MaxWait, and if they were
}

// keep takes note that a piece has reached an item. Of all that has been worked on, the last n are held then; in a stage
// with groups, all but what has been let go of.
func (s *stage) keep(p *piece, reached, n int) {
	if k := reached - p.from; k > 0 {
		p.lot.open++
		h := p.past
		if s.spec.MaxWait > 0 && h.replays == 0 {
			h.since = s.run.clock()
		}
		s.kept.push(stretch{lot: p.lot, number: p.lot.first + uint64(p.from), from: p.from, to: reached, past: h, left: k})
		s.kept.items += k
	}
	if s.spec.Groups == 0 {
		s.letGoOldest(s.kept.items - n)
		return
	}
	s.letGo(p.gone)
}

// letGoOldest lets go of the n items that came first.
func (s *stage) letGoOldest(n int) {
	s.kept.items -= n
	for n > 0 {
		k := s.kept.front()
		if k.left > n {
			k.from, k.number, k.left = k.from+n, k.number+uint64(n), k.left-n
			return
		}
		n -= k.left
		s.leave(k.lot)
		s.kept.pop()
	}
}

// letGo lets go of the items of these numbers.
func (s *stage) letGo(numbers []uint64) {
	var k *stretch
	for _, n := range numbers {
		if k == nil || n < k.number || n >= k.number+uint64(k.to-k.from) {
			k = s.kept.find(n)
		}
		i := int(n - k.number)
		k.lot.chunk.Forget(k.from + i) // the lot may have to stay for long
		if k.remove(i); k.left == 0 {
			s.leave(k.lot)
			k.lot, k.gone = nil, nil
			s.kept.empty++
		}
	}
	s.kept.items -= len(numbers)
	s.kept.tidy()
}

// leave tells a lot that one that referred to it does so no more.
func (s *stage) leave(l *lot) {
	l.open--
	s.freeLot(l)
}

// find returns the stretch with the item of a number.
func (h *shelf) find(n uint64) *stretch {
	q := h.waiting()
	i, found := slices.BinarySearchFunc(q, n, func(k stretch, n uint64) int {
		switch {
		case k.number > n:
			return 1
		case k.number+uint64(k.to-k.from) <= n:
			return -1
		}
		return 0
	})
	if !found || q[i].left == 0 {
		panic("actors: an item was let go of that is not held")
	}
	return &q[i]
}

// tidy drops the stretches of which nothing is left: at the front at once, and elsewhere when they are most of them, so
// that an item that is held for long does not let them pile up.
func (h *shelf) tidy() {
	for h.len() > 0 && h.front().left == 0 {
		h.pop()
		h.empty--
	}
	if h.empty > h.len()/2 {
		h.q = slices.DeleteFunc(h.q, func(k stretch) bool { return k.left == 0 })
		h.i, h.empty = 0, 0
	}
}

func (h *shelf) clear() {
	h.fifo.clear()
	h.items, h.empty = 0, 0
}

// remove notes that the i-th item is not held any more.
func (k *stretch) remove(i int) {
	if k.left--; k.left == 0 {
		return
	}
	if k.gone == nil {
		k.gone = make([]uint64, (k.to-k.from+63)/64)
	}
	w, bit := &k.gone[i/64], uint64(1)<<(i%64)
	if *w&bit != 0 {
		panic("actors: an item was let go of twice")
	}
	*w |= bit
}

// before returns the last items before i, in a row, that are held. There are none if from is to.
func (k *stretch) before(i int) (from, to int) {
	if k.gone == nil {
		return k.from, i
	}
	is := func(i int) bool { i -= k.from; return k.gone[i/64]>>(i%64)&1 == 0 }
	for to = i; to > k.from && !is(to-1); to-- {
	}
	for from = to; from > k.from && is(from-1); from-- {
	}
	return from, to
}

// restore makes what a dead aggregator held the first thing that its successor is given.
func (s *stage) restore() {
	for _, k := range slices.Backward(s.kept.waiting()) {
		if k.left == 0 {
			continue
		}
		for from, to := k.before(k.to); from < to; from, to = k.before(from) {
			p := s.newPiece()
			p.lot, p.from, p.to, p.next, p.epoch, p.era = k.lot, from, to, s.head, k.lot.chunk.Head().Epoch, k.lot.era
			p.past = past{k.replays + 1, k.since}
			if s.head != nil {
				s.head.prev = p
			} else {
				s.tail = p
			}
			s.head = p
			k.lot.open++
		}
		k.lot.open--
	}
	s.kept.clear()
	s.relist()
}

// watchHeld arms the timer of MaxWait while something is held.
func (s *stage) watchHeld() {
	if s.spec.MaxWait == 0 || s.holding || s.kept.items == 0 || s.over {
		return
	}
	s.holding = true
	wait := s.spec.MaxWait - (s.run.clock() - s.kept.front().since)
	s.after(max(wait, 0), s.waitedFor)
}

// waitedFor flushes what has been held for MaxWait.
func (s *stage) waitedFor() {
	s.holding = false
	if s.kept.items == 0 || s.over {
		return
	}
	if s.kept.front().lot.era != s.cutEra {
		return // the epoch has ended: its mark is in the ledger, and flushes
	}
	until, now := uint64(0), s.run.clock()
	for _, k := range s.kept.waiting() {
		if now-k.since < s.spec.MaxWait {
			break
		}
		until = k.number + uint64(k.to-k.from)
	}
	if until == 0 {
		s.watchHeld()
		return
	}
	p := s.newPiece()
	p.flush, p.until, p.era, p.epoch = plan.FlushHeld, until, s.cutEra, s.kept.front().lot.chunk.Head().Epoch
	s.link(p)
	s.lost = append(s.lost, p)
	s.holding = true
}

// flushed is told that a flush has succeeded.
func (s *stage) flushed(p *piece) {
	s.flushFails = 0
	if !p.mark {
		s.holding = false
	}
}
