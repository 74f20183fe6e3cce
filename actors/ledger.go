package actors

import (
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// The ledger: what is in the stage's custody, in input order, until its result has left.

// A lot is a chunk in custody, cut into pieces from the front. It is freed when all of it has been let go.
type lot struct {
	chunk plan.Chunk
	first uint64     // number of its first item, among all that the stage was sent
	era   int        // epochs' ends cut before it
	cut   int        // items cut off
	open  int        // pieces and stretches that refer to it
	round plan.Round // ends behind it, and that mark has not been cut
	last  bool       // an epoch ends behind it, and that mark has not been cut
	read  bool       // a function that hangs may still look at it: the chunk is left to the collector

	entries []outcome // what has come of its items, where they are worked on elsewhere
}

// A piece is what a worker gets: items [from, to) of a lot, or a flush, or both. It stays in the ledger, in input
// order, until its result is committed; the worker only borrows it. The same piece is the message there and back.
type piece struct {
	quiet
	prev, next *piece // the ledger; owned by the stage
	from, to   int
	origin
	ending
	custody
	loan
	answer

	state atomic.Int32
	work  atomic.Pointer[plan.Work] // while user code is at it
}

// An origin is what the items of a piece have in common, and keep when they are split.
type origin struct {
	lot   *lot // nil: no items
	epoch int
	era   int // epochs' ends cut before it
	past
	lostTimes int  // sessions that were lost when they had them
	suspect   bool // one of them may kill its process
	alone     int  // items before it go one by one: one of them has cost the worker of all
	single    bool // they are the rest of a piece that was called back: no estimate is trusted, they go out one by one
}

// An ending is what comes behind the items of a piece.
type ending struct {
	mark  bool       // an epoch ends here
	round plan.Round // ends here, and has to be passed on
	flush plan.Flush
	until uint64 // of a flush: see plan.Work
}

// A custody is what has become of a piece so far. It belongs to the stage.
type custody struct {
	attempt int          // attempts at item from that have failed
	since   uint64       // what the stage had finished when the first of them did
	resume  plan.Partial // of item from
	outs    []result     // that wait for their turn
	done    bool
	waits   bool   // for its next attempt, or for a letter: it is not handed out
	stops   []stop // how far the outputs are complete if the run fails at item from
	doom    bool   // the run fails here, once all before it is out
}

// A loan is how a piece was handed out last.
type loan struct {
	worker int  // who has it, or had it
	deaths int  // that the stage had noted
	tick   int  // when it was
	fresh  bool // nothing is queued before it
	late   bool // it has been called back

	// Of a copy.
	sent    bool          // to its session
	sentAt  time.Duration // when
	missing int           // items of which nothing has been accepted
}

// An answer is written by the worker between receipt and return. It is empty when the piece is handed out, and holds
// until it is handed out again.
type answer struct {
	reached  int // first item not done
	out      plan.Chunk
	branches []plan.Chunk // instead of out, where the stage forks
	begun    *plan.OpenRound
	held     int
	gone     []uint64 // items let go of, if the stage has groups
	dropped  int
	open     plan.Partial // of item reached
	busy     time.Duration

	faults []fault // of item reached, where it was worked on elsewhere

	plan.Verdict      // on item reached, or on the flush
	flushing     bool // Err is that of a flush
	unopened     bool // Err is that of open
	died         bool // Err cost the worker
	hung         bool // by not returning
	spoiled      bool // but the item has had its attempt: the worker held what it must not
	unsure       int  // and may be that of any item before this one; 0: it is that of item reached
}

func (*piece) control() {}

// States of a piece: at home with the stage, or sent; the worker takes what is queued, the stage may revoke it until
// then.
const (
	home int32 = iota
	queued
	taken
	revoked
)

// A result is what came of some items of the input, and how many places of it leave the stage with that.
type result struct {
	chunk    plan.Chunk      // nil: nothing came of the inputs
	branches []plan.Chunk    // by output, where the stage forks; nil: nothing for it
	begun    *plan.OpenRound // where a join restores the order
	inputs   int
	door     *door // to be opened when it has left
}

// before reports whether p comes before q in input order.
func (p *piece) before(q *piece) bool {
	if p.lot == nil || q.lot == nil || p.lot == q.lot && p.from == q.from {
		return false
	}
	return p.lot.first+uint64(p.from) < q.lot.first+uint64(q.from)
}

// items returns the number of items not done.
func (p *piece) items() int { return p.to - p.from }

// joined is how many items are made one lot of, whatever the room in their first chunk: lots of few items would make
// pieces of few.
const joined = 256

// take brings a chunk into custody. Small ones are joined: a chunk is whatever is pending.
func (s *stage) take(c plan.Chunk) {
	h := c.Head()
	if h.Round.Fork != 0 && !s.passes(h.Round.Fork) {
		h.Round = plan.Round{}
		s.left++
	}
	n, places := c.Len(), plan.Places(c)
	if places == 0 {
		c.Free()
		return
	}
	s.stats.in.Add(int64(n))
	s.waiting += places
	first := s.numbered
	s.numbered += uint64(n)
	if s.lots.len() > 0 {
		l := *s.lots.back()
		room := l.chunk.Room() >= n || l.chunk.Len() < joined
		behind := !l.last && l.chunk.Head().Epoch == h.Epoch && (l.round.Fork == 0 || l.round.Fork == h.Round.Fork)
		if behind && (n == 0 || l.cut == 0 && n <= 64 && room) {
			if l.round.Fork != 0 { // the later mark stands for both
				s.waiting--
				s.left++
			}
			if n > 0 { // else workers may be at it
				l.chunk.Append(c, 0, n)
			}
			l.round, l.last = h.Round, h.Last
			c.Free()
			return
		}
	}
	l := s.newLot()
	*l = lot{chunk: c, first: first, round: h.Round, last: h.Last}
	s.lots.push(l)
}

// passes reports whether the rounds of fork are marked at an output.
func (s *stage) passes(fork int) bool {
	for out := range s.outs {
		if s.spec.Marks(out, fork) {
			return true
		}
	}
	return false
}

// cut takes a piece's worth off the front: one item as long as nothing is known of how long one takes. The end of
// an epoch is a piece of its own; that of a round goes with the last items.
func (s *stage) cut() *piece {
	l := *s.lots.front()
	p := s.newPiece()
	p.era, p.epoch = s.cutEra, l.chunk.Head().Epoch
	if rest := l.chunk.Len() - l.cut; rest > 0 {
		k := s.apart(l.chunk, l.cut, min(s.pieceSize(), rest))
		p.lot, p.from, p.to = l, l.cut, l.cut+k
		l.era = s.cutEra
		l.cut += k
		l.open++
		s.waiting -= k
		if l.cut == l.chunk.Len() {
			s.cutRound(p, l)
		}
	} else if l.round.Fork != 0 {
		s.cutRound(p, l)
		p.done = true
	} else {
		l.last = false
		p.mark, p.done = true, !s.spec.Holds
		if s.spec.Holds {
			if p.flush, p.until = plan.FlushHeld, plan.All; s.spec.DropLast {
				p.flush = plan.DropHeld
			}
		}
		s.cutEra++
		s.waiting--
	}
	if l.cut == l.chunk.Len() && !l.last {
		s.lots.pop()
		s.freeLot(l)
	}
	s.link(p)
	return p
}

func (s *stage) cutRound(p *piece, l *lot) {
	if l.round.Fork != 0 {
		p.round, l.round = l.round, plan.Round{}
		s.waiting--
	}
}

// recut takes a piece's worth off the first of the lost; the rest becomes a piece of its own behind it.
func (s *stage) recut() *piece {
	p := s.lost[0]
	k := s.pieceSize()
	if p.single {
		k = 1
	}
	if p.lot != nil {
		k = s.apart(p.lot.chunk, p.from, min(k, p.items()))
	}
	if p.items() <= k {
		s.lost = s.lost[1:]
		return p
	}
	s.lost[0] = s.split(p, k)
	return p
}

// split leaves k items to p; the rest becomes a piece of its own behind it.
func (s *stage) split(p *piece, k int) *piece {
	q := s.newPiece()
	q.prev, q.next, q.from, q.to = p, p.next, p.from+k, p.to
	q.origin = p.origin
	q.ending, p.ending = p.ending, ending{}
	p.to, p.next = q.from, q
	if q.next != nil {
		q.next.prev = q
	} else {
		s.tail = q
	}
	p.lot.open++
	return q
}

// replace puts a new piece in the place of a revoked one, which still lies in a mailbox.
func (s *stage) replace(p *piece) *piece {
	q := s.newPiece()
	q.prev, q.next, q.from, q.to = p.prev, p.next, p.from, p.to
	q.origin, q.ending, q.custody = p.origin, p.ending, p.custody
	if q.prev != nil {
		q.prev.next = q
	} else {
		s.head = q
	}
	if q.next != nil {
		q.next.prev = q
	} else {
		s.tail = q
	}
	return q
}

func (s *stage) link(p *piece) {
	p.prev = s.tail
	if s.tail != nil {
		s.tail.next = p
	} else {
		s.head = p
	}
	s.tail = p
}

// unlink lets go of a piece whose results are out.
func (s *stage) unlink(p *piece) {
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		s.head = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		s.tail = p.prev
	}
	if p.lot != nil {
		p.lot.open--
		s.freeLot(p.lot)
	}
	if len(s.spare) < cap(s.spare) {
		s.spare = append(s.spare, p)
	}
}

