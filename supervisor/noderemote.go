package supervisor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"syscall"
	"time"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/join"
	"github.com/weirflow/weir/internal/wire"
)

// A session with a remote node has a connection of its own: copies do not wait for each other's bytes, a connection that breaks
// costs one copy, and a replacement may go to another address.

const (
	// dialWithin is how long it may take to connect.
	dialWithin = 5 * time.Second
	// leaseOver is how long after the last byte a node has surely stopped by itself, which it begins to do after 10 s.
	leaseOver = 15 * time.Second
	// leaseRest is what is left of that when the link calls a node silent.
	leaseRest = 5 * time.Second
)

// A reach is how the copies of a region get to their nodes.
type reach struct {
	credentials *join.Client
	dial        func(ctx context.Context, network, addr string) (net.Conn, error)
	addrs       *spread
}

// newReach makes what at needs, or says what is wrong with it.
func (c *core) newReach(ctx context.Context, at Remote) (*reach, error) {
	host, _ := splitAddr(at.Addr)
	r := &reach{dial: c.dial, addrs: newSpread(at.Addr, c.lookup)}
	if r.dial == nil {
		r.dial = (&net.Dialer{Timeout: dialWithin}).DialContext
	}
	var err error
	switch {
	case at.TLS != nil:
		var cfg *tls.Config
		if cfg = at.TLS; cfg.ServerName == "" {
			cfg = cfg.Clone()
			cfg.ServerName = host
		}
		r.credentials, err = join.NewTLSClient(cfg, join.Options{})
	case at.Join != JoinToken{}:
		r.credentials, err = join.NewTokenClient(at.Join.token, join.Options{})
	default:
		r.credentials = join.NewOpenClient(join.Options{})
	}
	if err == nil {
		err = r.addrs.resolve(ctx)
	}
	if err != nil {
		return nil, &PlacementError{Placement: at.String(), Reason: "the node cannot be reached", Err: tokenError(err)}
	}
	return r, nil
}

// connect connects to a node.
func (r *reach) connect(ctx context.Context, addr string) (*link.Conn, error) {
	return link.Dial(ctx, link.Target{Credentials: r.credentials, Dial: func(ctx context.Context) (net.Conn, error) {
		return r.dial(ctx, "tcp", addr)
	}})
}

// A remoteBody is a session's connection to a node.
type remoteBody struct {
	s     *session
	reach *reach
	addr  string
	conn  *link.Conn
	begun *begun // the session, if it was begun already
	boot  [16]byte
}

// begun is a session that was begun to find out what has become of a node, and waits to be used.
type begun struct {
	body  *remoteBody
	link  *link.Session
	ready *wire.Ready
	life  int
}

// startRemote connects to a node, or takes the connection that there is.
func (s *session) startRemote(r *reach) (body, *link.Conn, error) {
	if k := s.nodes.takeBegun(s); k != nil {
		k.body.s, k.body.begun, s.addr = s, k, k.body.addr
		return k.body, k.body.conn, nil
	}
	addr, err := r.addrs.take(s.ctx, s.copy)
	if err != nil {
		return nil, nil, err
	}
	s.addr = addr
	conn, err := r.connect(s.ctx, addr)
	if err != nil {
		r.addrs.failed(addr)
		return nil, nil, err
	}
	return &remoteBody{s: s, reach: r, addr: addr, conn: conn}, conn, nil
}

// open begins the session, unless it was begun already.
func (b *remoteBody) open(ctx context.Context, m func() *wire.Open) (*link.Session, *wire.Ready, error) {
	if k := b.begun; k != nil {
		b.begun, b.boot = nil, k.ready.Boot
		return k.link, k.ready, nil
	}
	l, ready, err := b.conn.Open(ctx, m())
	if err == nil {
		b.boot = ready.Boot
		b.reach.addrs.reached(b.addr)
	} else if ctx.Err() == nil {
		b.reach.addrs.failed(b.addr)
	}
	return l, ready, err
}

