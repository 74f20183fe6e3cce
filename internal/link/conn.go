package link

import (
	"context"
	"errors"
	"io"
	"net"
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

	mu      sync.Mutex
	client  *grpc.ClientConn // guarded by mu; nil after a failed attempt
	closed  bool             // guarded by mu
	attempt error            // guarded by mu; why the last attempt to connect has failed
	used    bool             // guarded by mu; target.Conn was handed out
	live    map[*Session]struct{}
}

// Dial connects to a node. It blocks for at most 5 s. The errors are those of Open.
func Dial(ctx context.Context, t Target) (*Conn, error) {
	if (t.Conn == nil) == (t.Dial == nil) {
		return nil, errors.New("link: a target has either a connection or a function that dials")
	}
	c := &Conn{target: t, local: t.Conn != nil, live: map[*Session]struct{}{}}
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
	client, err := c.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	// The stream lives as long as its context: only until the answer is there, ctx ends it.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, cancel)
	s, err := c.stream(life, cancel, client)
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
func (c *Conn) stream(ctx context.Context, cancel func(), client *grpc.ClientConn) (*Session, error) {
	desc := streamDesc()
	st, err := client.NewStream(ctx, &desc, method)
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
		c.live[s] = struct{}{}
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
	delete(c.live, s)
	c.mu.Unlock()
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
	client := c.client
	c.client, c.closed = nil, true
	sessions := make([]*Session, 0, len(c.live))
	for s := range c.live {
		sessions = append(sessions, s)
	}
	unused := c.local && !c.used
	c.used = true
	c.mu.Unlock()
	for _, s := range sessions {
		s.Close()
	}
	var err error
	if client != nil {
		err = client.Close()
	}
	if unused {
		err = errors.Join(err, c.target.Conn.Close())
	}
	c.keep.Wait()
	return err
}

// connect returns a client that has a connection.
func (c *Conn) connect(ctx context.Context) (*grpc.ClientConn, error) {
	client, err := c.idle()
	if err != nil {
		return nil, err
	}
	for {
		state := client.GetState()
		switch state {
		case connectivity.Ready:
			return client, nil
		case connectivity.Idle:
			client.Connect()
		case connectivity.TransientFailure, connectivity.Shutdown:
			return nil, c.giveUp(client, errors.New("cannot connect"))
		}
		if !client.WaitForStateChange(ctx, state) {
			_ = c.giveUp(client, nil)
			return nil, context.Cause(ctx)
		}
	}
}

// idle returns the client, a new one if there is none.
func (c *Conn) idle() (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.client == nil {
		client, err := grpc.NewClient("passthrough:///node", dialOptions(c.dial, c.credentials())...)
		if err != nil {
			return nil, &LostError{Err: err}
		}
		c.client, c.attempt = client, nil
	}
	return c.client, nil
}

// giveUp lets go of a client that could not connect, so that it does not go on trying.
func (c *Conn) giveUp(client *grpc.ClientConn, err error) error {
	c.mu.Lock()
	if c.client == client {
		c.client = nil
	}
	lost, closed := &LostError{Err: err, Conn: c.attempt}, c.closed
	c.mu.Unlock()
	_ = client.Close() // it has no connection
	if closed {
		return ErrClosed
	}
	return lost
}

// dial is called by the client for each attempt.
func (c *Conn) dial(ctx context.Context) (net.Conn, error) {
	conn, err := c.target.Conn, error(nil)
	if c.local {
		c.mu.Lock()
		if c.used {
			err = errUsedUp
		}
		c.used = true
		c.mu.Unlock()
	} else {
		conn, err = c.target.Dial(ctx)
	}
	if err != nil {
		c.note(err)
		return nil, err
	}
	return &livingConn{Conn: conn, life: &life{}}, nil
}

// note keeps why an attempt has failed, since gRPC keeps only its text.
func (c *Conn) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt = err
}

// credentials note why a handshake has failed.
func (c *Conn) credentials() credentials.TransportCredentials {
	return noting{c.target.Credentials, c.note}
}

// noting are credentials that tell of failed handshakes.
type noting struct {
	credentials.TransportCredentials
	note func(error)
}

// ClientHandshake is called for each connection.
func (n noting) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err != nil {
		n.note(err)
	}
	return c, info, err
}

// Clone is part of the interface.
func (n noting) Clone() credentials.TransportCredentials {
	return noting{n.TransportCredentials.Clone(), n.note}
}
