package join

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stranger is TLS as a program with a token speaks it, by somebody who looks at nothing.
func stranger(t *testing.T, raw net.Conn) *tls.Conn {
	t.Helper()
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}, DynamicRecordSizingDisabled: true})
	if err := conn.Handshake(); err != nil {
		t.Error(err)
	}
	return conn
}

// withSecret returns a token for the same key with another secret.
func withSecret(t Token, s secret) Token {
	own := t.t.own
	own.secret = s
	return Token{&token{own: own}}
}

func TestStrangersAreRefusedByANodeWithATokenAndItsProgramsGetIn(t *testing.T) {
	tok := must(New())
	n := serve(t, must(NewTokenServer(tok, Options{})))
	good := must(NewTokenClient(tok, Options{}))
	say := func(text string) func(*testing.T, net.Conn) {
		return func(_ *testing.T, raw net.Conn) { io.WriteString(raw, text) }
	}
	hello := func(cfg *tls.Config) func(*testing.T, net.Conn) {
		return func(t *testing.T, raw net.Conn) {
			cfg.InsecureSkipVerify = true
			if conn := tls.Client(raw, cfg); conn.Handshake() == nil {
				conn.Read(make([]byte, 1))
			}
		}
	}
	enter := func(tok Token, want Reason) func(*testing.T, net.Conn) {
		return func(t *testing.T, raw net.Conn) {
			_, _, err := must(NewTokenClient(tok, Options{})).ClientHandshake(context.Background(), n.addr, raw)
			wantReason(t, "the program", err, want)
		}
	}
	prove := func(m func(tls.ConnectionState) []byte) func(*testing.T, net.Conn) {
		return func(t *testing.T, raw net.Conn) {
			conn := stranger(t, raw)
			conn.Write(m(conn.ConnectionState()))
			answer, err := readMessage(conn)
			if err == nil && answer != (message{kind: refusal}) {
				t.Errorf("the node answers %q", answer.kind)
			}
		}
	}
	attacks := []struct {
		name   string
		attack func(*testing.T, net.Conn)
		want   Reason
	}{
		{"a token with another secret", enter(withSecret(tok, newSecret()), WrongToken), WrongToken},
		{"a token of another node", enter(must(New()), WrongPin), WrongPin},
		{"no token, a proof of zeros", prove(func(tls.ConnectionState) []byte { return message{kind: programProof}.append(nil) }), WrongToken},
		{"no token, a random proof", prove(func(tls.ConnectionState) []byte {
			m := message{kind: programProof}
			rand.Read(m.proof[:])
			return m.append(nil)
		}), WrongToken},
		{"no token, something else", prove(func(tls.ConnectionState) []byte { return bytes.Repeat([]byte("PRI * "), messageBytes) }), Malformed},
		{"the node's own kind of proof", prove(func(s tls.ConnectionState) []byte {
			return must(tok.t.own.secret.prove(nodeProof, s)).append(nil)
		}), Malformed},
		{"the node's own proof, relabelled", prove(func(s tls.ConnectionState) []byte {
			return message{programProof, must(tok.t.own.secret.prove(nodeProof, s)).proof}.append(nil)
		}), WrongToken},
		{"a good proof of another connection", prove(func(tls.ConnectionState) []byte {
			other := stranger(t, n.dial(t))
			defer other.Close()
			return must(tok.t.own.secret.prove(programProof, other.ConnectionState())).append(nil)
		}), WrongToken},
		{"another version", prove(func(s tls.ConnectionState) []byte {
			b := must(tok.t.own.secret.prove(programProof, s)).append(nil)
			b[len(magic)]++
			return b
		}), Malformed},
		{"a refusal", prove(func(tls.ConnectionState) []byte { return message{kind: refusal}.append(nil) }), Malformed},
		{"a long record before the proof", prove(func(tls.ConnectionState) []byte { return make([]byte, 16<<10) }), Oversized},
		{"half of a proof", func(t *testing.T, raw net.Conn) {
			stranger(t, raw).Write([]byte(magic))
			raw.Close()
		}, Closed},
		{"HTTP", say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), Plaintext},
		{"gRPC without TLS", say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"), Plaintext},
		{"an endless first message", say("\x16\x03\x01\x40\x00\x01\x00\xff\xf0" + string(make([]byte, 64<<10))), Oversized},
		{"a record of nothing", say("\x16\x03\x01\x00\x04\x01\x00\x00\x00"), Malformed},
		{"TLS 1.2", hello(&tls.Config{MaxVersion: tls.VersionTLS12}), OldTLS},
		{"TLS 1.2 that says all the right words", hello(&tls.Config{MaxVersion: tls.VersionTLS12, NextProtos: []string{protocol}}), OldTLS},
		{"TLS of another kind", hello(&tls.Config{}), WrongMethod},
		{"gRPC with certificates", hello(&tls.Config{NextProtos: []string{"h2"}}), WrongMethod},
		{"a connection that is closed at once", func(_ *testing.T, raw net.Conn) { raw.Close() }, Closed},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			for len(n.refused) > 0 {
				<-n.refused
			}
			raw := n.dial(t)
			var both sync.WaitGroup
			both.Go(func() { a.attack(t, raw) })
			if err := n.enter(t, good); err != nil {
				t.Errorf("a good peer meanwhile: %v", err)
			}
			both.Wait()
			got := n.told(t)
			for got.Peer != raw.LocalAddr().String() { // a connection that the attack itself has made besides
				got = n.told(t)
			}
			wantReason(t, "the node", got, a.want)
			if err := n.enter(t, good); err != nil {
				t.Errorf("a good peer after it: %v", err)
			}
		})
	}
}

