package join

import (
	"io"
	"net"

	"google.golang.org/grpc/credentials"
)

// NewOpenServer makes the credentials of a node that lets in everybody on its machine. at is where it listens: any other
// address than a loopback one is an error. Each peer is looked at again when it comes.
func NewOpenServer(at net.Addr, o Options) (*Server, error) {
	if err := CheckLoopback(at); err != nil {
		return nil, err
	}
	return newServer(open{}, o), nil
}

// NewOpenClient makes the credentials of a program that deploys on its own machine and proves nothing. Connections that lead elsewhere
// are refused. That a node wants more is found out at the first read: the error of the connection's Read is then an *AuthError.
func NewOpenClient(o Options) *Client { return newClient(openClient{}, o) }

type open struct{}

func (open) name() string    { return "open" }
func (open) limitBytes() int { return 0 }

func (open) shake(g *gate, _ string) (net.Conn, Info, error) {
	for _, end := range []net.Addr{g.LocalAddr(), g.RemoteAddr()} {
		if err := CheckLoopback(end); err != nil {
			return nil, Info{}, &AuthError{Reason: NotLoopback, Err: err}
		}
	}
	return g.Conn, Info{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}, "open", nil}, nil
}

type openClient struct{ open }

func (m openClient) shake(g *gate, authority string) (net.Conn, Info, error) {
	conn, info, err := m.open.shake(g, authority)
	if err != nil {
		return nil, Info{}, err
	}
	return &plain{Conn: conn}, info, nil
}

// plain is a connection to what should be a node without credentials.
type plain struct {
	net.Conn
	met bool // something has been read; owned by the reader
}

// Read tells a node that wants TLS from one that does not, by the first byte.
func (p *plain) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if p.met || len(b) == 0 {
		return n, err
	}
	p.met = n > 0
	const alertRecord, handshakeRecord = 0x15, 0x16
	switch {
	case n > 0 && (b[0] == alertRecord || b[0] == handshakeRecord):
		err = &AuthError{addressOf(p.Conn), Plaintext, "the node wants TLS: give a join token or certificates", nil}
	case n == 0 && err != nil && (err == io.EOF || lost(err)):
		err = &AuthError{addressOf(p.Conn), Closed, "the node said nothing: it may want a join token or certificates", err}
	default:
		return n, err
	}
	return 0, err
}
