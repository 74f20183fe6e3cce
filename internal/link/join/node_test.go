package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
)

// A testNode is a server on the loopback interface that, like gRPC's, speaks first to whoever it lets in.
type testNode struct {
	addr    string
	refused chan *AuthError
}

const greet = "welcome"

func serve(t *testing.T, creds credentials.TransportCredentials) *testNode {
	t.Helper()
	l := listen(t)
	n := &testNode{l.Addr().String(), make(chan *AuthError, 1000)}
	accept(t, l, func(raw net.Conn) {
		conn, _, err := creds.ServerHandshake(raw)
		if err != nil {
			var e *AuthError
			if !errors.As(err, &e) {
				t.Errorf("not an AuthError: %v", err)
			}
			n.refused <- e
			return
		}
		defer conn.Close()
		io.WriteString(conn, greet)
		io.Copy(conn, conn)
	})
	return n
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// accept serves each connection until the test ends, and waits for all of them.
func accept(t *testing.T, l net.Listener, f func(net.Conn)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	ended := false
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			if ended {
				conn.Close()
			}
			mu.Unlock()
			all.Go(func() {
				defer conn.Close()
				f(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		ended = true
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
}

// fake is a node that does what f does.
func fake(t *testing.T, f func(net.Conn)) *testNode {
	l := listen(t)
	accept(t, l, f)
	return &testNode{addr: l.Addr().String()}
}

// enter shakes hands and checks that bytes go both ways.
func (n *testNode) enter(t *testing.T, c *Client) error {
	t.Helper()
	conn, _, err := c.ClientHandshake(context.Background(), n.addr, n.dial(t))
	if err != nil {
		var e *AuthError
		if !errors.As(err, &e) || !errors.Is(c.Err(), e) {
			t.Fatalf("%v, but Err is %v", err, c.Err())
		}
		return err
	}
	defer conn.Close()
	if c.Err() != nil {
		t.Errorf("let in, but Err is %v", c.Err())
	}
	return hear(conn)
}

func hear(conn net.Conn) error {
	if _, err := io.WriteString(conn, "ping"); err != nil {
		return err
	}
	want := greet + "ping"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != want {
		return errors.New("heard " + string(got))
	}
	return nil
}

func (n *testNode) dial(t *testing.T) net.Conn {
	t.Helper()
	raw, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return raw
}

// told returns what the node said of the peer that it refused last.
func (n *testNode) told(t *testing.T) *AuthError {
	t.Helper()
	select {
	case e := <-n.refused:
		return e
	case <-time.After(5 * time.Second):
		t.Fatal("the node has refused nobody within 5 s")
		return nil
	}
}

func wantReason(t *testing.T, who string, err error, want Reason) {
	t.Helper()
	var e *AuthError
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %v, want an AuthError: %v", who, err, want)
	}
	if e.Reason != want {
		t.Errorf("%s: got %v (%v), want %v", who, e.Reason, e, want)
	}
	if e.Peer == "" {
		t.Errorf("%s: the error names no peer: %v", who, e)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A pki is the certificates of a test, made in memory.
type pki struct {
	ca   *authority
	pool *x509.CertPool
}

func newPKI(name string) pki {
	ca := must(newAuthority(name, time.Now()))
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pki{ca, pool}
}

func (p pki) node(l leaf) tls.Certificate {
	if l.hosts == nil {
		l.hosts = []string{"127.0.0.1", "localhost"}
	}
	return p.leaf(l, x509.ExtKeyUsageServerAuth)
}

func (p pki) client(l leaf) tls.Certificate { return p.leaf(l, x509.ExtKeyUsageClientAuth) }

func (p pki) leaf(l leaf, use x509.ExtKeyUsage) tls.Certificate {
	if l.use == 0 {
		l.use = use
	}
	if l.from.IsZero() {
		l.from = time.Now()
	}
	if l.until.IsZero() {
		l.until = time.Now().Add(time.Hour)
	}
	return must(p.ca.issue(l))
}

func (p pki) nodeConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{p.node(leaf{})}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: p.pool}
}

func (p pki) clientConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{p.client(leaf{})}, RootCAs: p.pool}
}