// recorder keeps what its connection sends.
type recorder struct {
	net.Conn
	sent bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.sent.Write(p)
	return r.Conn.Write(p)
}

func TestTheBytesOfAGoodHandshakeAreWorthNothingASecondTime(t *testing.T) {
	tok := must(New())
	n := serve(t, must(NewTokenServer(tok, Options{})))
	good := &recorder{Conn: n.dial(t)}
	conn, _, err := must(NewTokenClient(tok, Options{})).ClientHandshake(context.Background(), n.addr, good)
	if err != nil {
		t.Fatal(err)
	}
	if err := hear(conn); err != nil {
		t.Fatal(err)
	}
	again := n.dial(t)
	again.Write(good.sent.Bytes())
	wantReason(t, "the node", n.told(t), Malformed)
	if b, _ := io.ReadAll(again); bytes.Contains(b, []byte(greet)) {
		t.Error("the node welcomes a recording")
	}
}

// nodeTLS is a node that has the key of a token, and may not know its secret.
func nodeTLS(t *testing.T, tok Token, cfg *tls.Config, f func(*tls.Conn)) *testNode {
	cfg.Certificates = []tls.Certificate{must(tok.t.own.certificate())}
	cfg.DynamicRecordSizingDisabled = true
	return fake(t, func(raw net.Conn) {
		if conn := tls.Server(raw, cfg); conn.Handshake() == nil {
			f(conn)
		}
	})
}

