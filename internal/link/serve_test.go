//go:build unix

package link_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/wire"
)

// listen is a port of this machine, and what dials it.
func listen(t testing.TB) (net.Listener, func(context.Context) (net.Conn, error)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
}

func TestALinkWorksOverASocketpairAndOverTLS(t *testing.T) {
	t.Run("socketpair", func(t *testing.T) {
		here, there := socketpair(t)
		stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
		c := dialChild(t, here)
		roundTrips(t, open(t, c), 2000)
		_ = c.Close()
		stop()
	})
	t.Run("TLS", func(t *testing.T) {
		node, coordinator := certificates(t)
		l, reach := listen(t)
		stop := serve(t, l, link.Config{Credentials: node, Handle: func(ctx context.Context, s *link.Session, o *wire.Open) {
			if info, ok := s.Credentials().(credentials.TLSInfo); !ok || info.State.Version != tls.VersionTLS13 || s.Peer() == "" {
				t.Errorf("the peer is %q, %v", s.Peer(), s.Credentials())
			}
			echo(ctx, s, o)
		}})
		c := dial(t, link.Target{Dial: reach, Credentials: coordinator})
		var sessions sync.WaitGroup
		for range 5 {
			s := open(t, c)
			sessions.Go(func() { roundTrips(t, s, 500) })
		}
		sessions.Wait()
		_ = c.Close()
		stop()
	})
}

func TestAMessageOf64MiBArrivesAndALargerOneIsNotSent(t *testing.T) {
	here, there := socketpair(t)
	stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
	c := dialChild(t, here)
	s := open(t, c)
	large := bytes.Repeat([]byte("weir"), 16<<20)
	var tooLarge *link.TooLargeError
	if err := s.Send(tasks(0, large, large[:1<<20])); !errors.As(err, &tooLarge) || tooLarge.Limit != link.MaxMessageBytes {
		t.Errorf("65 MiB: %v", err)
	}
	for id := range uint64(2) {
		if err := s.Send(tasks(id, large)); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint64(2) {
		m, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e := m.(*wire.Result).Entries[0]; e.ID != id || !bytes.Equal(e.Outputs[0].Payload.Bytes, large) {
			t.Errorf("result %d is another one", id)
		}
	}
	roundTrips(t, s, 10)
	_ = c.Close()
	stop()
}

func TestWhatASessionGivesBelongsToItsReceiver(t *testing.T) {
	here, there := socketpair(t)
	stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
	c := dialChild(t, here)
	s := open(t, c)
	var kept [][]byte
	payload := make([]byte, 3000)
	for i := range 200 {
		for j := range payload {
			payload[j] = byte(i)
		}
		if err := s.Send(tasks(uint64(i), payload)); err != nil { // encoded: payload may change
			t.Fatal(err)
		}
		if i%2 == 0 {
			continue
		}
		for range 2 {
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, m.(*wire.Result).Entries[0].Outputs[0].Payload.Bytes)
		}
	}
	for i, b := range kept {
		if !bytes.Equal(b, bytes.Repeat([]byte{byte(i)}, len(payload))) {
			t.Fatalf("payload %d has changed", i)
		}
	}
	_ = c.Close()
	stop()
}

// A handler that returns right after it has sent, and a node that is stopped at once, lose nothing.
func TestATailIsNotLost(t *testing.T) {
	for range 20 {
		here, there := socketpair(t)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- link.Serve(ctx, link.OneListener(there), link.Config{Local: true, Handle: func(_ context.Context, s *link.Session, _ *wire.Open) {
				_ = s.Accept(&wire.Ready{})
				for i := range 1000 {
					_ = s.Send(answer(tasks(uint64(i), make([]byte, 100))))
				}
				_ = s.Send(&wire.Stats{Body: []byte("last")})
				cancel()
			}})
		}()
		c := dialChild(t, here)
		s := open(t, c)
		for i := range 1001 {
			if _, err := s.Recv(); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if _, err := s.Recv(); err != io.EOF {
			t.Fatalf("the end: %v", err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
}

func TestARefusalNamesItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		stop := serve(t, link.OneListener(there), link.Config{Local: true, Handle: func(_ context.Context, s *link.Session, o *wire.Open) {
			if o.Pipeline == "silent" {
				return
			}
			if err := s.Send(&wire.Log{Text: "too early"}); !errors.Is(err, link.ErrNotOpen) {
				t.Errorf("Send before the answer: %v", err)
			}
			if err := s.Refuse(&wire.Refuse{Code: wire.UnknownPipeline, Text: "no " + o.Pipeline}); err != nil {
				t.Errorf("Refuse: %v", err)
			}
			if s.Accept(&wire.Ready{}) == nil || s.Send(&wire.Log{}) == nil {
				t.Error("a refused session goes on")
			}
		}})
		c := dialChild(t, here)
		_, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed, Pipeline: "images"})
		var refused *link.RefusedError
		if !errors.As(err, &refused) || refused.Code != wire.UnknownPipeline || refused.Text != "no images" {
			t.Errorf("Open: %v", err)
		}
		var lost *link.LostError
		if _, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed, Pipeline: "silent"}); !errors.As(err, &lost) {
			t.Errorf("no answer at all: %v", err)
		}
		_ = c.Close()
		stop()
	})
}

func TestEverySideSendsWhatItsRoleMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
		c := dialChild(t, here)
		s := open(t, c)
		var protocol *link.ProtocolError
		for _, m := range []wire.Message{&wire.Open{}, &wire.Ready{}, &wire.Result{}, &wire.Log{}, &wire.Ping{}} {
			if err := s.Send(m); !errors.As(err, &protocol) {
				t.Errorf("%T: %v", m, err)
			}
		}
		if err := s.Accept(&wire.Ready{}); !errors.As(err, &protocol) {
			t.Errorf("Accept: %v", err)
		}
		s.CloseSend()
		s.CloseSend()
		if err := s.Send(&wire.Drain{}); !errors.Is(err, link.ErrClosed) {
			t.Errorf("Send after CloseSend: %v", err)
		}
		if _, err := s.Recv(); err != io.EOF {
			t.Errorf("Recv: %v", err)
		}
		<-s.Done()
		_ = c.Close()
		stop()
	})
}

func TestCloseEndsASessionAtOnceAndTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		cancelled := make(chan struct{}, 1)
		stop := serve(t, l, link.Config{Handle: func(ctx context.Context, s *link.Session, o *wire.Open) {
			if o.Copy == 1 {
				_ = s.Accept(&wire.Ready{})
				<-ctx.Done()
				cancelled <- struct{}{}
				return
			}
			echo(ctx, s, o)
		}})
		c := dial(t, link.Target{Dial: l.dial})
		other := open(t, c)
		s, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed, Copy: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			_ = s.Send(tasks(0, make([]byte, 1<<20))) // nobody receives them, and the window is smaller
		}
		synctest.Wait()
		begin := time.Now()
		received := make(chan error, 1)
		go func() { _, err := s.Recv(); received <- err }()
		synctest.Wait()
		s.Close()
		s.Close()
		if err := <-received; !errors.Is(err, link.ErrClosed) {
			t.Errorf("Recv: %v", err)
		}
		<-s.Done()
		<-cancelled
		if d := time.Since(begin); d != 0 {
			t.Errorf("the end took %v", d)
		}
		roundTrips(t, other, 10)
		_ = c.Close()
		stop()
	})
}

func TestWrongCertificatesAreNamed(t *testing.T) {
	node, _ := certificates(t)
	_, stranger := certificates(t)
	l, reach := listen(t)
	stop := serve(t, l, link.Config{Credentials: node, Handle: echo})
	var unknown x509.UnknownAuthorityError
	if _, err := link.Dial(t.Context(), link.Target{Dial: reach, Credentials: stranger}); !errors.As(err, &unknown) {
		t.Errorf("another authority: %v", err)
	}
	if _, err := link.Dial(t.Context(), link.Target{Dial: reach}); !typed(err) {
		t.Errorf("no TLS: %v", err)
	}
	stop()
	var refused *net.OpError
	if _, err := link.Dial(t.Context(), link.Target{Dial: reach, Credentials: stranger}); !errors.As(err, &refused) {
		t.Errorf("no node: %v", err)
	}
}

func TestSilentStrangersKeepNobodyOut(t *testing.T) {
	node, coordinator := certificates(t)
	l, reach := listen(t)
	stop := serve(t, l, link.Config{Credentials: node, Handle: echo})
	first := dial(t, link.Target{Dial: reach, Credentials: coordinator})
	early := open(t, first)
	var strangers []net.Conn
	for range 500 {
		c, err := reach(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, c)
	}
	c := dial(t, link.Target{Dial: reach, Credentials: coordinator})
	roundTrips(t, open(t, c), 100)
	roundTrips(t, early, 100)
	_, _ = c.Close(), first.Close()
	stop() // closes those that are left
	for _, c := range strangers {
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.EOF) {
			t.Logf("a stranger's end: %v", err) // a reset, mostly
		}
		_ = c.Close()
	}
}

func TestASecondStreamMustSendOpenToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		stop := serve(t, l, link.Config{Handle: echo, Limits: link.Limits{Streams: 1}})
		c := dial(t, link.Target{Dial: l.dial})
		s := open(t, c)
		begin := time.Now()
		if _, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed}); !errors.Is(err, link.ErrNoAnswer) || time.Since(begin) != 5*time.Second {
			t.Errorf("one stream too many: %v after %v", err, time.Since(begin))
		}
		roundTrips(t, s, 10)
		roundTrips(t, open(t, c), 10)
		_ = c.Close()
		stop()
	})
}

func TestAProbeOfHealthIsAnswered(t *testing.T) {
	node, coordinator := certificates(t)
	l, _ := listen(t)
	stop := serve(t, l, link.Config{Credentials: node, Handle: echo})
	client, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(coordinator))
	if err != nil {
		t.Fatal(err)
	}
	r, err := healthpb.NewHealthClient(client).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", r, err)
	}
	_ = client.Close()
	stop()
}

func TestANodeLetsSessionsEndBeforeItStops(t *testing.T) {
	for name, grace := range map[string]time.Duration{"in time": time.Second, "too late": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newPipeListener()
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() {
					served <- link.Serve(ctx, l, link.Config{Handle: func(ctx context.Context, s *link.Session, _ *wire.Open) {
						_ = s.Accept(&wire.Ready{})
						<-ctx.Done()
						select {
						case <-s.Done():
						case <-time.After(grace):
							_ = s.Send(&wire.Stopped{})
						}
					}})
				}()
				c := dial(t, link.Target{Dial: l.dial})
				s := open(t, c)
				begin := time.Now()
				cancel()
				m, err := s.Recv()
				var lost *link.LostError
				switch _, stopped := m.(*wire.Stopped); {
				case grace == time.Second && !stopped:
					t.Errorf("%v, %v", m, err)
				case grace > time.Second && !errors.As(err, &lost):
					t.Errorf("%v, %v", m, err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				if d := time.Since(begin); d != min(grace, 5*time.Second) {
					t.Errorf("it took %v", d)
				}
				_ = c.Close()
			})
		})
	}
}

func TestASessionEndsInPeaceThoughItsNodeTakesNoOtherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- link.Serve(ctx, l, link.Config{Grace: time.Hour, Handle: func(ctx context.Context, s *link.Session, _ *wire.Open) {
				_ = s.Accept(&wire.Ready{})
				<-ctx.Done()
				time.Sleep(time.Minute)
				_ = s.Send(&wire.Stopped{})
			}})
		}()
		c := dial(t, link.Target{Dial: l.dial})
		s := open(t, c)
		cancel()
		synctest.Wait()
		var lost *link.LostError
		for range 3 {
			if _, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed}); !errors.As(err, &lost) || !errors.Is(err, net.ErrClosed) {
				t.Errorf("Open: %v", err)
			}
		}
		dials := l.dials()
		if m, err := s.Recv(); err != nil {
			t.Errorf("the last message: %v, %v", m, err)
		}
		if _, err := s.Recv(); err != io.EOF {
			t.Errorf("the end: %v", err)
		}
		time.Sleep(time.Minute)
		if n := l.dials(); n != dials {
			t.Errorf("%d attempts that nobody has asked for", n-dials)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}

func TestNothingIsLeftOfManySessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		stop := serve(t, l, link.Config{Handle: echo})
		synctest.Wait()
		before := runtime.NumGoroutine()
		for i := range 200 {
			c := dial(t, link.Target{Dial: l.dial})
			s := open(t, c)
			switch i % 4 {
			case 0:
				roundTrips(t, s, 3)
			case 1:
				s.Close()
			case 2:
				_ = s.Send(tasks(0, make([]byte, 1<<16)))
			case 3:
				l.breakAll()
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			// The runtime may have one of its own now and then, for finalizers; the bubble sees any other at its end.
			if after := runtime.NumGoroutine(); after > before+1 {
				t.Fatalf("cycle %d: %d goroutines, %d before", i, after, before)
			}
		}
		stop()
	})
}
