package link

import (
	"errors"
	"fmt"

	"github.com/weirflow/weir/internal/wire"
)

// Sentinels of sessions.
var (
	// ErrNoAnswer says that a node has not answered Open in time.
	ErrNoAnswer = errors.New("link: the node does not answer")
	// ErrSilent says that no byte has come from the peer for as long as it may be silent.
	ErrSilent = errors.New("link: the peer is silent")
	// ErrClosed says that this side has closed the session, its connection, or what it sends.
	ErrClosed = errors.New("link: closed")
	// ErrNotOpen says that a node sends before it has accepted a session.
	ErrNotOpen = errors.New("link: the session is not accepted yet")
)

// errUsedUp is why the connection to a child is not dialled again.
var errUsedUp = errors.New("the only connection to this node is used up")

// errNoConnection is why a session is lost before it begins.
var errNoConnection = errors.New("there is no connection to the node")

// errGone is why a node's session ends that its coordinator has left.
var errGone = errors.New("the coordinator has left")

// A RefusedError says that a node declined to open a session.
type RefusedError struct {
	Code wire.Code
	Text string // by the node
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("link: the node refuses the session (code %d): %s", e.Code, e.Text)
}

// A ProtocolError says that the peer has sent what it may not send, or that this side was asked to.
type ProtocolError struct {
	Reason string
	Err    error // that of decoding; nil if it was decoded
}

func (e *ProtocolError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("link: %s: %v", e.Reason, e.Err)
	}
	return "link: " + e.Reason
}

func (e *ProtocolError) Unwrap() error { return e.Err }

// A TooLargeError says that a message is too large to be sent. Nothing of it was.
type TooLargeError struct {
	Bytes, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("link: a message of %d bytes: at most %d are allowed", e.Bytes, e.Limit)
}

// A LostError says that a session has ended without its peer's consent, or never began.
type LostError struct {
	Err  error // of the stream
	Conn error // of the connection below; nil if it is not known
}

func (e *LostError) Error() string {
	if e.Conn != nil {
		return fmt.Sprintf("link: lost: %v (%v)", e.Err, e.Conn)
	}
	return fmt.Sprintf("link: lost: %v", e.Err)
}

// Unwrap makes errors.Is and errors.As find the cause.
func (e *LostError) Unwrap() []error {
	if e.Conn == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Conn}
}
