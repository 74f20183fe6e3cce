package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestWhatIsWrongWithCertificatesIsSaidOnBothSides(t *testing.T) {
	ours, theirs := newPKI("ours"), newPKI("theirs")
	hourAgo, tomorrow := time.Now().Add(-time.Minute), time.Now().Add(24*time.Hour)
	client := func(c ...tls.Certificate) *tls.Config { return &tls.Config{Certificates: c, RootCAs: ours.pool} }
	node := func(c tls.Certificate) *tls.Config {
		cfg := ours.nodeConfig()
		cfg.Certificates = []tls.Certificate{c}
		return cfg
	}
	const none = reasons
	cases := []struct {
		name         string
		node         *tls.Config
		program      *tls.Config
		atProgram    Reason
		says         string
		atNode       Reason
		atNodeItSays string
	}{
		{"all is well", ours.nodeConfig(), ours.clientConfig(), none, "", none, ""},
		{"the node's is by another authority", node(theirs.node(leaf{})), ours.clientConfig(), WrongCA, "RootCAs", Rejected, "program does not accept"},
		{"the node's has expired", node(ours.node(leaf{until: hourAgo})), ours.clientConfig(), Expired, "the node's", Rejected, "program does not accept"},
		{"the node's is not valid yet", node(ours.node(leaf{from: tomorrow, until: tomorrow.Add(time.Hour)})), ours.clientConfig(), Expired, "the node's", Rejected, "program does not accept"},
		{"the node's is for another name", node(ours.node(leaf{hosts: []string{"loader-1"}})), ours.clientConfig(), WrongName, "127.0.0.1", Rejected, "program does not accept"},
		{"the node's is a program's", node(ours.node(leaf{use: x509.ExtKeyUsageClientAuth})), ours.clientConfig(), Rejected, "key usage", Rejected, "program does not accept"},
		{"the program's is by another authority", ours.nodeConfig(), client(theirs.client(leaf{})), WrongCA, "does not trust the authority that signed our", WrongCA, "ClientCAs"},
		{"the program's has expired", ours.nodeConfig(), client(ours.client(leaf{until: hourAgo})), Expired, "ours", Expired, "program's"},
		{"the program's is not valid yet", ours.nodeConfig(), client(ours.client(leaf{from: tomorrow, until: tomorrow.Add(time.Hour)})), Expired, "ours", Expired, "program's"},
		{"the program's is a node's", ours.nodeConfig(), client(ours.node(leaf{})), Rejected, "does not accept ours", Rejected, "key usage"},
		{"the program shows none", ours.nodeConfig(), &tls.Config{
			RootCAs:              ours.pool,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return new(tls.Certificate), nil },
		}, NoCertificate, "we showed none", NoCertificate, "showed none"},
		{"the program has several, one of them good", ours.nodeConfig(), client(theirs.client(leaf{}), ours.client(leaf{})), none, "", none, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := serve(t, must(NewTLSServer(c.node, Options{})))
			check := func(who string, err error, want Reason, says string) {
				t.Helper()
				if want == none {
					if err != nil {
						t.Errorf("%s: %v", who, err)
					}
					return
				}
				wantReason(t, who, err, want)
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%s: %q does not say %q", who, err, says)
				}
			}
			check("the program", n.enter(t, must(NewTLSClient(c.program, Options{}))), c.atProgram, c.says)
			if c.atNode != none {
				check("the node", n.told(t), c.atNode, c.atNodeItSays)
			}
		})
	}
}