// end implements body. How the node's process ends is its own affair.
func (b *remoteBody) end(time.Duration) error { return nil }

func (b *remoteBody) close() {}

// blames implements body. It finds out what has become of the node, whose session has ended with why, and returns when it is
// known, or when the node has surely stopped: until then nothing of what it had may be given to others. Only a process that is gone
// can have died of its work: another one answers now, or nobody listens. A link that breaks charges nobody, nor does a node
// that takes its leave or does not keep the rules.
func (b *remoteBody) blames(why error) bool {
	_, nonsense := errors.AsType[*link.ProtocolError](why)
	_, strayed := errors.AsType[*strayError](why)
	if nonsense || strayed || errors.Is(why, errLeft) {
		return false
	}
	if errors.Is(why, link.ErrSilent) {
		r := b.s.nodes.run
		r.event(NodeSilent{r.info(), b.s.nodes.name(b.s.region, b.s.copy), b.addr, why})
		rest(b.s.ctx, leaseRest)
		return b.look(b.s.ctx) == gone
	}
	ctx, cancel := context.WithTimeout(b.s.ctx, leaseOver)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if f := b.look(ctx); f != unknown {
			return f == gone
		}
		if !rest(ctx, pause) {
			return false
		}
	}
}

// A finding is what is known of the process of a node.
type finding int

const (
	unknown finding = iota
	alive
	gone
)

// look asks the node who it is, by beginning the session that the copy needs next anyhow.
func (b *remoteBody) look(ctx context.Context) finding {
	conn, err := b.reach.connect(ctx, b.addr)
	if err != nil {
		return found(err)
	}
	if !b.s.region.Keyed { // what its next session begins with is not known yet
		conn.Close()
		return alive
	}
	m := b.s.nodes.opening(b.s)
	m.Incarnation++
	l, ready, err := conn.Open(ctx, m)
	if err != nil {
		conn.Close()
		return found(err)
	}
	b.reach.addrs.reached(b.addr)
	next := &remoteBody{reach: b.reach, addr: b.addr, conn: conn}
	b.s.nodes.keepBegun(b.s, &begun{body: next, link: l, ready: ready, life: m.Incarnation})
	if ready.Boot == b.boot {
		return alive
	}
	return gone
}

// found is what an attempt that has failed says of the process.
func found(err error) finding {
	if nobodyListens(err) {
		return gone
	}
	if _, refused := errors.AsType[*link.RefusedError](err); refused {
		return alive // somebody is there, and who he is he does not say
	}
	return unknown
}

// nobodyListens reports whether the machine is there, and no process at its port.
func nobodyListens(err error) bool {
	const onWindows = syscall.Errno(10061) // WSAECONNREFUSED
	e, ok := errors.AsType[syscall.Errno](err)
	return ok && (e == syscall.ECONNREFUSED || runtime.GOOS == "windows" && e == onWindows)
}

// rest waits, unless ctx ends before.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errLeft is why a session is over that the node has ended itself.
var errLeft = errors.New("the node has ended the session")

// keepBegun keeps a session for the next life of a copy.
func (n *nodes) keepBegun(s *session, k *begun) {
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.begun[copyKey{s.region, s.copy}] = k
	}
	n.mu.Unlock()
	if closed {
		k.body.conn.Close()
	}
}

// takeBegun returns the session that waits for s; nil if there is none that lives.
func (n *nodes) takeBegun(s *session) *begun {
	key := copyKey{s.region, s.copy}
	n.mu.Lock()
	k := n.begun[key]
	delete(n.begun, key)
	n.mu.Unlock()
	if k == nil {
		return nil
	}
	select {
	case <-k.link.Done():
	default:
		if k.life == s.life {
			return k
		}
	}
	k.body.conn.Close()
	return nil
}

// closeBegun ends what waits for a life that does not come.
func (n *nodes) closeBegun() {
	n.mu.Lock()
	all := n.begun
	n.begun = nil
	n.mu.Unlock()
	for _, k := range all {
		k.body.conn.Close()
	}
}
