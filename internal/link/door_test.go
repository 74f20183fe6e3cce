package link_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/wire"
)

// watched is a connection to l, and a channel that tells when the other side has closed it.
func watched(t testing.TB, l *pipeListener) (net.Conn, <-chan struct{}) {
	t.Helper()
	c, err := l.dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, c)
	}()
	return c, closed
}

func isClosed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestAStrangerIsSentAwayAfter5Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		stop := serve(t, l, link.Config{Handle: echo})
		_, silent := watched(t, l)
		dripping, closed := watched(t, l)
		var drip sync.WaitGroup
		drip.Go(func() {
			for range 10 { // of HTTP/2's preface, a byte at a time
				if _, err := dripping.Write([]byte("PRI * HTTP/2.0")[:1]); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		time.Sleep(4999 * time.Millisecond)
		if isClosed(silent) {
			t.Error("a stranger has had no time to say who it is")
		}
		time.Sleep(2 * time.Millisecond)
		if !isClosed(silent) || !isClosed(closed) {
			t.Error("strangers stay")
		}
		drip.Wait()
		stop()
	})
}

func TestAConnectionWithoutOpenIsClosedThoughItSpeaksHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		stop := serve(t, l, link.Config{Handle: echo})
		begin := time.Now()
		c := dial(t, link.Target{Dial: l.dial}) // connects, and opens nothing
		ended := l.ended(0)
		<-ended
		if d := time.Since(begin); d != 5*time.Second {
			t.Errorf("closed after %v", d)
		}
		roundTrips(t, open(t, c), 3) // over a new one
		_ = c.Close()
		stop()
	})
}

func TestAConnectionStaysWhileItHasSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		stop := serve(t, l, link.Config{Handle: echo})
		c := dial(t, link.Target{Dial: l.dial})
		one, two := open(t, c), open(t, c)
		roundTrips(t, one, 3)
		time.Sleep(time.Hour)
		roundTrips(t, two, 3)
		synctest.Wait()
		time.Sleep(59 * time.Second)
		roundTrips(t, open(t, c), 3)
		begin := time.Now()
		<-l.ended(0)
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("closed after %v", d)
		}
		if n := l.dials(); n != 1 {
			t.Errorf("%d connections", n)
		}
		_ = c.Close()
		stop()
	})
}

func TestTheOldestSilentStrangerMakesRoom(t *testing.T) {
	for range 10 { // guests have no order in memory
		synctest.Test(t, func(t *testing.T) {
			l := newPipeListener()
			stop := serve(t, l, link.Config{Handle: echo, Limits: link.Limits{Connections: 3}})
			spoke, a := watched(t, l)
			if _, err := spoke.Write([]byte("P")); err != nil {
				t.Fatal(err)
			}
			_, b := watched(t, l)
			_, c := watched(t, l)
			if isClosed(a) || isClosed(b) || isClosed(c) {
				t.Error("there was room")
			}
			_, d := watched(t, l)
			if isClosed(a) || !isClosed(b) || isClosed(c) || isClosed(d) {
				t.Error("another one than the oldest silent stranger had to leave")
			}
			stop()
		})
	}
}

func TestAStrangerCannotSendMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		opened := false
		stop := serve(t, l, link.Config{Limits: link.Limits{OpenBytes: 10 << 10}, Handle: func(ctx context.Context, s *link.Session, o *wire.Open) {
			opened = true
			echo(ctx, s, o)
		}})
		c := dial(t, link.Target{Dial: l.dial})
		if _, _, err := c.Open(t.Context(), &wire.Open{Mode: wire.Keyed, Config: make([]byte, 1<<20)}); !typed(err) {
			t.Errorf("Open: %v", err)
		}
		if opened {
			t.Error("the handler was called")
		}
		s := open(t, c)
		if err := s.Send(tasks(0, make([]byte, 1<<20))); err != nil {
			t.Error(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Errorf("a session that was accepted: %v", err)
		}
		_ = c.Close()
		stop()
	})
}
