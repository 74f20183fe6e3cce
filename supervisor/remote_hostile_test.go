package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	nodelink "github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/join"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A script is what a false node does in a session, after its greeting. first is the first task that it was given.
type script func(s *nodelink.Session, first *wire.Task)

func answers(entries ...wire.Entry) script {
	return func(s *nodelink.Session, t *wire.Task) { s.Send(&wire.Result{Entries: entries}); listen(s) }
}

func telling(messages ...wire.Message) script {
	return func(s *nodelink.Session, t *wire.Task) {
		for _, m := range messages {
			s.Send(m)
		}
		listen(s)
	}
}

func listen(s *nodelink.Session) {
	for {
		if _, err := s.Recv(); err != nil {
			return
		}
	}
}

// honest answers as the region would.
func honest(s *nodelink.Session, t *wire.Task) {
	for {
		var r wire.Result
		for _, it := range t.Items {
			r.Entries = append(r.Entries, wire.Entry{ID: it.ID, Outputs: []wire.Output{{Payload: it.Payload}}})
		}
		s.Send(&r)
		for {
			m, err := s.Recv()
			if err != nil {
				return
			}
			if _, end := m.(*wire.End); end {
				s.Send(&wire.End{})
				return
			}
			if next, ok := m.(*wire.Task); ok {
				t = next
				break
			}
		}
	}
}

func TestF27AFalseNodeIsReplacedOrFailsTheRunAndNothingElse(t *testing.T) {
	entry := func(id uint64, payload ...byte) wire.Entry {
		return wire.Entry{ID: id, Outputs: []wire.Output{{Payload: wire.Payload{Bytes: payload}}}}
	}
	for name, c := range map[string]struct {
		does  script
		fails bool // the first such node ends the run, or an item; else another one takes its place
	}{
		"ends at once":               {telling(&wire.End{}), false},
		"leaves":                     {func(*nodelink.Session, *wire.Task) {}, false},
		"sends frames":               {telling(&wire.Frame{}), false},
		"says where its source ends": {telling(&wire.Stopped{}), false},
		"gives blocks back":          {telling(&wire.Release{Blocks: []wire.Block{{Offset: 1, Length: 1, Generation: 1}}}), false},
		"answers what it was not asked": {func(s *nodelink.Session, t *wire.Task) {
			s.Send(&wire.Result{Entries: []wire.Entry{entry(1<<62, 1), entry(99, 1)}})
			honest(s, t)
		}, false},
		"answers twice": {func(s *nodelink.Session, t *wire.Task) {
			r := &wire.Result{Entries: []wire.Entry{entry(0, 0), entry(0, 5)}}
			s.Send(r)
			s.Send(r)
			honest(s, t)
		}, false},
		"sends 64 MiB for what it was not": {func(s *nodelink.Session, t *wire.Task) {
			s.Send(&wire.Result{Entries: []wire.Entry{entry(1<<40, bytes.Repeat([]byte{1}, 64<<20)...)}})
			honest(s, t)
		}, false},
		"tells of events that are none": {func(s *nodelink.Session, t *wire.Task) {
			s.Send(&wire.Event{Body: []byte{0xdd, 255, 255, 255, 255}})
			s.Send(&wire.Stats{Body: []byte{0xc1}})
			s.Send(&wire.Log{Text: "\x1b[2J"})
			honest(s, t)
		}, false},
		"sends what cannot be decoded": {answers(entry(0, 0xdd, 0xff, 0xff, 0xff, 0xff)), true},
		"sends blocks of no memory":    {answers(wire.Entry{ID: 0, Outputs: []wire.Output{{Payload: wire.Payload{Blocks: []wire.Block{{Offset: 1, Length: 1 << 40, Generation: 1}}}}}}), true},
		"fails an unknown stage":       {answers(wire.Entry{ID: 0, Failures: []wire.Failure{{Stage: 4000, Identity: wire.Identity{Source: 999, Index: 5}, Attempts: 1, Error: []byte("\x81\xa1x")}}}), true},
		"gives up with nonsense":       {telling(&wire.Abort{Error: []byte{0xc1, 0, 255}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newPipeNet()
				def := stages.Define("working", func(g *stages.Graph, cfg span) stages.Stream[int] {
					return stages.Map(stages.Source(g, "ints", ints(cfg.N)), "work", func(_ context.Context, v int) (int, error) { return v, nil }, stages.Ordered, stages.Mailbox(cfg.Workers))
				})
				l := n.listen(addr1)
				ctx, cancel := context.WithCancel(context.Background())
				served := make(chan error, 1)
				sessions := 0
				credentials, err := join.NewOpenServer(l.Addr(), join.Options{})
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					served <- nodelink.Serve(ctx, l, nodelink.Config{Credentials: credentials, Handle: func(_ context.Context, s *nodelink.Session, o *wire.Open) {
						sessions++
						first := sessions == 1
						if s.Accept(&wire.Ready{Version: wire.Version, Fingerprint: o.Fingerprint, Boot: [16]byte{1}}) != nil {
							return
						}
						m, err := s.Recv()
						task, ok := m.(*wire.Task)
						switch {
						case err != nil || !ok:
						case first:
							c.does(s, task)
						default:
							honest(s, task)
						}
					}})
				}()
				var e events
				began := time.Now()
				got, err := collectAt(t, remoteSup(n, &e, 1), def.With(span{20, 2}), onRegion(nodeAt(addr1)))
				var failed *supervisor.RunError
				switch {
				case c.fails && !errors.As(err, &failed):
					t.Errorf("%d items, %v", len(got), err)
				case !c.fails && err != nil:
					t.Error(err)
				case !c.fails:
					checkCount(t, got, 20)
				}
				if d := time.Since(began); d > 20*time.Second {
					t.Errorf("it took %v", d)
				}
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
