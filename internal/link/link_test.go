package link_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/wire"
)

// serve runs a node on l until the test ends it with the function returned, which waits.
func serve(t testing.TB, l net.Listener, cfg link.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- link.Serve(ctx, l, cfg) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// echo answers each Task with a Result of as many entries, until the coordinator's last message.
func echo(ctx context.Context, s *link.Session, _ *wire.Open) {
	if s.Accept(&wire.Ready{Version: wire.Version}) != nil {
		return
	}
	for {
		m, err := s.Recv()
		if err != nil {
			return
		}
		if task, ok := m.(*wire.Task); ok {
			if s.Send(answer(task)) != nil {
				return
			}
		}
	}
}

func answer(task *wire.Task) *wire.Result {
	r := &wire.Result{}
	for _, i := range task.Items {
		r.Entries = append(r.Entries, wire.Entry{ID: i.ID, Outputs: []wire.Output{{Payload: i.Payload}}})
	}
	return r
}

func tasks(first uint64, payloads ...[]byte) *wire.Task {
	task := &wire.Task{}
	for i, p := range payloads {
		task.Items = append(task.Items, wire.Item{ID: first + uint64(i), Payload: wire.Payload{Bytes: p}})
	}
	return task
}

// dial connects to a node.
func dial(t testing.TB, target link.Target) *link.Conn {
	t.Helper()
	c, err := link.Dial(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dialChild connects to a node over c.
func dialChild(t testing.TB, c net.Conn) *link.Conn {
	t.Helper()
	conn, err := link.Dial(context.Background(), link.Target{Conn: c})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func open(t testing.TB, c *link.Conn) *link.Session {
	t.Helper()
	s, _, err := c.Open(context.Background(), &wire.Open{Versions: []uint32{wire.Version}, Mode: wire.Keyed, Window: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// roundTrips sends n tasks, and expects their results in order and then the end.
func roundTrips(t testing.TB, s *link.Session, n int) {
	t.Helper()
	for i := range n {
		if err := s.Send(tasks(uint64(i), fmt.Appendf(nil, "payload %d", i))); err != nil {
			t.Fatal(err)
		}
	}
	s.CloseSend()
	for i := range n {
		m, err := s.Recv()
		if err != nil {
			t.Fatalf("result %d: %v", i, err)
		}
		r := m.(*wire.Result)
		if e := r.Entries[0]; e.ID != uint64(i) || string(e.Outputs[0].Payload.Bytes) != fmt.Sprintf("payload %d", i) {
			t.Fatalf("result %d: %+v", i, e)
		}
	}
	if m, err := s.Recv(); err != io.EOF {
		t.Fatalf("after the last result: %v, %v", m, err)
	}
}

func TestMessagesGoBothWaysInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		stop := serve(t, link.OneListener(there), link.Config{Handle: echo, Local: true})
		c := dialChild(t, here)
		roundTrips(t, open(t, c), 1000)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		stop()
	})
}
