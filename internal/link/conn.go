package link

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weirflow/weir/internal/wire"
)

// A Target is how a coordinator reaches a node: either Conn or Dial is set.
type Target struct {
	// Conn is the connection to a child. It belongs to the link, and is never dialled again. The node may be silent for
	// ever: whoever waits for its process knows when it is dead.
	Conn net.Conn
	// Dial connects to a remote node. It is called again when the connection was lost and a session is to be opened.
	Dial func(context.Context) (net.Conn, error)
	// Credentials are those for Dial. nil means none: nothing is encrypted.
	Credentials credentials.TransportCredentials
}

// A Conn is a coordinator's connection to one node.
type Conn struct {
	target Target
	local  bool
	keep   sync.WaitGroup // keepers of sessions

	mu     sync.Mutex
	client *client              // guarded by mu; for new sessions; nil after a failed attempt
	live   map[*Session]*client // guarded by mu
	closed bool                 // guarded by mu
	used   bool                 // guarded by mu; target.Conn was handed out
}

// A client is one of gRPC. A Conn has another one after an attempt to connect has failed, since gRPC would go on trying.
// The old one may still have sessions: a node that stops lets them end while it accepts no connection any more.
type client struct {
	grpc    *grpc.ClientConn // immutable
	conn    *Conn
	retired bool  // guarded by conn.mu
	attempt error // guarded by conn.mu; why the last attempt to connect has failed
}

