package supervisor

import (
	"context"
	"os"
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
	p, err := child.Start(child.Spec{
		Nice: at.Nice, CPUs: at.CPUs, MaxProcs: at.GOMAXPROCS, MemoryBytes: at.MemoryBytes, Env: at.Env, Output: s.output,
	})
	if err != nil {
		return nil, nil, err
	}
	b := &childBody{p: p}
	conn, err := link.Dial(s.ctx, link.Target{Conn: p.Conn()})
	if err != nil {
		exit := b.end(0)
		b.close()
		if exit != nil {
			err = exit
		}
		return nil, nil, err
	}
	return b, conn, nil
}

func (s *session) output(line []byte) {
	r := s.nodes.run
	r.event(NodeOutput{r.info(), s.nodes.name(s.region, s.copy), string(line)})
}

// A childBody is a child process.
type childBody struct {
	p      *child.Process
	killed bool // by us
}

func (b *childBody) end(patience time.Duration) error {
	b.p.End()
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
		<-b.p.Exited()
	}
	x := b.p.Exit()
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
