package actors

import (
	"fmt"
	"time"
)

// Pace: how much goes to whom, and when the estimate is not believed any more.

const (
	// pieceTime is about how long a piece should take. One costs 2 µs all in, so less would show; more would share out
	// less evenly at the end of a burst.
	pieceTime = float64(100 * time.Microsecond)
	// farPieceTime is pieceTime for what goes to another process, where a piece is several messages and waits on the way.
	farPieceTime = float64(300 * time.Microsecond)
	// wakeTime is how much work must wait before a further worker is woken: cheap stages don't wake the machine.
	wakeTime = float64(50 * time.Microsecond)
	// tickTime is how long pieces are out before somebody looks.
	tickTime = 2 * time.Millisecond
	// piecesAhead is how many pieces a worker may have: one in hand, one that waits, which hides the way to the stage
	// and back.
	piecesAhead = 2
)

// dispatch hands pieces to workers.
func (s *stage) dispatch() {
	if s.far != nil {
		s.dispatchFar()
		return
	}
	if s.ctx.Err() != nil {
		return // whatever were begun now would be told to end at once, and then handed out again
	}
	if s.asleep > 0 && s.spec.OneByOne() {
		return // what comes behind an item that waits for its next attempt waits, too
	}
	for !s.aborted && (len(s.lost) > 0 || s.waiting > 0 && s.doomed == nil) {
		if len(s.lost) == 0 && s.cutMark() {
			continue
		}
		if s.doomed != nil && s.dropBehindDoom() {
			continue
		}
		w := s.choose()
		if w < 0 {
			s.endIfNobodyIsLeft()
			return
		}
		if len(s.lost) > 0 {
			s.give(w, s.recut())
		} else {
			s.give(w, s.cut())
		}
	}
}

// cutMark lets the end of a round or an epoch into the ledger, if it is next and no worker has a say in it.
func (s *stage) cutMark() bool {
	if l := *s.lots.front(); l.cut < l.chunk.Len() || s.spec.Holds && l.round.Fork == 0 {
		return false
	}
	p := s.cut()
	if s.spec.Ordered {
		s.releaseHead()
	} else if s.head == p {
		s.releaseMarks()
	}
	return true
}

// dropBehindDoom forgets the first of the lost if it lies behind the item that fails the run.
func (s *stage) dropBehindDoom() bool {
	if s.lost[0].before(s.doomed) {
		return false
	}
	s.lost = s.lost[1:]
	return true
}

// choose picks a worker: one that is awake if the work that waits does not fill wakeTime, else a sleeping one.
func (s *stage) choose() int {
	n := s.spec.Mailbox
	depth, want := 1, n
	switch {
	case s.spec.Streaming: // nothing may wait behind a worker whose part waits for it
	case len(s.lost) > 0 && s.lost[0].single: // nor behind one that may be at a slow item
	case s.service > 0:
		if s.service < wakeTime {
			depth = piecesAhead
		}
		want = min(n, 1+int(s.service*float64(s.waiting+1)/wakeTime))
	}
	awake, best, idle := 0, -1, -1
	for i := range s.workers {
		h := &s.workers[i]
		switch {
		case h.away():
			if h.depth > 0 && s.spec.Streaming {
				awake++ // it may wait for its part's turn
			}
		case h.depth == 0:
			if (idle < 0 || s.workers[idle].suspect && !h.suspect) && (h.opened || s.mayOpen()) {
				idle = i
			}
		default:
			awake++
			if h.depth < depth && (best < 0 || h.depth < s.workers[best].depth) {
				best = i
			}
		}
	}
	if s.spec.Streaming && awake+s.asleep >= n {
		return -1 // a worker is kept for each item that is to be tried again: the others may wait for its turn
	}
	if awake < want {
		if idle >= 0 && !s.workers[idle].suspect {
			return idle
		}
		if len(s.workers) < n && s.mayOpen() {
			return s.hire()
		}
		if idle >= 0 {
			return idle
		}
	}
	return best
}

// hire adds a worker: late, so that a stage whose first worker keeps up never has a second.
func (s *stage) hire() int {
	i := len(s.workers)
	h := workerState{lives: 1}
	if s.spec.Streaming {
		h.door = newDoor()
	}
	s.workers = append(s.workers, h)
	s.spawn(i)
	return i
}

