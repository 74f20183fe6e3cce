package supervisor_test

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A pipeNet is a network in memory. All its addresses are 127.0.0.N:7433.
type pipeNet struct {
	mu        sync.Mutex
	listeners map[string]*pipeListener
	conns     map[string][]*pipeConn // by address of the listener
	cut       int                    // bytes after which each of the first three connections breaks; 0: never
	deaf      map[string]bool        // nothing passes there
	dials     int
	bytes     int           // that a call of Write or Read passes on at most; 0: any number
	pause     time.Duration // behind so many
}

func newPipeNet() *pipeNet {
	return &pipeNet{listeners: map[string]*pipeListener{}, conns: map[string][]*pipeConn{}, deaf: map[string]bool{}}
}

func tcpAddr(addr string) net.Addr {
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		panic(err)
	}
	return a
}

type pipeListener struct {
	net   *pipeNet
	addr  string
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (n *pipeNet) listen(addr string) *pipeListener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &pipeListener{net: n, addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
	n.listeners[addr] = l
	return l
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if l.net.listeners[l.addr] == l {
		delete(l.net.listeners, l.addr)
	}
	return nil
}

func (l *pipeListener) Addr() net.Addr { return tcpAddr(l.addr) }

// dial connects as net.Dialer does.
func (n *pipeNet) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	l, deaf := n.listeners[addr], n.deaf[addr]
	n.mu.Unlock()
	if deaf {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	near := &pipeConn{Conn: here, net: n, addr: addr}
	far := &pipeConn{Conn: there, net: n, addr: addr}
	select {
	case l.conns <- far:
	case <-l.done:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dials <= 3 { // so that it comes to an end at all
		near.left = n.cut
	}
	n.conns[addr] = append(n.conns[addr], near, far)
	return near, nil
}

// breakAll closes all connections with an address, without a word.
func (n *pipeNet) breakAll(addr string) {
	n.mu.Lock()
	conns := n.conns[addr]
	n.conns[addr] = nil
	n.mu.Unlock()
	for _, c := range conns {
		c.Conn.Close()
	}
}

// part lets nothing pass to and from an address, and nothing get lost: bytes wait.
func (n *pipeNet) part(addr string, deaf bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deaf[addr] = deaf
}

// A pipeConn is one end of a connection.
type pipeConn struct {
	net.Conn
	net  *pipeNet
	addr string

	mu   sync.Mutex
	left int // bytes, of both directions, after which it breaks; 0: never
}

func (c *pipeConn) LocalAddr() net.Addr  { return tcpAddr("127.0.0.1:5000") }
func (c *pipeConn) RemoteAddr() net.Addr { return tcpAddr("127.0.0.1:5001") }

func (c *pipeConn) isDeaf() bool {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	return c.net.deaf[c.addr]
}

// spend counts n bytes, and returns how many of them may pass before the connection breaks.
func (c *pipeConn) spend(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return n
	}
	if n < c.left {
		c.left -= n
		return n
	}
	n, c.left = c.left, -1
	return n
}

func (c *pipeConn) Read(b []byte) (int, error) {
	if c.net.bytes > 0 {
		b = b[:min(len(b), c.net.bytes)]
	}
	n, err := c.Conn.Read(b)
	if err == nil && c.spend(n) < n {
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *pipeConn) Write(b []byte) (int, error) {
	for c.isDeaf() {
		// What is written into a cable that is cut vanishes in the end: here, the connection does not answer until it is closed.
		if _, err := c.Conn.Write(nil); err != nil {
			return 0, err
		}
		t := time.NewTimer(time.Second)
		<-t.C
	}
	if some := c.net.bytes; some > 0 && some < len(b) {
		for i := 0; i < len(b); i += some {
			n, err := c.Write(b[i:min(i+some, len(b))])
			if err != nil {
				return i + n, err
			}
		}
		return len(b), nil
	}
	if c.net.pause > 0 {
		<-time.After(c.net.pause)
	}
	may := c.spend(len(b))
	if may >= len(b) {
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:max(may, 0)])
	c.Conn.Close()
	return n, net.ErrClosed
}

// serve runs a node at addr until stop is called, which waits. die ends it as a signal would.
func (n *pipeNet) serve(t *testing.T, addr string, cfg supervisor.NodeConfig, defs ...stages.Blueprint) (stop, die func()) {
	t.Helper()
	l := n.listen(addr)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := supervisor.ServeNode(ctx, l, cfg, defs...); err != nil {
			t.Errorf("ServeNode: %v", err)
		}
	}()
	stop = func() { cancel(); <-ended }
	return stop, func() {
		l.Close()
		n.breakAll(addr)
		cancel()
	}
}
