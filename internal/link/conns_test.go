package link_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// A cut ends a connection, both directions, when so many bytes were written by one side. Less than 0: never.
type cut struct {
	after   int64
	written atomic.Int64
	once    sync.Once
	ends    [2]net.Conn
}

func (c *cut) do() {
	c.once.Do(func() { _, _ = c.ends[0].Close(), c.ends[1].Close() })
}

// A cutConn is the side that c counts.
type cutConn struct {
	net.Conn
	c *cut
}

func (c cutConn) Write(b []byte) (int, error) {
	if c.c.after >= 0 {
		if left := c.c.after - c.c.written.Load(); int64(len(b)) > left {
			n, _ := c.Conn.Write(b[:max(left, 0)])
			c.c.written.Add(int64(n))
			c.c.do()
			return n, net.ErrClosed
		}
	}
	n, err := c.Conn.Write(b)
	c.c.written.Add(int64(n))
	return n, err
}

// cutPipe is a pipe whose first end may write so many bytes.
func cutPipe(after int64) (net.Conn, net.Conn, *cut) {
	a, b := net.Pipe()
	c := &cut{after: after, ends: [2]net.Conn{a, b}}
	return cutConn{a, c}, b, c
}

// A byteConn reads and writes one byte at a time.
type byteConn struct{ net.Conn }

func (c byteConn) Read(b []byte) (int, error) { return c.Conn.Read(b[:min(len(b), 1)]) }

func (c byteConn) Write(b []byte) (int, error) {
	for i := range b {
		if n, err := c.Conn.Write(b[i : i+1]); err != nil {
			return i + n, err
		}
	}
	return len(b), nil
}

// A deafConn swallows what is written, and reads nothing until it is closed, once it is deaf.
type deafConn struct {
	net.Conn
	deaf   chan struct{}
	closed chan struct{}
	once   *sync.Once
}

func deafen(c net.Conn) deafConn {
	return deafConn{c, make(chan struct{}), make(chan struct{}), &sync.Once{}}
}

func (c deafConn) Write(b []byte) (int, error) {
	select {
	case <-c.deaf:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}

func (c deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case <-c.deaf:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A pipeListener is a network of its own.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	all     []*endConn
	refused error
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	end, b := net.Pipe()
	a := &endConn{Conn: end, end: make(chan struct{})}
	l.mu.Lock()
	refused := l.refused
	l.all = append(l.all, a)
	l.mu.Unlock()
	if refused != nil {
		return nil, refused
	}
	select {
	case l.conns <- b:
		return a, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refuse makes dial fail with err.
func (l *pipeListener) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = err
}

// breakAll closes every connection.
func (l *pipeListener) breakAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		_ = c.Close()
	}
}

// ended is closed when the reader of the n-th connection has seen its end.
func (l *pipeListener) ended(n int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[n].end
}

// dials counts connections.
func (l *pipeListener) dials() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// An endConn tells when its reader has seen the end.
type endConn struct {
	net.Conn
	end  chan struct{}
	once sync.Once
}

func (c *endConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.once.Do(func() { close(c.end) })
	}
	return n, err
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
