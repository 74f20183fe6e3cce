package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/arena"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// A session is one life of a copy of a region, as the run sees it: actors.Session.
type session struct {
	nodes      *nodes
	region     *plan.Region
	copy, life int
	first      wire.Open // what the stage says of it
	told       func(any)
	ctx        context.Context // ends with Stop
	cancel     context.CancelFunc

	shared *shared
	box    *arena.Box // nil: there is none
	addr   string     // of a remote node, once it is known; owned by live

	mu       sync.Mutex
	link     *link.Session // guarded by mu; nil before it is ready
	ended    bool          // guarded by mu: the node has said that it is through
	last     bool          // guarded by mu: it was told that nothing comes any more
	expected int           // guarded by mu: blocks that have come and were not unpacked
	gone     bool          // guarded by mu: nothing more comes
}

// Pack implements actors.Session.
func (s *session) Pack(c plan.Chunk, i int) (wire.Payload, error) { return s.shared.pack(c, i) }

// Packed implements actors.Session.
func (s *session) Packed() { s.shared.packer.Reset() }

// Unpack implements actors.Session.
func (s *session) Unpack(c plan.Chunk, p wire.Payload) error {
	err := c.Unpack(s.shared.unpacker, p)
	if s.shared.in != nil {
		s.unpacked(lent(&p))
	}
	return err
}

// lent is how many blocks of the node's a payload has.
func lent(p *wire.Payload) (n int) {
	for i := range p.Blocks {
		if p.Blocks[i].Generation != 0 {
			n++
		}
	}
	return n
}

// expect notes blocks that are to be unpacked: until then the node's arena is kept, whether or not the node is there.
func (s *session) expect(m wire.Message) {
	if s.shared.in == nil {
		return
	}
	n := 0
	switch m := m.(type) {
	case *wire.Result:
		for i := range m.Entries {
			for k := range m.Entries[i].Outputs {
				n += lent(&m.Entries[i].Outputs[k].Payload)
			}
		}
	case *wire.Frame:
		for i := range m.Outputs {
			n += lent(&m.Outputs[i].Payload)
		}
	}
	s.mu.Lock()
	s.expected += n
	s.mu.Unlock()
}

func (s *session) unpacked(blocks int) {
	if blocks == 0 {
		return
	}
	s.mu.Lock()
	s.expected -= blocks
	last := s.gone && s.expected == 0
	s.mu.Unlock()
	if last {
		s.shared.in.Close()
	}
}

func (s *session) unpackedAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expected == 0
}

// letGo ends this side's part in the shared memory: at once what the node is sent, and what comes from it when it is unpacked.
func (s *session) letGo() {
	if s.shared.out == nil {
		return
	}
	s.shared.out.Close()
	s.mu.Lock()
	s.gone = true
	last := s.expected == 0
	s.mu.Unlock()
	if last {
		s.shared.in.Close()
		return
	}
	s.nodes.keep(s)
}

// Send implements actors.Session. What cannot be sent any more is lost with the session, which its reader tells.
func (s *session) Send(m wire.Message) {
	s.mu.Lock()
	l := s.link
	if _, end := m.(*wire.End); end {
		s.last = true
	}
	s.mu.Unlock()
	if l != nil {
		l.Send(m)
	}
}

// Stop implements actors.Session.
func (s *session) Stop() { s.cancel() }

// A body is the process that a session is with.
type body interface {
	// end lets the process go, or lets go of it, and waits until it is gone: at most for a while, after which it is killed.
	// It returns how it has ended, if that says something.
	end(patience time.Duration) error
	// blames reports whether the end of the session, why, may be the fault of what the process was at. It may take a while to
	// find that out.
	blames(why error) bool
	close()
}