func TestANodeThatWantsCertificatesRefusesWhatElseComes(t *testing.T) {
	p := newPKI("ours")
	n := serve(t, must(NewTLSServer(p.nodeConfig(), Options{})))
	good := must(NewTLSClient(p.clientConfig(), Options{}))
	attacks := []struct {
		name   string
		attack func(net.Conn)
		want   Reason
	}{
		{"HTTP", func(raw net.Conn) { io.WriteString(raw, "GET / HTTP/1.1\r\n\r\n") }, Plaintext},
		{"TLS 1.2", func(raw net.Conn) {
			cfg := p.clientConfig()
			cfg.ServerName, cfg.MaxVersion = "localhost", tls.VersionTLS12
			tls.Client(raw, cfg).Handshake()
		}, OldTLS},
		{"a join token", func(raw net.Conn) {
			_, _, err := must(NewTokenClient(must(New()), Options{})).ClientHandshake(context.Background(), "", raw)
			wantReason(t, "the program", err, WrongMethod)
		}, WrongMethod},
		{"no HTTP/2", func(raw net.Conn) {
			cfg := p.clientConfig()
			cfg.ServerName = "localhost"
			conn := tls.Client(raw, cfg)
			conn.Handshake()
			conn.Read(make([]byte, 1))
		}, Malformed},
		{"too much", func(raw net.Conn) {
			message := append([]byte("\x01\x00\xff\xf0"), make([]byte, 0xfff0)...)
			for len(message) > 0 {
				part := message[:min(1<<14, len(message))]
				message = message[len(part):]
				raw.Write(append([]byte{0x16, 3, 1, byte(len(part) >> 8), byte(len(part))}, part...))
			}
		}, Oversized},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			a.attack(n.dial(t))
			wantReason(t, "the node", n.told(t), a.want)
			if err := n.enter(t, good); err != nil {
				t.Errorf("a good peer after it: %v", err)
			}
		})
	}
}

