package link

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
)

const (
	tick         = 500 * time.Millisecond // how often silence is looked for
	pingTicks    = 4                      // 2 s
	silenceTicks = 20                     // 10 s
)

// A life is what is known of a connection below TLS: that it was read from and written to. Nothing here reads a clock.
type life struct {
	reads, writes atomic.Uint64 // calls that moved a byte
	bytes         atomic.Int64  // read
	budget        atomic.Int64  // bytes that may be read; 0: any number

	mu  sync.Mutex
	err error // guarded by mu; why the connection has ended
}

// errBudget ends a connection of which too much has come before it said who it is.
var errBudget = errors.New("link: too many bytes before the session is open")

// failed notes the first error of the connection.
func (l *life) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// reason is the first error of the connection; nil if there was none. A clean end of the connection is none of a session:
// io.EOF is io.ErrUnexpectedEOF here.
func (l *life) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return l.err
}

// A livingConn notes the life of a connection.
type livingConn struct {
	net.Conn
	life   *life
	closed func(*livingConn) // called by the first Close; may be nil
	once   sync.Once
}

func (c *livingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.life.reads.Add(1)
		total := c.life.bytes.Add(int64(n))
		if budget := c.life.budget.Load(); budget > 0 && total > budget {
			c.life.failed(errBudget)
			return 0, errBudget
		}
	}
	if err != nil {
		c.life.failed(err)
	}
	return n, err
}

func (c *livingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 {
		c.life.writes.Add(1)
	}
	if err != nil {
		c.life.failed(err)
	}
	return n, err
}

func (c *livingConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		if c.closed != nil {
			c.closed(c)
		}
	})
	return err
}

// RemoteAddr carries the connection, since an address is what gRPC tells of the connection below a stream.
func (c *livingConn) RemoteAddr() net.Addr { return livingAddr{c.Conn.RemoteAddr(), c} }

type livingAddr struct {
	net.Addr
	conn *livingConn
}

// Unwrap returns the address alone.
func (a livingAddr) Unwrap() net.Addr { return a.Addr }

// connOf finds the connection below a stream; nil if it is none of ours.
func connOf(p *peer.Peer) *livingConn {
	if a, ok := p.Addr.(livingAddr); ok {
		return a.conn
	}
	return nil
}

// A watch counts ticks without life.
type watch struct {
	life               *life
	reads, writes      uint64 // at the last tick
	readless, unspoken int    // ticks
}

// tick says whether a Ping is due, and whether the peer counts as silent.
func (w *watch) tick() (ping, silent bool) {
	w.readless++
	if n := w.life.reads.Load(); n != w.reads {
		w.reads, w.readless = n, 0
	}
	w.unspoken++
	if n := w.life.writes.Load(); n != w.writes {
		w.writes, w.unspoken = n, 0
	}
	due := func(ticks int) bool { return ticks > 0 && ticks%pingTicks == 0 }
	return due(w.readless) || due(w.unspoken), w.readless >= silenceTicks
}
