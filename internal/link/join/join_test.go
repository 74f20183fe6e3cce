package join

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOnlyLoopbackIsOnThisMachine(t *testing.T) {
	ip := func(s string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(s), Port: 7433} }
	cases := []struct {
		addr net.Addr
		ok   bool
	}{
		{ip("127.0.0.1"), true}, {ip("127.8.8.8"), true}, {ip("::1"), true}, {ip("::ffff:127.0.0.1"), true},
		{&net.TCPAddr{IP: net.IP{127, 0, 0, 1}}, true},
		{ip("0.0.0.0"), false}, {ip("::"), false}, {&net.TCPAddr{}, false}, {ip("10.0.0.1"), false}, {ip("192.168.1.1"), false},
		{ip("::ffff:10.0.0.1"), false}, {ip("::ffff:0.0.0.0"), false}, {ip("fe80::1"), false}, {ip("128.0.0.1"), false}, {ip("2001:db8::1"), false},
		{&net.UnixAddr{Name: "/tmp/x", Net: "unix"}, false}, {&net.UnixAddr{Name: "@x", Net: "unix"}, false},
		{&net.UDPAddr{IP: net.IP{127, 0, 0, 1}}, false}, {(*net.TCPAddr)(nil), false}, {nil, false},
	}
	for _, c := range cases {
		if err := CheckLoopback(c.addr); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.addr, err)
		}
		if _, err := NewOpenServer(c.addr, Options{}); (err == nil) != c.ok {
			t.Errorf("a server at %v: %v", c.addr, err)
		}
	}
	for target, ok := range map[string]bool{
		"127.0.0.1:7433": true, "[::1]:7433": true, "localhost:7433": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:7433": false, "[::]:7433": false, ":7433": false, "loader-1:7433": false, "10.0.0.1:7433": false, "localhost.evil.example:7433": false,
		"[fe80::1%eth0]:7433": false, "127.0.0.1": false, "2130706433:1": false, "": false,
	} {
		if err := CheckLoopbackTarget(target); (err == nil) != ok {
			t.Errorf("%q: %v", target, err)
		}
	}
}

func TestWithoutCredentialsOnlyThisMachineGetsIn(t *testing.T) {
	s := must(NewOpenServer(&net.TCPAddr{IP: net.IP{127, 0, 0, 1}}, Options{}))
	if err := serve(t, s).enter(t, NewOpenClient(Options{})); err != nil {
		t.Error(err)
	}
	// A pipe is no address of this machine, and stands for all that is not.
	theirs, ours := net.Pipe()
	defer theirs.Close()
	_, _, err := s.ServerHandshake(ours)
	wantReason(t, "the node", err, NotLoopback)
	theirs, ours = net.Pipe()
	defer theirs.Close()
	_, _, err = NewOpenClient(Options{}).ClientHandshake(t.Context(), "x", ours)
	wantReason(t, "the program", err, NotLoopback)
}

func TestAProgramWithoutCredentialsIsToldThatANodeWantsThem(t *testing.T) {
	for name, creds := range map[string]*Server{
		"token": must(NewTokenServer(must(New()), Options{})),
		"tls":   must(NewTLSServer(newPKI("ours").nodeConfig(), Options{})),
	} {
		t.Run(name, func(t *testing.T) {
			n := serve(t, creds)
			conn, _, err := NewOpenClient(Options{}).ClientHandshake(t.Context(), n.addr, n.dial(t))
			if err != nil {
				t.Fatal(err)
			}
			conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
			_, err = conn.Read(make([]byte, 100))
			var e *AuthError
			if !errors.As(err, &e) || e.Reason != Closed && e.Reason != Plaintext || !strings.Contains(err.Error(), "join token or certificates") {
				t.Errorf("got %v", err)
			}
			wantReason(t, "the node", n.told(t), Plaintext)
		})
	}
}

