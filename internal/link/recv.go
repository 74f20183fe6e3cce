package link

import (
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/weirflow/weir/internal/wire"
)

// An inbox is what a receiver has.
type inbox struct {
	limit   int    // bytes of the first batch; 0: maxBatch
	rest    []byte // of the last batch
	greeted bool   // the peer's first message was there
	ended   bool   // the peer has sent its last one
}

// Recv returns the next message; what its slices point to belongs to the receiver, though those of one message, and of
// small messages that came together, may share an allocation. It blocks until there is one.
//
// The errors are io.EOF after the peer's last message, if it has ended the session itself; *ProtocolError, *LostError and
// ErrSilent; ErrClosed after Close. A coordinator's session has ended when Recv returns an error, and a node's too, but for
// io.EOF.
func (s *Session) Recv() (wire.Message, error) {
	for {
		b, err := s.next()
		if err != nil {
			return nil, err
		}
		m, err := wire.Decode(b)
		if err != nil {
			return nil, s.broken(&ProtocolError{Reason: "what has come is no message", Err: err})
		}
		c := s.role.peer().classify(m)
		switch {
		case c == beat:
			if _, ok := m.(*wire.Ping); ok {
				s.beat(&wire.Pong{})
			}
			continue
		case c == forbidden, (c == opening) == s.in.greeted:
			return nil, s.broken(misplaced(s.role.peer(), m))
		}
		s.in.greeted = true
		return m, nil
	}
}

// next is the next message, encoded.
func (s *Session) next() ([]byte, error) {
	select {
	case <-s.done:
		return nil, s.cause()
	default:
	}
	if len(s.in.rest) == 0 {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	if len(s.in.rest) < lengthBytes {
		return nil, s.broken(&ProtocolError{Reason: "a batch ends within a length"})
	}
	n := uint64(binary.LittleEndian.Uint32(s.in.rest))
	b := s.in.rest[lengthBytes:]
	if n > uint64(len(b)) {
		return nil, s.broken(&ProtocolError{Reason: "a batch ends within a message"})
	}
	if n > MaxMessageBytes {
		return nil, s.broken(&ProtocolError{Reason: "a message is too large"})
	}
	s.in.rest = b[n:]
	return b[:n:n], nil
}

// fill takes the next batch into private memory.
func (s *Session) fill() error {
	if s.in.ended {
		return io.EOF
	}
	var m mem.BufferSlice
	err := s.stream.RecvMsg(&m)
	if err == nil {
		defer m.Free()
		if n := m.Len(); s.in.limit > 0 && !s.in.greeted && n > s.in.limit {
			return s.broken(&ProtocolError{Reason: fmt.Sprintf("a first message of %d bytes: at most %d are allowed", n, s.in.limit)})
		}
		s.in.rest = m.Materialize()
		return nil
	}
	if err != io.EOF {
		return s.lost(err)
	}
	if s.role == node {
		s.in.ended = true
		return io.EOF
	}
	return s.broken(io.EOF)
}

// lost ends the session because the stream has failed with err. It returns why the session has ended.
func (s *Session) lost(err error) error {
	if status.Code(err) == codes.ResourceExhausted {
		return s.broken(&ProtocolError{Reason: "a message is too large", Err: err})
	}
	return s.broken(&LostError{Err: err, Conn: s.connCause()})
}

// broken ends the session with err, and returns why it has ended.
func (s *Session) broken(err error) error {
	s.fail(err)
	return s.cause()
}

// connCause is why the connection has ended; nil if that is not known. io.EOF is said of a clean end only.
func (s *Session) connCause() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.life.reason()
}