// Dial connects to a node. It blocks for at most 5 s. The errors are those of Open.
func Dial(ctx context.Context, t Target) (*Conn, error) {
	if (t.Conn == nil) == (t.Dial == nil) {
		return nil, errors.New("link: a target has either a connection or a function that dials")
	}
	c := &Conn{target: t, local: t.Conn != nil, live: map[*Session]*client{}}
	if t.Credentials == nil || c.local {
		c.target.Credentials = insecure.NewCredentials()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, ErrNoAnswer)
	defer cancel()
	if _, err := c.connect(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Open opens a session: it sends m, and waits for the node's answer for at most 5 s. The session does not end with ctx.
//
// The errors are *RefusedError, ErrNoAnswer, *LostError, *ProtocolError, *TooLargeError, ErrClosed, or that of ctx.
func (c *Conn) Open(ctx context.Context, m *wire.Open) (*Session, *wire.Ready, error) {
	ctx, done := context.WithTimeoutCause(ctx, answerTimeout, ErrNoAnswer)
	defer done()
	cl, err := c.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	// The stream lives as long as its context: only until the answer is there, ctx ends it.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, cancel)
	s, err := c.stream(life, cancel, cl)
	if err != nil {
		cancel()
		return nil, nil, c.failed(ctx, err)
	}
	ready, err := s.greet(m)
	if err == nil && !unhook() {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Close()
		return nil, nil, c.failed(ctx, err)
	}
	return s, ready, nil
}

// stream begins a session.
func (c *Conn) stream(ctx context.Context, cancel func(), cl *client) (*Session, error) {
	desc := streamDesc()
	st, err := cl.grpc.NewStream(ctx, &desc, method)
	if err != nil {
		return nil, &LostError{Err: err}
	}
	s := newSession(coordinator, st, cancel, st.CloseSend)
	s.patient = c.local
	// Asking for the context commits the stream to its connection: otherwise gRPC keeps everything that is sent until the
	// node's header is there, to send it again elsewhere.
	s.at(st.Context())
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.live[s] = cl
		c.keep.Add(1)
	}
	c.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	s.start()
	// Owner: the connection. Ends when the session has ended. Close waits for it.
	go c.keeper(s)
	return s, nil
}

// keeper watches s, and forgets it when nothing of it runs any more.
func (c *Conn) keeper(s *Session) {
	defer c.keep.Done()
	s.watch(nil)
	<-s.flushed
	c.mu.Lock()
	cl := c.live[s]
	delete(c.live, s)
	unused := cl.retired && !c.needs(cl)
	c.mu.Unlock()
	if unused {
		_ = cl.grpc.Close() // nothing is on it
	}
}

// needs reports whether a session is on cl. c.mu is held.
func (c *Conn) needs(cl *client) bool {
	for _, other := range c.live {
		if other == cl {
			return true
		}
	}
	return false
}

// greet exchanges the first messages.
func (s *Session) greet(m *wire.Open) (*wire.Ready, error) {
	if err := s.enqueue(m, opening); err != nil {
		return nil, err
	}
	s.poke()
	answer, err := s.Recv()
	if err == io.EOF {
		return nil, &LostError{Err: errors.New("the node has ended the session without an answer")}
	}
	if err != nil {
		return nil, err
	}
	switch answer := answer.(type) {
	case *wire.Ready:
		s.mu.Lock()
		s.open = true
		s.mu.Unlock()
		return answer, nil
	case *wire.Refuse:
		return nil, &RefusedError{Code: answer.Code, Text: answer.Text}
	}
	return nil, misplaced(node, answer)
}

// failed is the error of an Open that has failed with err: that its time is over comes first.
func (c *Conn) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// Close ends all sessions and the connection, now. What a session has sent may be lost, unless Recv has returned io.EOF.
// Close waits for all that belongs to the connection, and may be called again.
func (c *Conn) Close() error {
	c.mu.Lock()
	current := c.client
	c.client, c.closed = nil, true
	sessions := slices.Collect(maps.Keys(c.live))
	unused := c.local && !c.used
	c.used = true
	c.mu.Unlock()
	for _, s := range sessions {
		s.Close()
	}
	var err error
	if current != nil {
		err = current.grpc.Close()
	}
	if unused {
		err = errors.Join(err, c.target.Conn.Close())
	}
	c.keep.Wait() // and with the last sessions go retired clients
	return err
}

// connect returns a client that has a connection.
func (c *Conn) connect(ctx context.Context) (*client, error) {
	cl, err := c.current()
	if err != nil {
		return nil, err
	}
	for {
		state := cl.grpc.GetState()
		switch state {
		case connectivity.Ready:
			return cl, nil
		case connectivity.Idle:
			cl.grpc.Connect()
		case connectivity.TransientFailure, connectivity.Shutdown:
			return nil, cl.retire()
		}
		if !cl.grpc.WaitForStateChange(ctx, state) {
			_ = cl.retire() // the cause is that it takes too long
			return nil, context.Cause(ctx)
		}
	}
}

// current returns the client for new sessions, which is a new one after a failure.
func (c *Conn) current() (*client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.client == nil {
		cl := &client{conn: c}
		g, err := grpc.NewClient("passthrough:///node", dialOptions(cl.dial, noting{c.target.Credentials, cl.note})...)
		if err != nil {
			return nil, &LostError{Err: err}
		}
		cl.grpc, c.client = g, cl
	}
	return c.client, nil
}

// retire lets go of a client that could not connect, so that it does not go on trying. It returns why it could not.
func (cl *client) retire() error {
	c := cl.conn
	c.mu.Lock()
	if c.client == cl {
		c.client = nil
	}
	cl.retired = true
	err, closed, unused := cl.attempt, c.closed, !c.needs(cl)
	c.mu.Unlock()
	if unused {
		_ = cl.grpc.Close() // nothing is on it
	}
	if closed {
		return ErrClosed
	}
	return &LostError{Err: errNoConnection, Conn: err}
}

// dial is called by gRPC for each attempt.
func (cl *client) dial(ctx context.Context) (conn net.Conn, err error) {
	c := cl.conn
	c.mu.Lock()
	switch {
	case cl.retired:
		err = errNoConnection
	case c.local && c.used:
		err = errUsedUp
	}
	c.used = true
	c.mu.Unlock()
	switch {
	case err != nil:
	case c.local:
		conn = c.target.Conn
	default:
		conn, err = c.target.Dial(ctx)
	}
	if err != nil {
		cl.note(err)
		return nil, err
	}
	return &livingConn{Conn: conn, life: &life{}}, nil
}

// note keeps why an attempt has failed, since gRPC keeps only its text.
func (cl *client) note(err error) {
	cl.conn.mu.Lock()
	defer cl.conn.mu.Unlock()
	cl.attempt = err
}

// noting are credentials that tell of failed handshakes.
type noting struct {
	credentials.TransportCredentials
	note func(error)
}

// ClientHandshake is called for each connection.
func (n noting) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, conn)
	n.note(err)
	if err != nil {
		return nil, nil, err
	}
	return notedConn{c, n.note}, info, nil
}

// A notedConn tells why it cannot be read: who proves nothing himself hears only so what the node wants.
type notedConn struct {
	net.Conn
	note func(error)
}

func (c notedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.note(err)
	}
	return n, err
}

// Clone is part of the interface.
func (n noting) Clone() credentials.TransportCredentials {
	return noting{n.TransportCredentials.Clone(), n.note}
}
