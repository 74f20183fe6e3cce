package link

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/weirflow/weir/internal/wire"
)

// batch is messages as they travel together.
func batch(t testing.TB, messages ...wire.Message) []byte {
	t.Helper()
	var b []byte
	for _, m := range messages {
		var err error
		if b, err = frame(b, m); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func validOpen() *wire.Open { return &wire.Open{Mode: wire.Keyed, Window: 1} }

// rawNode is a node without package link: it answers each stream with what answer returns, and then keeps the stream.
func rawNode(t testing.TB, c net.Conn, answer []byte) (stop func()) {
	t.Helper()
	g := grpc.NewServer(serverOptions(Config{Credentials: insecure.NewCredentials()}.withDefaults())...)
	g.RegisterService(serviceDesc(), rawOpener(func(st grpc.ServerStream) error {
		if err := st.SendMsg(&mem.BufferSlice{mem.SliceBuffer(answer)}); err != nil {
			return err
		}
		<-st.Context().Done()
		return nil
	}))
	l := OneListener(c)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = g.Serve(l) }()
	return func() { g.Stop(); <-ended }
}

type rawOpener func(grpc.ServerStream) error

func (f rawOpener) open(st grpc.ServerStream) error { return f(st) }

func TestWhatANodeMayNotSendEndsTheSession(t *testing.T) {
	ready := batch(t, &wire.Ready{Version: 1})
	length := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	for name, sent := range map[string][]byte{
		"nothing":               {},
		"half a length":         {1, 0},
		"half a message":        append(length(10), 2, 3),
		"an empty message":      length(0),
		"an unknown message":    append(length(1), 99),
		"a length without end":  length(1<<32 - 1),
		"a result first":        batch(t, &wire.Result{}),
		"a coordinator's Open":  batch(t, validOpen()),
		"two answers":           append(batch(t, &wire.Ready{Version: 1}), ready...),
		"a refusal later":       append(batch(t, &wire.Ready{Version: 1}), batch(t, &wire.Refuse{Code: wire.Full})...),
		"a task":                append(batch(t, &wire.Ready{Version: 1}), batch(t, &wire.Task{})...),
		"rubbish after a Ready": append(batch(t, &wire.Ready{Version: 1}), 7),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				stop := rawNode(t, there, sent)
				c, err := Dial(t.Context(), Target{Conn: here})
				if err != nil {
					t.Fatal(err)
				}
				s, _, err := c.Open(t.Context(), validOpen())
				if err == nil {
					_, err = s.Recv()
				}
				var protocol *ProtocolError
				if !errors.As(err, &protocol) {
					t.Errorf("%v", err)
				}
				if s != nil {
					if _, again := s.Recv(); again != err {
						t.Errorf("again: %v", again)
					}
					if late := s.Send(&wire.Drain{}); late != err {
						t.Errorf("Send: %v", late)
					}
				}
				_ = c.Close()
				stop()
			})
		})
	}
}