func TestAProgramWithACertificateSaysWhatAFalseNodeDoes(t *testing.T) {
	p := newPKI("ours")
	nodes := []struct {
		name string
		node func(net.Conn)
		want Reason
		says string
	}{
		{"closes behind the handshake", func(raw net.Conn) {
			cfg := p.nodeConfig()
			cfg.NextProtos = []string{"h2"}
			tls.Server(raw, cfg).Handshake()
		}, Closed, "it may not accept our certificate"},
		{"closes at once", func(net.Conn) {}, Closed, ""},
		{"speaks TLS 1.2", func(raw net.Conn) {
			cfg := p.nodeConfig()
			cfg.MaxVersion = tls.VersionTLS12
			tls.Server(raw, cfg).Handshake()
		}, OldTLS, "TLS 1.3"},
		{"speaks no TLS", func(raw net.Conn) { io.WriteString(raw, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"); linger(raw) }, Plaintext, "no TLS"},
		{"wants a join token", func(raw net.Conn) {
			s := must(NewTokenServer(must(New()), Options{}))
			_, _, err := s.ServerHandshake(raw)
			wantReason(t, "the node", err, WrongMethod)
		}, WrongMethod, "join token"},
	}
	for _, n := range nodes {
		t.Run(n.name, func(t *testing.T) {
			err := fake(t, n.node).enter(t, must(NewTLSClient(p.clientConfig(), Options{})))
			wantReason(t, "the program", err, n.want)
			if !strings.Contains(err.Error(), n.says) {
				t.Errorf("%q does not say %q", err, n.says)
			}
		})
	}
}

func TestNoHandshakeIsResumed(t *testing.T) {
	p, tok := newPKI("ours"), must(New())
	mutual := p.clientConfig()
	mutual.ServerName, mutual.NextProtos = "localhost", []string{"h2"}
	cases := map[string]struct {
		node   *Server
		config *tls.Config
	}{
		"tls":   {must(NewTLSServer(p.nodeConfig(), Options{})), mutual},
		"token": {must(NewTokenServer(tok, Options{})), &tls.Config{InsecureSkipVerify: true, ServerName: tok.t.own.name(), NextProtos: []string{protocol}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := serve(t, c.node)
			tickets := &ticketCount{ClientSessionCache: tls.NewLRUClientSessionCache(8)}
			c.config.ClientSessionCache = tickets
			for range 3 {
				conn := tls.Client(n.dial(t), c.config)
				if err := conn.Handshake(); err != nil {
					t.Fatal(err)
				}
				state := conn.ConnectionState()
				if name == "token" {
					must(tok.t.own.secret.prove(programProof, state)).writeTo(conn)
					if got, err := readMessage(conn); err != nil || got.kind != nodeProof {
						t.Fatalf("%v, %v", got, err)
					}
				}
				if err := hear(conn); err != nil { // reads tickets, if there are any
					t.Fatal(err)
				}
				if state.DidResume {
					t.Error("resumed")
				}
				conn.Close()
			}
			if tickets.n > 0 {
				t.Errorf("%d tickets were given", tickets.n)
			}
		})
	}
}

// ticketCount counts what a server gives to resume with.
type ticketCount struct {
	tls.ClientSessionCache
	n int
}

func (c *ticketCount) Put(key string, s *tls.ClientSessionState) {
	if s != nil {
		c.n++
	}
	c.ClientSessionCache.Put(key, s)
}

func TestATLSConfigThatLetsStrangersInIsRefused(t *testing.T) {
	p := newPKI("ours")
	node := func(change func(*tls.Config)) func() error {
		return func() error {
			cfg := p.nodeConfig()
			change(cfg)
			_, err := NewTLSServer(cfg, Options{})
			return err
		}
	}
	client := func(change func(*tls.Config)) func() error {
		return func() error {
			cfg := p.clientConfig()
			change(cfg)
			_, err := NewTLSClient(cfg, Options{})
			return err
		}
	}
	cases := []struct {
		name  string
		make  func() error
		field string
	}{
		{"a node without configuration", func() error { _, err := NewTLSServer(nil, Options{}); return err }, "Certificates"},
		{"a node that asks for no certificates", node(func(c *tls.Config) { c.ClientAuth = tls.NoClientCert }), "ClientAuth"},
		{"a node that only asks", node(func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert }), "ClientAuth"},
		{"a node that takes any", node(func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }), "ClientAuth"},
		{"a node that checks those that are given", node(func(c *tls.Config) { c.ClientAuth = tls.VerifyClientCertIfGiven }), "ClientAuth"},
		{"a node that trusts the system's authorities", node(func(c *tls.Config) { c.ClientCAs = nil }), "ClientCAs"},
		{"a node without a certificate", node(func(c *tls.Config) { c.Certificates = nil }), "Certificates"},
		{"a node for old TLS", node(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), "MaxVersion"},
		{"a good node", node(func(c *tls.Config) {}), ""},
		{"a program without configuration", func() error { _, err := NewTLSClient(nil, Options{}); return err }, "Certificates"},
		{"a program that trusts anybody", client(func(c *tls.Config) { c.InsecureSkipVerify = true }), "InsecureSkipVerify"},
		{"a program that checks by itself", client(func(c *tls.Config) {
			c.InsecureSkipVerify = true
			c.VerifyConnection = func(tls.ConnectionState) error { return nil }
		}), ""},
		{"a program without a certificate", client(func(c *tls.Config) { c.Certificates = nil }), "Certificates"},
		{"a program for old TLS", client(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), "MaxVersion"},
		{"a good program", client(func(c *tls.Config) {}), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.make()
			var wrong *ConfigError
			switch {
			case c.field == "" && err != nil:
				t.Error(err)
			case c.field != "" && (!errors.As(err, &wrong) || wrong.Field != c.field):
				t.Errorf("got %v, want a ConfigError of %s", err, c.field)
			}
		})
	}
}

func TestAConfigurationPerProgramIsCheckedToo(t *testing.T) {
	p := newPKI("ours")
	cases := map[string]struct {
		chosen *tls.Config
		in     bool
	}{
		"good":                  {p.nodeConfig(), true},
		"none: the outer one":   {nil, true},
		"asks for no one":       {&tls.Config{Certificates: []tls.Certificate{p.node(leaf{})}}, false},
		"takes any certificate": {&tls.Config{Certificates: []tls.Certificate{p.node(leaf{})}, ClientAuth: tls.RequireAnyClientCert}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := p.nodeConfig()
			cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.chosen, nil }
			n := serve(t, must(NewTLSServer(cfg, Options{})))
			err := n.enter(t, must(NewTLSClient(p.clientConfig(), Options{})))
			if (err == nil) != c.in {
				t.Errorf("got %v", err)
			}
		})
	}
}
