package join

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// A Client is a program's side: transport credentials for grpc.WithTransportCredentials.
type Client struct {
	method  method
	options Options
	// serverName is what OverrideServerName said; immutable after that.
	serverName string
	last       *atomic.Pointer[AuthError] // shared with clones
}

var _ credentials.TransportCredentials = (*Client)(nil)

func newClient(m method, o Options) *Client {
	return &Client{method: m, options: o.withDefaults(), last: new(atomic.Pointer[AuthError])}
}

// ClientHandshake lets the node prove itself, and proves ourselves to it. It blocks until ctx ends or Options.Within is over.
// The error is an *AuthError, and raw is closed then.
func (c *Client) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Within)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	g := &gate{Conn: raw, left: c.method.limitBytes()}
	conn, info, err := c.method.shake(g, cmp.Or(c.serverName, authority))
	if !stop() {
		err = cmp.Or[error](context.Cause(ctx), err)
	}
	if err != nil {
		raw.Close()
		e := atClient(err)
		e.Peer = addressOf(raw)
		c.last.Store(e)
		return nil, nil, e
	}
	g.open = true
	c.last.Store(nil)
	return conn, info, nil
}

// Err returns why the last handshake failed, an *AuthError, or nil if it did not: gRPC passes on the text only.
func (c *Client) Err() error {
	if e := c.last.Load(); e != nil {
		return e
	}
	return nil
}

// ServerHandshake refuses: a program serves nobody.
func (c *Client) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a program are no credentials of a node")
}

// Info names the method.
func (c *Client) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: c.method.name()}
}

// Clone returns a copy that shares Err.
func (c *Client) Clone() credentials.TransportCredentials {
	copied := *c
	return &copied
}

// OverrideServerName sets what the node's certificate must be for, instead of the name that was dialled. It is called
// before the first handshake.
func (c *Client) OverrideServerName(name string) error {
	c.serverName = name
	return nil
}

// peeked is a connection of which something has been read already.
type peeked struct {
	net.Conn
	first []byte // owned by the reader
}

// Read returns what was read already first.
func (p *peeked) Read(b []byte) (int, error) {
	if len(p.first) == 0 || len(b) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.first)
	p.first = p.first[n:]
	return n, nil
}
