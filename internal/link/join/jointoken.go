package join

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"net"
)

// NewTokenServer makes the credentials of a node that lets in whoever has its token.
// The error is a *TokenError: the token was not made for a node, or is none.
func NewTokenServer(t Token, o Options) (*Server, error) {
	if err := t.serves(); err != nil {
		return nil, err
	}
	m := tokenServer{}
	for _, id := range t.t.accepted {
		cert, err := id.certificate()
		if err != nil {
			return nil, &TokenError{t.t.path, "its key cannot be used", err}
		}
		m.keys = append(m.keys, key{id, &tls.Config{
			Certificates:                []tls.Certificate{cert},
			MinVersion:                  tls.VersionTLS13,
			NextProtos:                  []string{protocol},
			SessionTicketsDisabled:      true,
			DynamicRecordSizingDisabled: true,
		}})
	}
	return newServer(m, o), nil
}

// A key is one that a node shows, and what those that ask for it have to know.
type key struct {
	identity
	config *tls.Config
}

type tokenServer struct{ keys []key } // the newest in front; immutable

func (tokenServer) name() string    { return "token" }
func (tokenServer) limitBytes() int { return tokenLimitBytes }

// pick returns the key that a program has the pin of; who asks for none of them is shown the newest.
func (m tokenServer) pick(name string) key {
	for _, k := range m.keys {
		if k.name() == name {
			return k
		}
	}
	return m.keys[0]
}

func (m tokenServer) shake(g *gate, _ string) (net.Conn, Info, error) {
	var hello greeting
	chosen := m.keys[0]
	conn := tls.Server(g, &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			hello.hear(h, protocol, "h2", "the program comes with a certificate, or is none of weir's: this node wants a join token")
			chosen = m.pick(h.ServerName)
			return chosen.config, nil
		},
	})
	if err := conn.Handshake(); err != nil {
		return nil, Info{}, atTokenServer(atServer(err, hello))
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != protocol {
		return nil, Info{}, &AuthError{Reason: WrongMethod, Detail: "the peer is no program of weir's that has a join token"}
	}
	want, err := chosen.secret.prove(programProof, state)
	if err != nil {
		return nil, Info{}, err
	}
	got, err := readMessage(conn)
	switch {
	case err == errVersion:
		refuse(conn)
		return nil, Info{}, &AuthError{Reason: Malformed, Err: err}
	case err != nil:
		return nil, Info{}, atTokenServer(atServer(err, hello))
	case got.kind != programProof:
		refuse(conn)
		return nil, Info{}, &AuthError{Reason: Malformed, Err: errNoneExpected}
	case !got.proves(want):
		refuse(conn)
		return nil, Info{}, &AuthError{Reason: WrongToken, Detail: "the program does not know this node's secret"}
	}
	proof, err := chosen.secret.prove(nodeProof, state)
	if err != nil {
		return nil, Info{}, err
	}
	if err := proof.writeTo(conn); err != nil {
		return nil, Info{}, err
	}
	return conn, secured(m.name(), state), nil
}

// refuse tells a peer no more than that. Whether it hears it is its own affair.
func refuse(conn *tls.Conn) { message{kind: refusal}.writeTo(conn) }

// NewTokenClient makes the credentials of a program that has a node's token. The error is a *TokenError: there is no token.
func NewTokenClient(t Token, o Options) (*Client, error) {
	if t.IsZero() {
		return nil, &TokenError{Reason: "none was given"}
	}
	return newClient(tokenClient{t.t.own}, o), nil
}

type tokenClient struct{ id identity }

func (tokenClient) name() string    { return "token" }
func (tokenClient) limitBytes() int { return tokenLimitBytes }

func (m tokenClient) shake(g *gate, _ string) (net.Conn, Info, error) {
	conn := tls.Client(g, &tls.Config{
		ServerName:                  m.id.name(),
		MinVersion:                  tls.VersionTLS13,
		NextProtos:                  []string{protocol},
		DynamicRecordSizingDisabled: true,
		InsecureSkipVerify:          true, // of the certificate only the key counts:
		VerifyConnection:            m.verify,
	})
	if err := conn.Handshake(); err != nil {
		return nil, Info{}, atTokenClient(err)
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != protocol {
		return nil, Info{}, &AuthError{Reason: WrongMethod, Detail: "what answers there takes no join tokens"}
	}
	proof, err := m.id.secret.prove(programProof, state)
	if err != nil {
		return nil, Info{}, err
	}
	want, err := m.id.secret.prove(nodeProof, state)
	if err != nil {
		return nil, Info{}, err
	}
	if err := proof.writeTo(conn); err != nil {
		return nil, Info{}, atTokenClient(err)
	}
	got, err := readMessage(conn)
	switch {
	case err == errNoMessage || err == errVersion:
		return nil, Info{}, &AuthError{Reason: Malformed, Err: err}
	case err != nil:
		return nil, Info{}, atTokenClient(err)
	case got.kind == refusal:
		return nil, Info{}, &AuthError{Reason: WrongToken, Detail: "the node has another secret; its log may say more"}
	case !got.proves(want):
		return nil, Info{}, &AuthError{Reason: WrongToken, Detail: "the node did not prove that it knows the secret"}
	}
	return conn, secured(m.name(), state), nil
}

// verify compares the node's key with the pin. That the node has the private half, the handshake shows.
func (m tokenClient) verify(state tls.ConnectionState) error {
	shown := sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)
	if subtle.ConstantTimeCompare(shown[:], m.id.pin[:]) == 1 {
		return nil
	}
	return &AuthError{Reason: WrongPin, Detail: "the join token is for another node, or the node's token was made anew"}
}