func TestFalseNodesAreRefusedByAProgramWithAToken(t *testing.T) {
	tok := must(New())
	ours := func(f func(*tls.Conn)) func(*testing.T) *testNode {
		return func(t *testing.T) *testNode {
			return nodeTLS(t, tok, &tls.Config{NextProtos: []string{protocol}}, f)
		}
	}
	answer := func(k kind) func(*testing.T) *testNode {
		return ours(func(conn *tls.Conn) {
			got, err := readMessage(conn)
			if err == nil {
				message{k, got.proof}.writeTo(conn)
			}
		})
	}
	plain := func(text string) func(*testing.T) *testNode {
		return func(t *testing.T) *testNode {
			return fake(t, func(raw net.Conn) {
				io.WriteString(raw, text)
				linger(raw)
			})
		}
	}
	nodes := []struct {
		name string
		node func(*testing.T) *testNode
		want Reason
	}{
		{"sends our proof back", answer(programProof), WrongToken},
		{"sends our proof back as its own", answer(nodeProof), WrongToken},
		{"refuses", ours(func(conn *tls.Conn) { readMessage(conn); refuse(conn) }), WrongToken},
		{"proves with zeros", ours(func(conn *tls.Conn) { message{kind: nodeProof}.writeTo(conn) }), WrongToken},
		{"says something else", ours(func(conn *tls.Conn) { conn.Write(make([]byte, messageBytes)) }), Malformed},
		{"closes", ours(func(conn *tls.Conn) { readMessage(conn) }), Closed},
		{"says far too much", ours(func(conn *tls.Conn) { conn.Write(make([]byte, 16<<10)) }), Oversized},
		{"has another key", func(t *testing.T) *testNode {
			return nodeTLS(t, must(New()), &tls.Config{NextProtos: []string{protocol}}, func(conn *tls.Conn) {
				if b, _ := io.ReadAll(conn); len(b) > 0 {
					t.Errorf("a node with another key was told %d bytes", len(b))
				}
			})
		}, WrongPin},
		{"speaks TLS 1.2", func(t *testing.T) *testNode {
			return nodeTLS(t, tok, &tls.Config{NextProtos: []string{protocol}, MaxVersion: tls.VersionTLS12}, func(*tls.Conn) {})
		}, OldTLS},
		{"speaks TLS without our protocol", func(t *testing.T) *testNode {
			return nodeTLS(t, tok, &tls.Config{}, func(*tls.Conn) {})
		}, WrongMethod},
		{"wants certificates", func(t *testing.T) *testNode {
			return serve(t, must(NewTLSServer(newPKI("x").nodeConfig(), Options{})))
		}, WrongMethod},
		{"is a web server", plain("HTTP/1.1 400 Bad Request\r\n\r\n"), Plaintext},
		{"is gRPC without TLS", plain("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), Plaintext},
		{"closes at once", func(t *testing.T) *testNode { return fake(t, func(net.Conn) {}) }, Closed},
	}
	for _, n := range nodes {
		t.Run(n.name, func(t *testing.T) {
			wantReason(t, "the program", n.node(t).enter(t, must(NewTokenClient(tok, Options{}))), n.want)
		})
	}
}

func TestSomebodyBetweenProgramAndNodeGainsNothingEvenWithTheNodesKey(t *testing.T) {
	tok := must(New())
	n := serve(t, must(NewTokenServer(tok, Options{})))
	between := nodeTLS(t, tok, &tls.Config{NextProtos: []string{protocol}}, func(program *tls.Conn) {
		node := stranger(t, n.dial(t))
		proof, err := readMessage(program)
		if err != nil {
			t.Error(err)
		}
		proof.writeTo(node)
		if got, err := readMessage(node); err != nil || got.kind != refusal {
			t.Errorf("the node answers %q, %v to a proof that was passed on", got.kind, err)
		}
		refuse(program)
	})
	wantReason(t, "the program", between.enter(t, must(NewTokenClient(tok, Options{}))), WrongToken)
	wantReason(t, "the node", n.told(t), WrongToken)
}

func TestFiveHundredSlowPeersDoNotKeepAGoodOneOut(t *testing.T) {
	tok := must(New())
	n := serve(t, must(NewTokenServer(tok, Options{})))
	good := must(NewTokenClient(tok, Options{}))
	for i := range 500 {
		raw := n.dial(t)
		raw.Write([]byte{0x16})
		if i%50 == 0 {
			if err := n.enter(t, good); err != nil {
				t.Fatalf("after %d slow peers: %v", i, err)
			}
		}
	}
	if err := n.enter(t, good); err != nil {
		t.Fatal(err)
	}
	for range 500 - 64 {
		wantReason(t, "the node", n.told(t), Crowded)
	}
}

func TestAPeerThatTakesItsTimeIsRefusedAfterFiveSeconds(t *testing.T) {
	tok := must(New())
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	type slowly func(net.Conn, []byte)
	peers := map[string]func(net.Conn, slowly){
		"silence":         func(conn net.Conn, write slowly) { conn.Read(make([]byte, 1)) },
		"a byte a second": func(conn net.Conn, write slowly) { write(conn, []byte("\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03")) },
		"silence behind TLS": func(conn net.Conn, write slowly) {
			c := tls.Client(conn, config)
			c.Handshake()
			c.Read(make([]byte, 1))
		},
		"a proof, a byte a second": func(conn net.Conn, write slowly) {
			c := tls.Client(conn, config)
			c.Handshake()
			write(c, message{kind: programProof}.append(nil))
		},
		"a hundred bytes, then nothing": func(conn net.Conn, write slowly) {
			conn.Write(append([]byte("\x16\x03\x01\x01\x00"), make([]byte, 95)...))
		},
	}
	for name, peer := range peers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				byTheSecond := func(conn net.Conn, b []byte) {
					for len(b) > 0 {
						if _, err := conn.Write(b[:1]); err != nil {
							return
						}
						b = b[1:]
						time.Sleep(time.Second)
					}
				}
				theirs, ours := net.Pipe()
				var done sync.WaitGroup
				done.Go(func() { peer(theirs, byTheSecond) })
				began := time.Now()
				_, _, err := must(NewTokenServer(tok, Options{})).ServerHandshake(ours)
				wantReason(t, "the node", err, TimedOut)
				if took := time.Since(began); took != 5*time.Second {
					t.Errorf("refused after %v", took)
				}
				theirs.Close()
				done.Wait()
			})
		})
	}
}

func TestAProgramWaitsFiveSecondsForANodeOrAsLongAsItsContext(t *testing.T) {
	tok, p := must(New()), newPKI("x")
	for name, client := range map[string]*Client{
		"token": must(NewTokenClient(tok, Options{})),
		"tls":   must(NewTLSClient(p.clientConfig(), Options{})),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, wait := range []time.Duration{time.Second, time.Hour} {
					theirs, ours := net.Pipe()
					go io.Copy(io.Discard, theirs)
					ctx, cancel := context.WithTimeout(context.Background(), wait)
					began := time.Now()
					_, _, err := client.ClientHandshake(ctx, "node", ours)
					wantReason(t, "the program", err, TimedOut)
					if took := time.Since(began); took != min(wait, 5*time.Second) {
						t.Errorf("given up after %v", took)
					}
					cancel()
					theirs.Close()
				}
			})
		})
	}
}

func TestAProofIsBoundToItsSideSecretAndConnection(t *testing.T) {
	s, exporter := newSecret(), bytes.Repeat([]byte{1}, exporterBytes)
	seen := map[[sha256.Size]byte]bool{}
	for _, mac := range [][]byte{
		s.mac(programProof.label(), exporter), s.mac(nodeProof.label(), exporter), newSecret().mac(programProof.label(), exporter),
		s.mac(programProof.label(), bytes.Repeat([]byte{2}, exporterBytes)),
	} {
		seen[[sha256.Size]byte(mac)] = true
	}
	if len(seen) != 4 {
		t.Error("two proofs are the same")
	}
}