func TestARefusalIsToldOnceASecondAndTheOthersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Refusal
		r := &refusals{tell: func(f Refusal) { told = append(told, f) }}
		for range 30 { // three seconds
			for range 10 {
				r.add(&AuthError{Peer: "10.0.0.1:1", Reason: WrongToken})
			}
			time.Sleep(100 * time.Millisecond)
		}
		r.add(&AuthError{Reason: Plaintext})
		if len(told) != 4 || told[3].Reason != Plaintext || told[0].Peer != "10.0.0.1:1" {
			t.Fatalf("told %v", told)
		}
		for i, untold := range []uint64{0, 99, 99, 0} {
			if told[i].Untold != untold {
				t.Errorf("the %d. time %d are counted, not %d", i, told[i].Untold, untold)
			}
		}
		if r.count() != 301 {
			t.Errorf("%d in all", r.count())
		}
	})
}

func TestAServerTellsWhomItRefuses(t *testing.T) {
	told := make(chan Refusal, 10)
	s := must(NewTokenServer(must(New()), Options{OnRefused: func(r Refusal) { told <- r }}))
	n := serve(t, s)
	raw := n.dial(t)
	raw.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	n.told(t)
	r := <-told
	wantReason(t, "the listener", r.Err, Plaintext)
	if r.Peer != raw.LocalAddr().String() || r.Reason != Plaintext || s.Refused() != 1 {
		t.Errorf("told %+v, and %d in all", r, s.Refused())
	}
}

func TestForeignTextInErrorsIsHarmless(t *testing.T) {
	e := &AuthError{"evil\x1b[31m\n", Rejected, "", errors.New("name \x07\x00\u202e" + strings.Repeat("x", 10_000))}
	text := e.Error()
	if len(text) > 700 || strings.ContainsAny(text, "\x1b\n\x07\x00\u202e") {
		t.Errorf("%q", text)
	}
}

func TestCertificatesForAFirstTryWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	if err := MakeCertificates(dir); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	node, err := LoadNode(in(NodeCertFile), in(NodeKeyFile), in(CAFile))
	if err != nil {
		t.Fatal(err)
	}
	program, err := LoadClient(in(ClientCertFile), in(ClientKeyFile), in(CAFile))
	if err != nil {
		t.Fatal(err)
	}
	n := serve(t, must(NewTLSServer(node, Options{})))
	if err := n.enter(t, must(NewTLSClient(program, Options{}))); err != nil {
		t.Error(err)
	}
	program.ServerName = "loader-1"
	wantReason(t, "the program", n.enter(t, must(NewTLSClient(program, Options{}))), WrongName)

	for _, name := range []string{NodeKeyFile, ClientKeyFile} {
		if mode := must(os.Stat(in(name))).Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
	if files := must(os.ReadDir(dir)); len(files) != 5 {
		t.Errorf("%d files", len(files))
	}
	keys := 0
	for _, f := range must(os.ReadDir(dir)) {
		keys += bytes.Count(must(os.ReadFile(in(f.Name()))), []byte("PRIVATE KEY-----\n")) / 2
	}
	if keys != 2 {
		t.Errorf("%d keys: the authority's must be in no file", keys)
	}
	if err := MakeCertificates(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if err := MakeCertificates(t.TempDir(), ""); err == nil {
		t.Error("a certificate for no host")
	}
	for _, load := range []func() error{
		func() error { _, err := LoadNode(in("none"), in(NodeKeyFile), in(CAFile)); return err },
		func() error { _, err := LoadNode(in(NodeCertFile), in(ClientKeyFile), in(CAFile)); return err },
		func() error { _, err := LoadClient(in(ClientCertFile), in(ClientKeyFile), in(NodeKeyFile)); return err },
	} {
		if load() == nil {
			t.Error("loaded what does not fit")
		}
	}
}

func TestNamesOfHostsStandInTheirCertificate(t *testing.T) {
	c := must(must(newAuthority("x", time.Now())).issue(leaf{name: "a", hosts: []string{"loader-1", "10.0.0.1", "::1"}, use: x509.ExtKeyUsageServerAuth, until: time.Now().Add(time.Hour)}))
	cert := must(x509.ParseCertificate(c.Certificate[0]))
	for _, name := range []string{"loader-1", "10.0.0.1", "::1"} {
		if err := cert.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}
