package link

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/weirflow/weir/internal/wire"
)

// stream is what both sides of a stream of gRPC have.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// A Session carries the messages of one incarnation of one copy of a region, in order.
type Session struct {
	role   role
	stream stream
	cancel func()          // lets go of what blocks in stream
	half   func() error    // ends this side's half of the stream; nil for a node, whose half ends with its handler
	peer   *peer.Peer      // set before the session is handed out
	conn   *livingConn     // as peer; nil if unknown
	gone   <-chan struct{} // closed when a node's stream has ended; nil for a coordinator, whose Recv tells

	patient  bool   // the peer may be silent for ever; set before start
	accepted func() // called when a node accepts; may be nil

	done    chan struct{} // closed when the session has ended
	flushed chan struct{} // closed when the writer has ended
	wake    chan struct{} // tells the writer that there is something
	dropped atomic.Uint64
	buffers buffers

	mu      sync.Mutex
	err     error // guarded by mu; why the session has ended
	unsent  error // guarded by mu; why nothing can be sent any more though the session has not ended
	open    bool  // guarded by mu; Ready was sent or received
	refused bool  // guarded by mu
	closing bool  // guarded by mu; nothing more is queued
	queue   queue // guarded by mu

	in inbox // owned by the receiver
}

func newSession(r role, s stream, cancel func(), half func() error) *Session {
	return &Session{
		role: r, stream: s, cancel: cancel, half: half,
		done: make(chan struct{}), flushed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// at notes which connection is below.
func (s *Session) at(ctx context.Context) {
	if p, ok := peer.FromContext(ctx); ok {
		s.peer, s.conn = p, connOf(p)
	}
}

// Accept answers the coordinator's Open: from now on the node may send. To be called once, by a node's handler.
func (s *Session) Accept(m *wire.Ready) error { return s.answer(m, true) }

// Refuse declines the coordinator's Open. The session ends when the handler returns. To be called once, instead of Accept.
func (s *Session) Refuse(m *wire.Refuse) error { return s.answer(m, false) }

func (s *Session) answer(m wire.Message, open bool) error {
	s.mu.Lock()
	answered := s.role != node || s.open || s.refused
	s.mu.Unlock()
	if answered {
		return misplaced(s.role, m)
	}
	if err := s.enqueue(m, opening); err != nil {
		return err
	}
	s.mu.Lock()
	s.open, s.refused, s.closing = open, !open, s.closing || !open
	s.mu.Unlock()
	if open && s.accepted != nil {
		s.accepted()
	}
	s.poke()
	return nil
}

// Credentials say how the peer has proved who it is; nil if it was not asked.
func (s *Session) Credentials() credentials.AuthInfo {
	if s.peer == nil {
		return nil
	}
	return s.peer.AuthInfo
}

// Peer names the peer's address; "" if it is not known.
func (s *Session) Peer() string {
	if s.peer == nil || s.peer.Addr == nil {
		return ""
	}
	return s.peer.Addr.String()
}

// Dropped counts events, statistics and logs that were dropped because too many waited.
func (s *Session) Dropped() uint64 { return s.dropped.Load() }

// Done is closed when the session has ended: it was closed, or lost, or Recv has returned the end. A connection that
// breaks is seen by Recv, after the messages that came before.
func (s *Session) Done() <-chan struct{} { return s.done }

// Close ends the session now: what is queued is dropped, and Recv returns ErrClosed. It does not block, and may be called
// again, also after the session has ended otherwise.
func (s *Session) Close() { s.fail(ErrClosed) }

// fail ends the session, if it has not ended yet.
func (s *Session) fail(err error) {
	s.mu.Lock()
	first := s.err == nil
	if first {
		s.err = err
		s.queue = queue{}
	}
	s.mu.Unlock()
	if first {
		close(s.done)
		s.cancel()
	}
}

// cause is why the session has ended; nil while it lives.
func (s *Session) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// watch ends the session when its peer is silent or gone, and fills silences of this side. It returns when finished is
// closed, or when the session has ended.
func (s *Session) watch(finished <-chan struct{}) {
	var ticks <-chan time.Time
	var w watch
	if !s.patient && s.conn != nil {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		ticks, w = ticker.C, watch{life: s.conn.life, reads: s.conn.life.reads.Load(), writes: s.conn.life.writes.Load()}
	}
	for {
		select {
		case <-finished:
			return
		case <-s.done:
			return
		case <-s.gone:
			s.lost(errGone)
			return
		case <-ticks:
		}
		ping, silent := w.tick()
		if silent {
			s.fail(ErrSilent)
			return
		}
		if ping {
			s.beat(&wire.Ping{})
		}
	}
}
