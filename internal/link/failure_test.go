package link_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/wire"
)

// typed reports whether err is one that package link promises.
func typed(err error) bool {
	var lost *link.LostError
	var protocol *link.ProtocolError
	return errors.As(err, &lost) || errors.As(err, &protocol) || errors.Is(err, link.ErrClosed) ||
		errors.Is(err, link.ErrSilent) || errors.Is(err, link.ErrNoAnswer)
}

// pipeTarget is a remote node that is reached over c, once.
func pipeTarget(c net.Conn) link.Target {
	used := false
	return link.Target{Dial: func(context.Context) (net.Conn, error) {
		if used {
			return nil, io.ErrClosedPipe
		}
		used = true
		return c, nil
	}}
}

// session runs a short session and returns which results have come, and why it has ended: io.EOF after the last one.
func session(c *link.Conn, n int) (got int, err error) {
	s, _, err := c.Open(context.Background(), &wire.Open{Versions: []uint32{wire.Version}, Mode: wire.Keyed, Window: n})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for i := range n {
		if err := s.Send(tasks(uint64(i), []byte("payload"))); err != nil {
			break // Recv tells
		}
	}
	s.CloseSend()
	for {
		m, err := s.Recv()
		if err != nil {
			return got, err
		}
		r, ok := m.(*wire.Result)
		if !ok || len(r.Entries) != 1 || r.Entries[0].ID != uint64(got) {
			return got, fmt.Errorf("result %d is %+v", got, m)
		}
		got++
	}
}

func TestAConnectionMayBreakAtEveryByte(t *testing.T) {
	const n = 5
	for _, side := range []string{"coordinator", "node"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			ends, last := 0, int64(0) // runs that were complete
			defer func() { t.Logf("cut after 0 to %d bytes", last) }()
			for after := int64(0); ends < 3; after++ {
				last = after
				if after > 20_000 {
					t.Fatal("the session is never complete")
				}
				synctest.Test(t, func(t *testing.T) {
					counted, other, _ := cutPipe(after)
					here, there := counted, other
					if side == "node" {
						here, there = other, counted
					}
					heard := 0
					stop := serve(t, link.OneListener(there), link.Config{Handle: func(ctx context.Context, s *link.Session, _ *wire.Open) {
						if s.Accept(&wire.Ready{}) != nil {
							return
						}
						for {
							m, err := s.Recv()
							if err != nil {
								if err != io.EOF && !typed(err) {
									t.Errorf("cut after %d: the node's end: %v", after, err)
								}
								return
							}
							if id := m.(*wire.Task).Items[0].ID; id != uint64(heard) {
								t.Errorf("cut after %d: task %d instead of %d", after, id, heard)
							}
							heard++
							_ = s.Send(answer(m.(*wire.Task)))
						}
					}})
					c, err := link.Dial(t.Context(), pipeTarget(here))
					got := 0
					if err == nil {
						got, err = session(c, n)
						_ = c.Close()
					}
					if err == io.EOF && got == n {
						ends++
					} else if err == io.EOF || !typed(err) {
						t.Errorf("cut after %d: %d results, then %v", after, got, err)
					}
					stop()
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

func TestALinkWorksByteByByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		stop := serve(t, link.OneListener(byteConn{there}), link.Config{Handle: echo})
		c, err := link.Dial(t.Context(), pipeTarget(byteConn{here}))
		if err != nil {
			t.Fatal(err)
		}
		roundTrips(t, open(t, c), 50)
		_ = c.Close()
		stop()
	})
}

func TestASilentPeerIsNoticedByBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		here := deafen(a)
		ended := make(chan error, 1)
		stop := serve(t, link.OneListener(b), link.Config{Handle: func(ctx context.Context, s *link.Session, _ *wire.Open) {
			_ = s.Accept(&wire.Ready{})
			_, err := s.Recv()
			<-ctx.Done()
			ended <- err
		}})
		c, err := link.Dial(t.Context(), pipeTarget(here))
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, c)
		time.Sleep(time.Hour) // both live: Ping and Pong go
		select {
		case <-s.Done():
			t.Fatal("a session of live peers has ended")
		default:
		}
		close(here.deaf)
		begin := time.Now()
		if _, err := s.Recv(); !errors.Is(err, link.ErrSilent) {
			t.Errorf("the coordinator's end: %v", err)
		}
		if d := time.Since(begin); d < 8*time.Second || d > 11*time.Second {
			t.Errorf("the coordinator has noticed after %v", d)
		}
		if err := <-ended; !errors.Is(err, link.ErrSilent) {
			t.Errorf("the node's end: %v", err)
		}
		if d := time.Since(begin); d < 8*time.Second || d > 11*time.Second {
			t.Errorf("the node has noticed after %v", d)
		}
		_ = c.Close()
		stop()
	})
}