// live is the session's life: it returns when nothing of it is left.
func (s *session) live() {
	defer s.letGo()
	if s.box != nil {
		defer s.box.Close()
	}
	b, conn, err := s.start()
	if err != nil {
		err, final := s.nodes.unanswered(s.region, err)
		s.lost(err, nil, false, final)
		return
	}
	defer b.close()
	defer conn.Close()
	l, ready, err := s.open(b, conn)
	if err != nil {
		s.unopened(b, err)
		return
	}
	s.mu.Lock()
	s.link = l
	s.mu.Unlock()
	s.shared.returns(s.Send)
	over := make(chan *time.Timer, 1)
	parted := context.AfterFunc(s.ctx, func() { // Recv does not look at a context
		s.part(l)
		over <- time.AfterFunc(s.patience(), l.Close)
	})
	r := s.nodes.run
	started := NodeStarted{EventInfo: r.info(), Region: r.graph.RegionName(s.region), Copy: s.copy, Incarnation: s.life, Addr: s.addr}
	if c, ok := b.(*childBody); ok {
		started.PID = c.p.Pid()
	}
	r.event(started)
	defer s.nodes.answers(s.region)()
	s.told(ready)
	err = s.hear(l)
	if !parted() {
		if inTime := (<-over).Stop(); !inTime {
			b.end(0)
			return
		}
	}
	if s.ctx.Err() != nil || s.isEnded() {
		b.end(s.patience())
		return
	}
	l.Close()
	exit := b.end(time.Second)
	blames := b.blames(err)
	if broken, ok := errors.AsType[*link.ProtocolError](err); ok { // it has ended because of that
		exit, blames = errors.Join(broken, exit), false
	}
	if exit != nil {
		err = exit
	}
	var at []plan.Executing
	if blames {
		at = s.executing()
		err = during(s.nodes.run.graph, at, err)
	}
	s.fail(err, at, blames)
}

// open begins the session with the process.
func (s *session) open(b body, conn *link.Conn) (*link.Session, *wire.Ready, error) {
	message := func() *wire.Open { return s.nodes.opening(s) }
	if remote, ok := b.(*remoteBody); ok {
		return remote.open(s.ctx, message)
	}
	return conn.Open(s.ctx, message())
}

func (s *session) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// patience is how long a process may take to end: a little less than Stop waits for it.
func (s *session) patience() time.Duration {
	g := s.nodes.run.cfg.Grace
	return g - min(g/4, 500*time.Millisecond)
}

// part tells the node that the session is over.
func (s *session) part(l *link.Session) {
	if !s.isEnded() {
		l.Send(&wire.Cancel{Reason: "stopped"})
	}
	l.CloseSend()
}

// fail tells that the session is over, and why.
func (s *session) fail(err error, at []plan.Executing, blames bool) { s.lost(err, at, blames, false) }

// lost is fail; final says that there is no point in another session.
func (s *session) lost(err error, at []plan.Executing, blames, final bool) {
	if s.ctx.Err() != nil {
		return
	}
	err, refused := linkError(s.refusal(err))
	final = final || refused
	s.told(&actors.Lost{Err: &NodeError{Region: s.nodes.run.graph.RegionName(s.region), Copy: s.copy, Addr: s.addr, Err: err}, Final: final, Blames: blames, Executing: at})
}

// refusal adds to an error of a node that has built another graph in what they differ.
func (s *session) refusal(err error) error {
	r, refused := errors.AsType[*link.RefusedError](err)
	if !refused || r.Code != wire.OtherGraph {
		return err
	}
	g := s.nodes.run.graph
	return &link.RefusedError{Code: r.Code, Text: fmt.Sprintf("pipeline %q is built otherwise there than here, for its build function depends on more than its configuration, or the programs "+
		"are of different versions: %s", g.Name, plan.Difference(r.Text, printText(g)))}
}

// hear hands on what the node says, until it says no more.
func (s *session) hear(l *link.Session) error {
	for {
		m, err := l.Recv()
		if err != nil {
			if err == io.EOF {
				err = errLeft
			}
			return err
		}
		if err := s.misplaced(m); err != nil {
			return err
		}
		switch m := m.(type) {
		case *wire.Stats:
			if finished := s.nodes.note(s, m.Body); len(finished) > 0 {
				s.told(&actors.Counted{Finished: finished})
			}
		case *wire.Event:
			if e := s.nodes.run.eventOf(m.Body); e != nil {
				s.nodes.run.observe(e)
			}
		case *wire.Log:
		case *wire.Release:
			if err := s.shared.free(m.Blocks); err != nil {
				return err
			}
		case *wire.End:
			s.mu.Lock()
			s.ended = true
			s.mu.Unlock()
			s.told(m)
		default:
			s.expect(m)
			s.told(m)
		}
	}
}
