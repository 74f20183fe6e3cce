package actors

import (
	"fmt"
	"math/rand/v2"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/restart"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A stage that stands for a region has sessions for workers: each has many pieces at a time, and none is in this process. Ledger,
// order, credit and custody are the stage's, as ever.

// A far is what such a stage has besides.
type far struct {
	copies   []copyState      // by worker
	deaths   map[uint64]int   // of processes that may have died of a task, by the task's id
	poisoned map[uint64]error // tasks that have cost as many as they may
	room     int              // items that the next piece may have; 0: any number
	ending   bool             // the copies have been told that nothing comes any more
}

// A copyState is what the stage knows of a copy.
type copyState struct {
	ready    bool // it has a session that takes tasks
	isolated bool // it is at a suspect, alone
	ended    bool
	win      window // of items that are with it
	made     int64  // bytes of what has come of an item, lately
	given    uint64 // items ever
	back     uint64 // of them: have come back
}

// An outcome is what has come of one item of a lot that is worked on elsewhere. It is the ledger's once it is accepted: whatever
// becomes of the session, the item is not given out again.
type outcome struct {
	from     Session // of which its payloads are
	outputs  []wire.Output
	failures []wire.Failure
	refused  error // it cannot be encoded, so nothing came of it
	accepted bool
}

type (
	// openCopy says to a copy to begin a session.
	openCopy struct {
		quiet
		life int
	}
	// endCopy says to a copy that nothing comes any more.
	endCopy struct{ quiet }
	// copyReady is told by a copy of which the session takes tasks.
	copyReady struct {
		quiet
		worker int
	}
	// copyLost is told by a copy of which the session is over. What it had comes behind.
	copyLost struct {
		quiet
		worker   int
		why      *Lost
		charged  []uint64 // tasks that may be the reason
		finished []int64  // as of a copyEnded
	}
	// copyEnded is told by a copy that has ended as it was told to.
	copyEnded struct {
		quiet
		worker   int
		finished []int64 // in a stream: by the tolerant stages, and not known before
	}
	// copyFailed is told by a copy of which the node has failed the run.
	copyFailed struct {
		quiet
		err error
	}
)

func (*openCopy) control()   {}
func (*endCopy) control()    {}
func (*copyReady) control()  {}
func (*copyLost) control()   {}
func (*copyEnded) control()  {}
func (*copyFailed) control() {}

// startCopies makes the copies. Each opens its session at once.
func (s *stage) startCopies() {
	f := s.spec.Far
	s.far = &far{deaths: map[uint64]int{}, poisoned: map[uint64]error{}}
	for i := range f.Copies {
		c := copyState{win: newWindow(s.copyWindow(), s.run.clock)}
		s.far.copies = append(s.far.copies, c)
		s.workers = append(s.workers, workerState{lives: 1})
		pid, err := s.cx.SpawnNamed(s.run.props(s.newCopy(i)), fmt.Sprintf("w%d", i))
		if err != nil {
			panic(err) // the name is ours alone
		}
		s.workers[i].pid = pid
		s.cx.Send(pid, &openCopy{life: 1})
	}
}

// farWeight is how much more what comes of an item weighs than the item: of large ones so few are on the way that the processors'
// caches have them still when they are looked at.
const farWeight = 4

// copyWindow is how many items may be with a copy.
func (s *stage) copyWindow() plan.Window {
	return plan.Window{Base: max(s.spec.Mailbox/s.spec.Far.Copies, 1), Room: s.spec.Far.Ahead, Flows: true}
}

// dispatchFar hands pieces to copies. An item that is suspected to kill its process goes to a copy that has nothing else, and while
// it waits for one nothing is handed out.
func (s *stage) dispatchFar() {
	if s.ctx.Err() != nil {
		return
	}
	for !s.aborted && (len(s.lost) > 0 || s.waiting > 0 && s.doomed == nil) {
		if s.doomed != nil && s.dropBehindDoom() {
			continue
		}
		k, suspect := s.nextLost()
		if suspect >= 0 && !s.isolating() {
			w := s.idleCopy()
			if w < 0 {
				s.endFar()
				return
			}
			s.far.room = 1
			s.giveCopy(w, s.recutAt(suspect))
			continue
		}
		if k < 0 && (s.waiting == 0 || s.doomed != nil) {
			return
		}
		if k < 0 && s.cutMark() {
			continue
		}
		w := s.roomiest()
		if w < 0 {
			s.endFar()
			return
		}
		if k >= 0 {
			s.giveCopy(w, s.recutAt(k))
		} else {
			s.giveCopy(w, s.cut())
		}
	}
}

// nextLost returns the places of the first that may go with others, and of the first suspect, among the lost; -1 if there is
// none.
func (s *stage) nextLost() (usual, suspect int) {
	usual, suspect = -1, -1
	for k, p := range s.lost {
		if p.suspect && suspect < 0 {
			suspect = k
		}
		if !p.suspect && usual < 0 {
			usual = k
		}
		if usual >= 0 && suspect >= 0 {
			break
		}
	}
	return usual, suspect
}

// recutAt is recut for the k-th of the lost.
func (s *stage) recutAt(k int) *piece {
	p := s.lost[k]
	s.lost = append(s.lost[:k], s.lost[k+1:]...)
	n := s.pieceSize()
	if p.suspect {
		n = 1
	}
	if p.items() > n {
		s.lost = append(s.lost, nil)
		copy(s.lost[k+1:], s.lost[k:])
		s.lost[k] = s.split(p, n)
	}
	return p
}

func (s *stage) isolating() bool {
	for i := range s.far.copies {
		if s.far.copies[i].isolated {
			return true
		}
	}
	return false
}

// idleCopy returns a copy that is ready and has nothing, or -1.
func (s *stage) idleCopy() int {
	for i := range s.far.copies {
		if s.far.copies[i].ready && s.workers[i].depth == 0 {
			return i
		}
	}
	return -1
}

// roomiest returns the copy that has the fewest items, and has room for more, or -1.
func (s *stage) roomiest() int {
	best := -1
	var out uint64
	for i := range s.far.copies {
		c := &s.far.copies[i]
		with := c.given - c.back
		if !c.ready || c.isolated || c.win.granted <= c.given || best >= 0 && with >= out {
			continue
		}
		best, out = i, with
	}
	if best >= 0 {
		c := &s.far.copies[best]
		s.far.room = int(c.win.granted - c.given)
	}
	return best
}

// giveCopy hands a piece to a copy.
func (s *stage) giveCopy(w int, p *piece) {
	c := &s.far.copies[w]
	s.far.room = 0
	c.given += uint64(p.items())
	c.isolated = p.suspect
	c.win.weigh(max(p.lot.chunk.Bytes(), farWeight*c.made*int64(p.lot.chunk.Len())), p.lot.chunk.Len())
	if len(p.lot.entries) < p.lot.chunk.Len() {
		p.lot.entries = append(p.lot.entries, make([]outcome, p.lot.chunk.Len()-len(p.lot.entries))...)
	}
	s.give(w, p)
}

// returnedFar is told of every piece that comes back from a copy, before it is looked at: n items of it are done, of with.
func (s *stage) returnedFar(p *piece, with, n int) {
	f := s.far
	c := &f.copies[p.worker]
	c.isolated = false
	c.back += uint64(with)
	if p.out != nil && n > 0 {
		c.made = p.out.Bytes() / int64(n)
	}
	c.win.next(c.back)
	s.run.countInputs(s.spec.Far.Region, int64(n))
	if len(f.deaths) == 0 {
		return
	}
	first := p.lot.first + uint64(p.from)
	for id := first; id < first+uint64(n); id++ {
		delete(f.deaths, id)
	}
	for id := first + uint64(n); id < p.lot.first+uint64(p.to); id++ {
		if f.deaths[id] > 0 {
			p.suspect = true
		}
	}
	if err := f.poisoned[first+uint64(n)]; err != nil && p.Err == nil {
		delete(f.poisoned, first+uint64(n))
		delete(f.deaths, first+uint64(n))
		from := s.run.spec(s.spec.Far.Region.From)
		p.from += n
		item := &stages.ItemError{Stage: from.Name, Item: s.itemID(p), Attempts: s.run.cfg.Poison, Err: err}
		p.from -= n
		p.faults = []fault{{spec: from, item: item, lettered: from.Policy.Letters != nil, input: true}}
		p.Err = err
	}
}

// copyIsReady is told by a copy that takes tasks.
func (s *stage) copyIsReady(w int) {
	s.far.copies[w].ready = true
	s.opened(&s.workers[w])
	if s.far.ending {
		s.cx.Send(s.workers[w].pid, &endCopy{})
	}
}

// copyIsLost notes that a session is over, and says when there is another.
func (s *stage) copyIsLost(m *copyLost) {
	h, c := &s.workers[m.worker], &s.far.copies[m.worker]
	c.ready = false
	if s.far.ending {
		c.ended = true // it had nothing any more
		return
	}
	now, dice := s.run.clock(), rand.Float64()
	pause, again := s.record.Died(now, m.why.Err, true, dice)
	for _, id := range m.charged {
		if s.far.deaths[id]++; s.far.deaths[id] >= s.run.cfg.Poison {
			s.far.poisoned[id] = m.why.Err
		}
	}
	h.opened = false
	h.lives++
	s.stats.restarts.Add(1)
	switch {
	case m.why.Final:
		s.loseRegion(m.why.Err)
		return
	case !again:
		s.loseRegion(stages.RegionErrorOf(s.spec.Name, s.record))
		return
	}
	s.run.event(NodeLost{Region: s.spec.Name, Copy: m.worker, Life: h.lives - 1, Err: m.why.Err, Retry: pause})
	open := func() { s.cx.Send(h.pid, &openCopy{life: h.lives}) }
	if pause <= 0 {
		open()
		return
	}
	s.after(pause, open)
}

// loseRegion fails the run at the first item that is not done: there will be no session any more.
func (s *stage) loseRegion(err error) {
	if s.gaveUp {
		return
	}
	s.gaveUp = true
	s.run.fail(s.spec, err)
	s.endFar()
}

// endFar ends a stage that has given up, at the first item that is not done, when no copy is left to do it.
func (s *stage) endFar() {
	s.endIfNobodyIsLeft()
	if !s.gaveUp || s.aborted || s.head != nil {
		return
	}
	for i := range s.workers {
		if s.workers[i].opened {
			return
		}
	}
	s.abort() // what comes now would not be done, and all before it is out
}

// endCopies tells the copies that nothing comes any more, and reports whether all of them have ended.
func (s *stage) endCopies() bool {
	if !s.far.ending {
		s.far.ending = true
		for i := range s.workers {
			s.cx.Send(s.workers[i].pid, &endCopy{})
		}
	}
	for i := range s.far.copies {
		if !s.far.copies[i].ended {
			return false
		}
	}
	return true
}

// copyHasFailed fails the run because a node says so.
func (s *stage) copyHasFailed(m *copyFailed) { s.loseRegion(m.err) }

// farLimits are those of processes. Who allows more than ten of them to die allows that in a row, too.
func farLimits(s *plan.Stage) restart.Limits {
	l := s.Restart.Limits()
	l.InARow = max(l.InARow, l.Max)
	return l
}
