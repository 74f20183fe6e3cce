package supervisor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/join"
	"github.com/weirflow/weir/stages"
)

// ServeNode hosts pipelines of defs for the programs that deploy them here by Remote. It blocks until ctx ends, then
// stops what runs, closes l, and returns nil; or returns why it cannot serve. Nothing but the definitions compiled
// into this program can be run. A program may call it more than once, for several ports.
//
// The port also answers the standard health check of gRPC (service "", by the same credentials): SERVING until ctx ends.
//
// What strangers and programs send cannot end it: who breaks a rule loses his session or his connection. A function of a stage can, as
// everywhere: by os.Exit, or a panic in a goroutine of its own.
func ServeNode(ctx context.Context, l net.Listener, cfg NodeConfig, defs ...stages.Blueprint) error {
	n, err := newNode(l, cfg, defs)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return link.Serve(ctx, l, link.Config{Handle: n.handle, Credentials: n.credentials, Grace: n.grace + time.Second})
}

// NodeConfig is how a node serves. The zero value refuses to: who may use the node must be said, by exactly one of TLS, Join
// and Open.
//
// There is no limit of memory here, because a node cannot tell what a stage's items cost it: set GOMEMLIMIT, and see
// docs/operations.md for what a session may have.
type NodeConfig struct {
	TLS  *tls.Config // must demand and verify client certificates; TLS 1.3 is used whatever it says
	Join JoinToken   // instead of TLS: whoever has it may deploy. A node needs the file that belongs to it, path.node
	// Open lets anybody on this machine deploy. It needs a loopback listener.
	Open bool

	// OnEvent is told of SessionStarted, SessionEnded and SessionRefused, as Config.OnEvent is. What happens inside the
	// sessions is told where the pipeline was deployed.
	OnEvent func(Event)
	// MaxRuns is how many runs may have sessions here at the same time; those of one program count together with those of
	// all others. 0 means 16. A program (the machine that it is on, or with TLS its certificate) may have four times as many sessions.
	MaxRuns int
	// Grace is how long functions may take to return when the node stops, and is the most that a program may ask for when it
	// does. 0 means 5 s.
	Grace time.Duration
}

// validate returns what is wrong, all of it joined.
func (c NodeConfig) validate() (err error) {
	add := func(format string, args ...any) {
		err = errors.Join(err, fmt.Errorf("supervisor: NodeConfig"+format, args...))
	}
	ways := 0
	for _, given := range []bool{c.TLS != nil, c.Join != JoinToken{}, c.Open} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		add(" does not say who may use the node: want TLS, Join or Open")
	case ways > 1:
		add(" has more than one of TLS, Join and Open: want one")
	}
	if c.MaxRuns < 0 {
		add(".MaxRuns is %d, want at least 0", c.MaxRuns)
	}
	if c.Grace < 0 {
		add(".Grace is %v, want at least 0", c.Grace)
	}
	return err
}

func newNode(l net.Listener, cfg NodeConfig, defs []stages.Blueprint) (*nodeServer, error) {
	err := cfg.validate()
	if len(defs) == 0 {
		err = errors.Join(err, errors.New("supervisor: a node without pipelines"))
	}
	if err != nil {
		return nil, err
	}
	n := &nodeServer{
		host: newHost(defs), herald: &herald{to: cfg.OnEvent}, grace: cmp.Or(cfg.Grace, 5*time.Second),
		quota: newQuota(cmp.Or(cfg.MaxRuns, 16)), lives: map[copyOf]life{},
	}
	o := join.Options{OnRefused: n.refusedPeer}
	switch {
	case cfg.TLS != nil:
		n.credentials, err = join.NewTLSServer(cfg.TLS, o)
	case cfg.Open:
		n.credentials, err = join.NewOpenServer(l.Addr(), o)
	default:
		n.credentials, err = join.NewTokenServer(cfg.Join.token, o)
	}
	if err != nil {
		return nil, fmt.Errorf("supervisor: NodeConfig: %w", tokenError(err))
	}
	return n, nil
}