func TestAChildMayBeStoppedForAsLongAsItLikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
		c := dialChild(t, here)
		s := open(t, c)
		time.Sleep(24 * time.Hour)
		roundTrips(t, s, 3)
		_ = c.Close()
		stop()
	})
}

func TestALocalLinkWaitsForASilentPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, there := net.Pipe()
		here := deafen(a)
		stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
		c := dialChild(t, here)
		s := open(t, c)
		close(here.deaf)
		time.Sleep(time.Hour)
		select {
		case <-s.Done():
			t.Error("silence has ended a session with a child")
		default:
		}
		_ = c.Close()
		stop()
	})
}

func TestANodeThatDoesNotAnswerIsAnErrorAfter5Seconds(t *testing.T) {
	for name, node := range map[string]func(t *testing.T, c net.Conn) (stop func()){
		"reads nothing": func(t *testing.T, c net.Conn) func() { return func() {} },
		"reads and says nothing": func(t *testing.T, c net.Conn) func() {
			go func() { _, _ = io.Copy(io.Discard, c) }()
			return func() {}
		},
		"has a handler that takes its time": func(t *testing.T, c net.Conn) func() {
			return serve(t, link.OneListener(c), link.Config{Handle: func(ctx context.Context, s *link.Session, _ *wire.Open) { <-ctx.Done() }})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				stop := node(t, there)
				begin := time.Now()
				c, err := link.Dial(t.Context(), pipeTarget(here))
				if err == nil {
					_, _, err = c.Open(t.Context(), &wire.Open{Mode: wire.Keyed})
					_ = c.Close()
				}
				if !errors.Is(err, link.ErrNoAnswer) {
					t.Errorf("Open: %v", err)
				}
				if d := time.Since(begin); d != 5*time.Second {
					t.Errorf("it took %v", d)
				}
				_, _ = here.Close(), there.Close()
				stop()
			})
		})
	}
}

func TestGarbageInsteadOfANodeIsAnError(t *testing.T) {
	for _, garbage := range []string{"", "panic: no such file\n", "HTTP/1.1 400 Bad Request\r\n\r\n", string(make([]byte, 1<<16))} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			go func() {
				_, _ = io.WriteString(there, garbage)
				_ = there.Close()
			}()
			c, err := link.Dial(t.Context(), link.Target{Conn: here})
			if err == nil {
				_, _, err = c.Open(t.Context(), &wire.Open{Mode: wire.Keyed})
				_ = c.Close()
			}
			var lost *link.LostError
			if !errors.As(err, &lost) {
				t.Errorf("%.10q: %v", garbage, err)
			}
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		stop := serve(t, link.OneListener(there), link.Config{Local: true, Handle: func(ctx context.Context, _ *link.Session, _ *wire.Open) { <-ctx.Done() }})
		c := dialChild(t, here)
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if _, _, err := c.Open(ctx, &wire.Open{Mode: wire.Keyed}); !errors.Is(err, why) {
			t.Errorf("Open: %v", err)
		}
		_ = c.Close()
		stop()
	})
}

func TestALostChildIsNotDialledAgainAndARemoteNodeIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
		c := dialChild(t, here)
		s := open(t, c)
		_ = there.Close()
		var lost *link.LostError
		if _, err := s.Recv(); !errors.As(err, &lost) || errors.Is(err, io.EOF) {
			t.Errorf("Recv: %v", err)
		}
		if _, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed}); !errors.As(err, &lost) {
			t.Errorf("Open: %v", err)
		}
		_ = c.Close()
		stop()
	})
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		stop := serve(t, l, link.Config{Handle: echo})
		c, err := link.Dial(t.Context(), link.Target{Dial: l.dial})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s := open(t, c)
			l.breakAll()
			if _, err := s.Recv(); !typed(err) {
				t.Errorf("Recv: %v", err)
			}
			synctest.Wait()
		}
		refused := errors.New("refused")
		l.refuse(refused)
		for range 3 {
			if _, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed}); !errors.Is(err, refused) {
				t.Errorf("Open: %v", err)
			}
		}
		l.refuse(nil)
		roundTrips(t, open(t, c), 3)
		_ = c.Close()
		stop()
	})
}
