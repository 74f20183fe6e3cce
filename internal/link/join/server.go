package join

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc/credentials"
)

// Options are limits, and who is told.
type Options struct {
	// Within is how long a handshake may take, from the first byte to the last. 0 means 5 s.
	Within time.Duration
	// Waiting is how many peers of a server may be at their handshakes at a time. When one more comes, the one that has been
	// at it for longest is refused. 0 means 64.
	Waiting int
	// OnRefused is called by a server when it has refused a peer, at most once a second for each Reason. It is called
	// from many goroutines and must not block.
	OnRefused func(Refusal)
}

func (o Options) withDefaults() Options {
	o.Within = cmp.Or(o.Within, 5*time.Second)
	o.Waiting = cmp.Or(o.Waiting, 64)
	return o
}

// Info is what is known of a peer that has proved itself. It is the AuthInfo of its connection.
type Info struct {
	credentials.CommonAuthInfo
	Method string // "token", "tls" or "open"
	// State is that of the TLS connection; nil if there is none. With certificates it has the peer's.
	State *tls.ConnectionState
}

// AuthType returns the method.
func (i Info) AuthType() string { return "weir-" + i.Method }

func secured(method string, state tls.ConnectionState) Info {
	return Info{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, method, &state}
}

// A method is one way to prove oneself, on one side. authority is what a program calls the node.
type method interface {
	name() string
	limitBytes() int
	shake(g *gate, authority string) (net.Conn, Info, error)
}

// A Server is a node's side: transport credentials for grpc.Creds.
type Server struct {
	method   method
	options  Options
	crowd    *crowd
	refusals *refusals
}

var _ credentials.TransportCredentials = (*Server)(nil)

func newServer(m method, o Options) *Server {
	o = o.withDefaults()
	return &Server{m, o, &crowd{max: o.Waiting}, &refusals{tell: o.OnRefused}}
}

// ServerHandshake lets the peer prove itself. It blocks for Options.Within at most, and 250 ms longer with a peer that
// must hear that it is refused. The error is an *AuthError, and raw is closed then. Otherwise raw keeps its deadline, for the
// first words of HTTP/2: gRPC takes it away when it has heard them.
func (s *Server) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	guest := s.crowd.enter(raw)
	defer s.crowd.leave(guest)
	g := &gate{Conn: raw, left: s.method.limitBytes()}
	raw.SetDeadline(time.Now().Add(s.options.Within))
	conn, info, err := s.method.shake(g, "")
	if err != nil {
		e := diagnose(err)
		if e.Reason != TimedOut && e.Reason != Closed {
			linger(raw)
		}
		return nil, nil, s.refuse(guest, e)
	}
	if !s.crowd.leave(guest) {
		return nil, nil, s.refuse(guest, &AuthError{Reason: Crowded})
	}
	g.open = true
	return conn, info, nil
}

func (s *Server) refuse(guest *guest, e *AuthError) error {
	if !s.crowd.leave(guest) {
		e = &AuthError{Reason: Crowded}
	}
	guest.conn.Close()
	e.Peer = addressOf(guest.conn)
	s.refusals.add(e)
	return e
}

// Refused returns how many peers were refused so far.
func (s *Server) Refused() uint64 { return s.refusals.count() }

// ClientHandshake refuses: a server calls nobody.
func (s *Server) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a node are no credentials of a program")
}

// Info names the method.
func (s *Server) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: s.method.name()}
}

// Clone returns s, which nothing changes.
func (s *Server) Clone() credentials.TransportCredentials { return s }

// OverrideServerName does nothing: a server has no name to ask for.
func (s *Server) OverrideServerName(string) error { return nil }

// A greeting is what a program's first message says about it.
type greeting struct {
	old         bool   // it speaks no TLS 1.3
	otherMethod string // what it wants instead; "" if it wants what we do
}

func (g *greeting) hear(hello *tls.ClientHelloInfo, ours, other, meaning string) {
	g.old = !slices.Contains(hello.SupportedVersions, tls.VersionTLS13)
	if !slices.Contains(hello.SupportedProtos, ours) && slices.Contains(hello.SupportedProtos, other) {
		g.otherMethod = meaning
	}
}

func addressOf(conn net.Conn) string {
	if a := conn.RemoteAddr(); a != nil {
		return printable(a.String())
	}
	return "an unknown address"
}