// spawn makes the actor of worker i: its first, or one in the place of one that was abandoned.
func (s *stage) spawn(i int) {
	h := &s.workers[i]
	name := fmt.Sprintf("w%d", i)
	if h.lives > 1 {
		name = fmt.Sprintf("w%d-%d", i, h.lives)
	}
	pid, err := s.cx.SpawnNamed(s.run.props(s.newWorker(i, h.lives, h.door)), name)
	if err != nil {
		panic(err) // the name is ours alone
	}
	h.pid = pid
}

// pieceSize is the number of items in about pieceTime of work: one as long as nothing is known.
func (s *stage) pieceSize() int {
	n := 1
	if s.service > 0 {
		span := pieceTime
		if s.far != nil {
			span = farPieceTime
		}
		n = max(int(span/s.service), 1)
	}
	if s.far != nil && s.far.room > 0 {
		n = min(n, s.far.room)
	}
	return n
}

func (s *stage) give(w int, p *piece) {
	h := &s.workers[w]
	p.loan = loan{worker: w, deaths: s.deaths, tick: s.ticks, fresh: h.depth == 0}
	p.answer = answer{gone: p.gone[:0]}
	if s.spec.Fork != nil {
		p.branches = s.newBranches()
	}
	p.state.Store(queued)
	if p.items() > 1 || h.depth > 0 || !h.opened {
		s.arm()
	}
	h.depth++
	s.cx.Send(h.pid, p)
	if s.spec.Timeout > 0 && !s.looking {
		s.looking = true
		s.after(s.patience(), s.look)
	}
}

func (s *stage) arm() {
	if s.ticking || s.over || s.spec.Mailbox == 1 || s.far != nil {
		return // with one worker there is nobody else to give it to, and from another process nothing is called back
	}
	s.ticking = true
	if s.tickTimer == nil {
		s.tickTimer = time.AfterFunc(tickTime, func() { s.run.send(s.self, &late{}) })
	} else {
		s.tickTimer.Reset(tickTime)
	}
}

// tick comes a few milliseconds after a piece of more than one item went out, and again only while there is a piece
// that it has not judged: an idle stage has no timer, nor has one whose workers are in the middle of long items. A
// piece that is out for two ticks is called back (it was estimated at 0.1 ms); one that waits behind it goes to
// somebody else.
func (s *stage) tick() {
	if s.aborted || s.over {
		return
	}
	s.ticks++
	slow, young := false, false
	var stuck []int // workers that may be closing what they had, and not return from that
	for p := s.head; p != nil; p = p.next {
		switch {
		case p.done || p.late || p.state.Load() == home:
		case p.tick >= s.ticks-1:
			young = true
		default:
			p.late = true
			switch w := p.work.Load(); {
			case w != nil:
				slow = true
				w.Yield.Store(true)
			case p.state.Load() == queued && !s.workers[p.worker].opened:
				stuck = append(stuck, p.worker)
			}
		}
	}
	if slow {
		s.service = 0 // the estimate was wrong: hand out one by one, to everybody
		for w := range s.workers {
			if s.workers[w].depth > 1 {
				s.revoke(w)
			}
		}
		for _, p := range s.lost { // what was cut by that estimate, too, however the next ones turn out
			p.single = true
		}
	}
	for _, w := range stuck {
		s.workers[w].suspect = true
		s.revoke(w)
	}
	if young {
		s.arm()
	}
}

// revoke takes back what worker w has not begun. The old piece stays behind in its mailbox as a husk.
func (s *stage) revoke(w int) {
	before := len(s.lost)
	for p := s.head; p != nil; p = p.next {
		if p.worker != w || p.done {
			continue
		}
		if p.state.CompareAndSwap(queued, revoked) || p.state.Load() == revoked {
			s.workers[w].depth--
			p = s.replace(p)
			s.lost = append(s.lost, p)
		}
	}
	if len(s.lost) > before && (s.spec.OneByOne() || s.spec.Streaming) {
		s.relist()
	}
}
