package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/child"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// start makes the process that a session is with, and connects to it.
func (s *session) start() (body, *link.Conn, error) {
	switch at := s.nodes.at[s.region].(type) {
	case Subprocess:
		return s.startChild(at)
	case Remote:
		return s.startRemote(s.nodes.reach[s.region])
	}
	panic("supervisor: a placement that was not checked")
}

// startChild starts a child.
func (s *session) startChild(at Subprocess) (body, *link.Conn, error) {
	env, err := ownValues(at.Env)
	if err != nil {
		return nil, nil, err
	}
	p, err := child.Start(child.Spec{
		Nice: at.Nice, CPUs: at.CPUs, MaxProcs: at.GOMAXPROCS, MemoryBytes: at.MemoryBytes, Env: env, Output: s.output,
		Files: s.inherited(),
	})
	if err != nil {
		return nil, nil, err
	}
	b := &childBody{p: p, lost: s.outputLost}
	conn, err := link.Dial(s.ctx, link.Target{Conn: p.Conn()})
	if err != nil {
		exit := b.end(0)
		b.close()
		if !b.killed {
			return nil, nil, exit
		}
		return nil, nil, errors.Join(err, exit)
	}
	return b, conn, nil
}

// ownValues gives the variables that are only named the values that they have here.
func ownValues(env []string) (all []string, err error) {
	for _, v := range env {
		if !strings.Contains(v, "=") {
			value, is := os.LookupEnv(v)
			if !is {
				return nil, fmt.Errorf("this process has no %s any more, which its child is to be given", v)
			}
			v += "=" + value
		}
		all = append(all, v)
	}
	return all, nil
}

// A childBody is a child process.
type childBody struct {
	p      *child.Process
	lost   func(lines int) // told how much of its output was
	killed bool            // by us
}

func (b *childBody) end(patience time.Duration) error {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-b.p.Exited():
	case <-t.C:
		select {
		case <-b.p.Exited():
		default:
			b.killed = true
			b.p.Kill()
		}
	}
	x := b.p.Exit()
	if x.Dropped > 0 {
		b.lost(x.Dropped)
	}
	return &ExitError{Status: x.Text, Code: x.Code, Stderr: string(x.Tail)}
}

func (b *childBody) blames(error) bool { return !b.killed }

func (b *childBody) close() { b.p.Conn().Close() }

// beChild is the life of a process that was started as a child: it does not return.
func beChild(defs []stages.Blueprint) {
	c, err := child.Enter()
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(3)
	}
	h := newHost(defs)
	h.files = c.Files()
	ctx, cancel := context.WithCancel(context.Background())
	err = link.Serve(ctx, link.OneListener(c.Conn()), link.Config{
		Local: true,
		Handle: func(ctx context.Context, s *link.Session, open *wire.Open) {
			h.serve(ctx, s, open)
			cancel()
		},
	})
	if err != nil && ctx.Err() == nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(4)
	}
	os.Exit(0)
}
