package link

import (
	"net"
	"sync"
	"time"
)

// A door is a listener that keeps the number of strangers small: connections of which no session was accepted yet.
type door struct {
	net.Listener
	limits Limits

	mu     sync.Mutex
	guests map[*livingConn]*guest // guarded by mu
	order  uint64                 // guarded by mu
	shut   bool                   // guarded by mu; no strangers any more
}

// A guest is a connection; its fields are guarded by the door's mu.
type guest struct {
	order    uint64 // of arrival
	stranger bool
	sessions int         // accepted, and not ended
	timer    *time.Timer // closes the connection
}

func newDoor(l net.Listener, limits Limits) *door {
	return &door{Listener: l, limits: limits, guests: map[*livingConn]*guest{}}
}

// Accept lets the next connection in, for which another stranger may have to go: the oldest one, and one that has not
// said a word first.
func (d *door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &livingConn{Conn: c, life: &life{}}
	if d.limits.Opening <= 0 {
		return conn, nil
	}
	conn.closed = d.left
	conn.life.budget.Store(d.limits.budget())
	d.mu.Lock()
	leaves := d.crowded()
	if d.shut {
		leaves = conn
	}
	d.order++
	d.guests[conn] = &guest{
		order: d.order, stranger: true,
		timer: time.AfterFunc(d.limits.Opening, func() { _ = conn.Close() }),
	}
	d.mu.Unlock()
	if leaves != nil {
		_ = leaves.Close()
	}
	return conn, nil
}

// crowded finds the stranger who must leave for another one; nil if there is room. d.mu is held.
func (d *door) crowded() *livingConn {
	var worst *livingConn
	strangers := 0
	for c, g := range d.guests {
		if !g.stranger {
			continue
		}
		strangers++
		if worst == nil {
			worst = c
			continue
		}
		silent, worstSilent := c.life.bytes.Load() == 0, worst.life.bytes.Load() == 0
		if silent && !worstSilent || silent == worstSilent && g.order < d.guests[worst].order {
			worst = c
		}
	}
	if strangers < d.limits.Connections {
		return nil
	}
	return worst
}

// left forgets a connection that was closed.
func (d *door) left(c *livingConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.guests[c]; g != nil {
		g.timer.Stop()
		delete(d.guests, c)
	}
}

// spoke notes that c has sent Open: the answer takes as long as it takes.
func (d *door) spoke(c *livingConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.guests[c]; g != nil {
		g.timer.Stop()
	}
}

// accepted notes that a session of c was accepted: c is a stranger no more.
func (d *door) accepted(c *livingConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.guests[c]; g != nil {
		g.timer.Stop()
		g.stranger = false
		g.sessions++
		c.life.budget.Store(0)
	}
}

// ended notes that a session of c has ended, or was not accepted. Another one must come soon.
func (d *door) ended(c *livingConn, accepted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.guests[c]
	if g == nil {
		return
	}
	if accepted {
		g.sessions--
	}
	switch {
	case g.sessions > 0:
	case g.stranger:
		c.life.budget.Store(c.life.bytes.Load() + d.limits.budget())
		g.timer.Reset(d.limits.Opening)
	default:
		g.timer.Reset(d.limits.Idle)
	}
}

// close lets no strangers in any more, and sends those away who are there.
func (d *door) close() {
	d.mu.Lock()
	d.shut = true
	var leave []*livingConn
	for c, g := range d.guests {
		if g.stranger {
			leave = append(leave, c)
		}
	}
	d.mu.Unlock()
	for _, c := range leave {
		_ = c.Close()
	}
}

// OneListener accepts c, and nothing else: a child serves on the connection that it was started with. Accept blocks until
// c or the listener is closed, and then returns net.ErrClosed.
func OneListener(c net.Conn) net.Listener {
	l := &oneListener{conn: make(chan net.Conn, 1), addr: c.LocalAddr(), closed: make(chan struct{})}
	l.conn <- &listenedConn{c, l}
	return l
}

type oneListener struct {
	conn   chan net.Conn
	addr   net.Addr
	closed chan struct{}
	once   sync.Once
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the connection as well if it was not accepted.
func (l *oneListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	select {
	case c := <-l.conn:
		return c.(*listenedConn).Conn.Close()
	default:
		return nil
	}
}

func (l *oneListener) Addr() net.Addr { return l.addr }

// A listenedConn closes its listener, since no other connection will come.
type listenedConn struct {
	net.Conn
	listener *oneListener
}

func (c *listenedConn) Close() error {
	err := c.Conn.Close()
	_ = c.listener.Close() // has no connection to close any more
	return err
}
