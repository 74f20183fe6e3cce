package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/weirflow/weir/internal/wire"
)

// A Config is how a node serves.
type Config struct {
	// Handle decides about a session and runs it. It answers open with Accept or Refuse; when it returns, the session ends
	// after what was sent has left. ctx ends with the session, and when the node is to stop. Handle must return then.
	Handle func(ctx context.Context, s *Session, open *wire.Open)
	// Credentials of the node. nil means none: nothing is encrypted, and nobody is asked who he is.
	Credentials credentials.TransportCredentials
	// Local says that the peer is the process that has started this one: it is trusted, may be silent for ever, and asks
	// for no health.
	Local bool
	// Limits are those of peers who may be anybody.
	Limits Limits
	// Grace is how long sessions may go on when the node is to stop. 0 means 5 s.
	Grace time.Duration
}

// Limits keep strangers small. A zero field means its default.
type Limits struct {
	Connections int           // of which no session was accepted yet; a newer one takes the place of the oldest; 64
	Opening     time.Duration // until Open must be there, on a connection and on a stream; 5 s
	OpenBytes   int           // of Open, and what may come over a connection until a session is accepted; OpenBytes
	Streams     int           // per connection; 64
	Idle        time.Duration // of a connection all sessions of which have ended; 1 min
}

// OpenBytes is how many bytes a node that anybody may reach takes of an Open.
const OpenBytes = 1 << 20

// overheadBytes are what handshakes and framing may take besides Open.
const overheadBytes = 64 << 10

func (l Limits) budget() int64 { return int64(l.OpenBytes) + overheadBytes }

func (c Config) withDefaults() Config {
	set(&c.Limits.Connections, 64)
	set(&c.Limits.Opening, answerTimeout)
	set(&c.Limits.OpenBytes, OpenBytes)
	set(&c.Limits.Streams, 64)
	set(&c.Limits.Idle, time.Minute)
	set(&c.Grace, 5*time.Second)
	if c.Credentials == nil {
		c.Credentials = insecure.NewCredentials()
	}
	return c
}

func set[T int | time.Duration](v *T, byDefault T) {
	if *v <= 0 {
		*v = byDefault
	}
}

// A server is a node that serves.
type server struct {
	cfg     Config
	ctx     context.Context // of all handlers: ends when the node is to stop
	door    *door
	running sync.WaitGroup // handlers and writers of sessions
}

// Serve runs a node on l, which it closes, until ctx ends or l fails; a failure that is net.ErrClosed is none. Sessions
// that are there then have a grace to end. When Serve returns, nothing of it runs any more.
func Serve(ctx context.Context, l net.Listener, cfg Config) error {
	if cfg.Handle == nil {
		return errors.New("link: a node has no handler")
	}
	cfg = cfg.withDefaults()
	handling, stop := context.WithCancel(ctx)
	defer stop()
	n := &server{cfg: cfg, ctx: handling}
	limits := cfg.Limits
	if cfg.Local {
		limits.Opening = 0
	}
	n.door = newDoor(l, limits)
	g := grpc.NewServer(serverOptions(cfg)...)
	g.RegisterService(serviceDesc(), n)
	state := health.NewServer()
	if !cfg.Local {
		healthpb.RegisterHealthServer(g, state)
	}
	served := make(chan error, 1)
	// Owner: Serve. Ends when the listener fails or is closed. Serve waits for it.
	go func() { served <- g.Serve(n.door) }()
	var err error
	select {
	case err = <-served:
		served <- err
	case <-ctx.Done():
	}
	state.Shutdown()
	stop()
	n.door.close()
	n.stop(g)
	<-served
	n.running.Wait()
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// stop waits for all sessions to end, and ends them when the grace is over.
func (n *server) stop(g *grpc.Server) {
	stopped := make(chan struct{})
	// Owner: the server. Ends when all sessions have ended. stop waits for it.
	go func() {
		defer close(stopped)
		g.GracefulStop()
	}()
	grace := time.NewTimer(n.cfg.Grace)
	defer grace.Stop()
	select {
	case <-stopped:
	case <-grace.C:
		g.Stop()
		<-stopped
	}
}

// open runs one session. The stream ends when it returns; so what blocks in the stream is in other goroutines.
func (n *server) open(st grpc.ServerStream) error {
	// Until the header is there, the client keeps what it sends.
	if err := st.SendHeader(nil); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	s := newSession(node, st, cancel, nil)
	s.patient, s.gone = n.cfg.Local, st.Context().Done()
	s.at(st.Context())
	accepted := false
	s.accepted = func() {
		accepted = true
		n.door.accepted(s.conn)
	}
	finished := make(chan struct{})
	n.running.Add(1)
	s.start()
	// Owner: the server. Ends when the handler has returned and everything was sent, or when the session has ended, which
	// ends the handler's context. Serve waits for it.
	go func() {
		defer n.running.Done()
		n.handle(ctx, s)
		n.door.ended(s.conn, accepted)
		s.CloseSend()
		<-s.flushed
		close(finished)
	}()
	s.watch(finished)
	err := s.cause()
	s.Close()
	return farewell(err)
}

// handle waits for Open and calls the handler.
func (n *server) handle(ctx context.Context, s *Session) {
	if !n.cfg.Local {
		s.in.limit = n.cfg.Limits.OpenBytes
		late := time.AfterFunc(n.cfg.Limits.Opening, func() {
			s.fail(&ProtocolError{Reason: fmt.Sprintf("no Open within %v", n.cfg.Limits.Opening)})
		})
		defer late.Stop()
		m, err := s.Recv()
		if err != nil || !late.Stop() {
			return
		}
		n.door.spoke(s.conn)
		n.cfg.Handle(ctx, s, m.(*wire.Open))
		return
	}
	if m, err := s.Recv(); err == nil {
		n.cfg.Handle(ctx, s, m.(*wire.Open))
	}
}

// farewell is what the coordinator is told of why a session has ended.
func farewell(err error) error {
	code := codes.Aborted
	var protocol *ProtocolError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &protocol):
		code = codes.InvalidArgument
	case errors.Is(err, ErrSilent):
		code = codes.DeadlineExceeded
	}
	text := err.Error()
	return status.Error(code, text[:min(len(text), 1<<10)])
}
