package join

import (
	"container/list"
	"net"
	"sync"
)

// A crowd is the peers that have not proved themselves yet. When there are too many of them, the one that has been at
// it for longest has to go: who means it needs milliseconds, so peers that are slow on purpose cannot keep it out.
type crowd struct {
	max int

	mu      sync.Mutex
	waiting list.List // of *guest, the oldest in front; guarded by mu
}

type guest struct {
	conn    net.Conn
	place   *list.Element // nil once it has left; guarded by crowd.mu
	evicted bool          // guarded by crowd.mu
}

func (c *crowd) enter(conn net.Conn) *guest {
	g := &guest{conn: conn}
	c.mu.Lock()
	var oldest *guest
	if c.waiting.Len() >= c.max {
		oldest = c.waiting.Remove(c.waiting.Front()).(*guest)
		oldest.place, oldest.evicted = nil, true
	}
	g.place = c.waiting.PushBack(g)
	c.mu.Unlock()
	if oldest != nil {
		oldest.conn.Close() // ends its handshake
	}
	return g
}

// leave is called when a handshake is over, and reports whether the peer was still welcome. Leaving again changes nothing.
func (c *crowd) leave(g *guest) (welcome bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.place != nil {
		c.waiting.Remove(g.place)
		g.place = nil
	}
	return !g.evicted
}
