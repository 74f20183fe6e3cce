package join

import (
	"crypto/tls"
	"net"
	"slices"
)

// NewTLSServer makes the credentials of a node that lets in whoever has a certificate that cfg accepts. cfg is copied. Of it
// only TLS 1.3 is used, without resumption. The error is a *ConfigError if cfg would let strangers in.
func NewTLSServer(cfg *tls.Config, o Options) (*Server, error) {
	safe, err := hardenServer(cfg)
	if err != nil {
		return nil, err
	}
	return newServer(tlsServer{safe}, o), nil
}

// hardenServer returns what a node may use of a configuration.
func hardenServer(cfg *tls.Config) (*tls.Config, error) {
	safe, err := harden(cfg)
	if err != nil {
		return nil, err
	}
	switch {
	case cfg.GetConfigForClient != nil:
		// What it returns is looked at when it does: see shake.
	case cfg.ClientAuth != tls.RequireAndVerifyClientCert:
		return nil, &ConfigError{"ClientAuth", "must be RequireAndVerifyClientCert: a node must know who deploys on it"}
	case cfg.ClientCAs == nil:
		return nil, &ConfigError{"ClientCAs", "is needed: without it, every certificate that this system trusts would do"}
	case len(cfg.Certificates) == 0 && cfg.GetCertificate == nil:
		return nil, &ConfigError{"Certificates", "is needed: the node's own"}
	}
	safe.SessionTicketsDisabled = true
	return safe, nil
}

// harden copies a configuration, with what both sides need.
func harden(cfg *tls.Config) (*tls.Config, error) {
	switch {
	case cfg == nil:
		return nil, &ConfigError{"Certificates", "there is no tls.Config"}
	case cfg.MaxVersion != 0 && cfg.MaxVersion < tls.VersionTLS13:
		return nil, &ConfigError{"MaxVersion", "must allow TLS 1.3"}
	}
	safe := cfg.Clone()
	safe.MinVersion = tls.VersionTLS13
	safe.NextProtos = []string{"h2"}
	safe.ClientSessionCache = nil
	safe.DynamicRecordSizingDisabled = true
	return safe, nil
}

type tlsServer struct{ config *tls.Config } // immutable

func (tlsServer) name() string    { return "tls" }
func (tlsServer) limitBytes() int { return tlsLimitBytes }

func (m tlsServer) shake(g *gate, _ string) (net.Conn, Info, error) {
	var hello greeting
	cfg := m.config.Clone()
	choose := cfg.GetConfigForClient
	cfg.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello.hear(h, "h2", protocol, "the program has a join token: this node wants a certificate")
		if choose == nil {
			return nil, nil
		}
		chosen, err := choose(h)
		if err != nil {
			return nil, err
		}
		if chosen == nil { // the outer one, which was not looked at
			chosen = cfg.Clone()
			chosen.GetConfigForClient = nil
		}
		return hardenChosen(chosen)
	}
	conn := tls.Server(g, cfg)
	if err := conn.Handshake(); err != nil {
		return nil, Info{}, atTLSServer(atServer(err, hello))
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != "h2" {
		return nil, Info{}, &AuthError{Reason: Malformed, Detail: "the program does not say that it speaks HTTP/2"}
	}
	return conn, secured(m.name(), state), nil
}

func hardenChosen(cfg *tls.Config) (*tls.Config, error) {
	if cfg.GetConfigForClient != nil {
		cfg = cfg.Clone()
		cfg.GetConfigForClient = nil // crypto/tls asks once only
	}
	return hardenServer(cfg)
}

// NewTLSClient makes the credentials of a program that shows a certificate and checks the node's. cfg is copied. Of it only TLS 1.3 is
// used, without resumption. The node's certificate must be for ServerName, or, if that is empty, for the host that is
// dialled. The error is a *ConfigError if cfg would trust anybody, or shows no certificate.
func NewTLSClient(cfg *tls.Config, o Options) (*Client, error) {
	safe, err := harden(cfg)
	if err != nil {
		return nil, err
	}
	switch {
	case cfg.InsecureSkipVerify && cfg.VerifyPeerCertificate == nil && cfg.VerifyConnection == nil:
		return nil, &ConfigError{"InsecureSkipVerify", "would trust anybody: put the node's authority into RootCAs, or check it in VerifyConnection"}
	case len(cfg.Certificates) == 0 && cfg.GetClientCertificate == nil:
		return nil, &ConfigError{"Certificates", "is needed: the program's own"}
	}
	c := newClient(tlsClient{safe}, o)
	c.serverName = cfg.ServerName
	return c, nil
}

type tlsClient struct{ config *tls.Config } // immutable

func (tlsClient) name() string    { return "tls" }
func (tlsClient) limitBytes() int { return tlsLimitBytes }

func (m tlsClient) shake(g *gate, authority string) (net.Conn, Info, error) {
	cfg := m.config.Clone()
	cfg.ServerName = authority
	if host, _, err := net.SplitHostPort(authority); err == nil {
		cfg.ServerName = host
	}
	showed := false
	cfg.GetClientCertificate = func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		cert, err := m.certificate(r)
		showed = err == nil && len(cert.Certificate) > 0
		return cert, err
	}
	conn := tls.Client(g, cfg)
	if err := conn.Handshake(); err != nil {
		return nil, Info{}, atTLSClient(err, false, showed)
	}
	// For the program the handshake is over before the node has looked at its certificate (RFC 8446, 2). A gRPC server speaks
	// first (RFC 9113, 3.4): what the node says, or that it closes, tells whether it has accepted us.
	state := conn.ConnectionState()
	var first [1]byte
	if _, err := conn.Read(first[:]); err != nil {
		return nil, Info{}, atTLSClient(err, true, showed)
	}
	return &peeked{conn, slices.Clone(first[:])}, secured(m.name(), state), nil
}

// certificate returns the first one that the node says it wants, else the first one: crypto/tls would show none, and the
// node could not say what is wrong with ours.
func (m tlsClient) certificate(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if m.config.GetClientCertificate != nil {
		return m.config.GetClientCertificate(r)
	}
	for i := range m.config.Certificates {
		if r.SupportsCertificate(&m.config.Certificates[i]) == nil {
			return &m.config.Certificates[i], nil
		}
	}
	return &m.config.Certificates[0], nil
}