func (s *stage) newPiece() *piece {
	n := len(s.spare)
	if n == 0 {
		return &piece{}
	}
	p := s.spare[n-1]
	s.spare = s.spare[:n-1]
	*p = piece{custody: custody{outs: p.outs[:0]}, answer: answer{gone: p.gone[:0]}}
	return p
}

func (s *stage) newLot() *lot {
	if n := len(s.spareLots); n > 0 {
		l := s.spareLots[n-1]
		s.spareLots = s.spareLots[:n-1]
		return l
	}
	return &lot{}
}

func (s *stage) freeLot(l *lot) {
	if l.open > 0 || l.last || l.round.Fork != 0 || l.chunk == nil || l.cut < l.chunk.Len() {
		return
	}
	if !l.read {
		l.chunk.Free()
	}
	l.chunk, l.read = nil, false
	if len(s.spareLots) < cap(s.spareLots) {
		s.spareLots = append(s.spareLots, l)
	}
}

// relist brings the lost into input order, which a stage whose state spans items needs, and one whose workers wait for
// their parts' turn: the head must not lie behind such a worker.
func (s *stage) relist() {
	s.lost = s.lost[:0]
	for p := s.head; p != nil; p = p.next {
		if !p.done && !p.waits && p.state.Load() == home {
			s.lost = append(s.lost, p)
		}
	}
}