func TestWhatACoordinatorMayNotSendEndsTheSessionOnly(t *testing.T) {
	for name, sent := range map[string][]byte{
		"nothing":           {},
		"half a message":    {9, 0, 0, 0, 1},
		"a task first":      batch(t, &wire.Task{}),
		"a node's answer":   batch(t, &wire.Ready{}),
		"two Opens":         batch(t, validOpen(), validOpen()),
		"a result":          batch(t, validOpen(), &wire.Result{}),
		"rubbish at last":   append(batch(t, validOpen(), &wire.Drain{}), 1, 0, 0, 0, 77),
		"a huge first word": batch(t, &wire.Open{Mode: wire.Keyed, Config: make([]byte, 1100<<10)}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() {
					served <- Serve(ctx, OneListener(there), Config{Limits: Limits{OpenBytes: 1 << 20}, Handle: func(_ context.Context, s *Session, _ *wire.Open) {
						_ = s.Accept(&wire.Ready{Version: 1})
						for {
							_, err := s.Recv()
							if err != nil {
								return
							}
						}
					}})
				}()
				dial := func(context.Context) (net.Conn, error) { return here, nil }
				client, err := grpc.NewClient("passthrough:///node", dialOptions(dial, insecure.NewCredentials())...)
				if err != nil {
					t.Fatal(err)
				}
				desc := streamDesc()
				receive := func(sent []byte) (err error) {
					streamCtx, done := context.WithTimeout(t.Context(), time.Minute)
					defer done()
					st, err := client.NewStream(streamCtx, &desc, method)
					if err != nil {
						return err
					}
					if err := st.SendMsg(&mem.BufferSlice{mem.SliceBuffer(sent)}); err != nil {
						return err
					}
					_ = st.CloseSend()
					for err == nil {
						var m mem.BufferSlice
						err = st.RecvMsg(&m)
					}
					return err
				}
				if err := receive(batch(t, validOpen())); err != io.EOF {
					t.Errorf("a session before: %v", err)
				}
				if err := receive(sent); err == nil || !strings.Contains(err.Error(), "InvalidArgument") {
					t.Errorf("%v", err)
				}
				if err := receive(batch(t, validOpen())); err != io.EOF {
					t.Errorf("a session after: %v", err)
				}
				_ = client.Close()
				cancel()
				if err := <-served; err != nil {
					t.Errorf("Serve: %v", err)
				}
			})
		})
	}
}

func TestEventsGoBehindDataAndTheOldestAreDropped(t *testing.T) {
	s := newSession(node, nil, func() {}, nil)
	s.open = true
	send := func(m wire.Message) {
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxWaiting + 10 {
		send(&wire.Log{Text: string(rune('a' + i%26))})
		if i < 3 {
			send(&wire.Stats{Body: []byte{byte(i)}})
		}
	}
	send(&wire.Profile{ID: 7, Name: "heap", Part: make([]byte, 100<<10), Last: true})
	send(&wire.Result{})
	send(&wire.Stopped{})
	if got := s.Dropped(); got != 10 {
		t.Errorf("%d dropped", got)
	}
	kinds := func(b []byte) (kinds []string) {
		for len(b) > 0 {
			n := binary.LittleEndian.Uint32(b)
			m, err := wire.Decode(b[lengthBytes : lengthBytes+n])
			if err != nil {
				t.Fatal(err)
			}
			b = b[lengthBytes+n:]
			kinds = append(kinds, strings.TrimPrefix(strings.ToLower(typeName(m)), "*wire."))
		}
		return kinds
	}
	batches, _ := s.take(nil)
	if len(batches) != 1 || strings.Join(kinds(*batches[0]), " ") != "result stopped" {
		t.Errorf("data first: %d batches", len(batches))
	}
	s.beat(&wire.Ping{})
	s.beat(&wire.Ping{})
	batches, _ = s.take(nil)
	if len(batches) != 2 || len(kinds(*batches[0])) != 1 {
		t.Fatalf("then a Ping, and what is behind: %d batches", len(batches))
	}
	count := map[string]int{}
	for {
		for _, k := range kinds(*batches[len(batches)-1]) {
			count[k]++
		}
		if batches, _ = s.take(nil); len(batches) == 0 {
			break
		}
	}
	if count["log"] != maxWaiting || count["stats"] != 3 || count["profile"] != 1 {
		t.Errorf("%v", count)
	}
}

func TestALargeEventDropsTheOlderOnesOfItsKindOnly(t *testing.T) {
	s := newSession(node, nil, func() {}, nil)
	s.open = true
	for _, m := range []wire.Message{
		&wire.Stats{Body: []byte("kept")}, &wire.Event{Body: []byte("old")}, &wire.Event{Body: make([]byte, 2*maxWaitingBytes)},
	} {
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if s.Dropped() != 1 || len(s.queue.low) != 2 {
		t.Errorf("%d dropped, %d wait", s.Dropped(), len(s.queue.low))
	}
}

func typeName(m wire.Message) string {
	switch m.(type) {
	case *wire.Result:
		return "result"
	case *wire.Stopped:
		return "stopped"
	case *wire.Log:
		return "log"
	case *wire.Stats:
		return "stats"
	case *wire.Profile:
		return "profile"
	}
	return "other"
}
