package supervisor_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	nodelink "github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/join"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A target is a node under attack, and what an attacker may have.
type target struct {
	addr  string
	token join.Token
	other join.Token // of another node
	open  wire.Open  // a good one

	configs map[string][]byte // by pipeline
	prints  map[string][32]byte
}

func (a *target) dial() (net.Conn, error) { return net.DialTimeout("tcp", a.addr, 5*time.Second) }

// session opens a session as a program that has the token.
func (a *target) session(c credentials.TransportCredentials, change func(*wire.Open)) (*nodelink.Session, *nodelink.Conn, error) {
	conn, err := nodelink.Dial(context.Background(), nodelink.Target{Credentials: c, Dial: func(context.Context) (net.Conn, error) { return a.dial() }})
	if err != nil {
		return nil, nil, err
	}
	open := a.open
	change(&open)
	s, _, err := conn.Open(context.Background(), &open)
	if err != nil {
		conn.Close()
	}
	return s, conn, err
}

func (a *target) good() credentials.TransportCredentials {
	c, err := join.NewTokenClient(a.token, join.Options{})
	if err != nil {
		panic(err)
	}
	return c
}

// declined opens a session that must be refused with a code.
func declined(code wire.Code, change func(*wire.Open)) func(*target) error {
	return func(a *target) error {
		_, _, err := a.session(a.good(), change)
		if r, ok := errors.AsType[*nodelink.RefusedError](err); !ok || r.Code != code {
			return fmt.Errorf("%v", err)
		}
		return nil
	}
}

// unproved comes with credentials that must not do.
func unproved(credentials func(*target) credentials.TransportCredentials) func(*target) error {
	return func(a *target) error {
		_, _, err := a.session(credentials(a), func(*wire.Open) {})
		if _, ok := errors.AsType[*join.AuthError](err); !ok {
			return fmt.Errorf("%v", err)
		}
		return nil
	}
}

// cutOff sends messages in a good session, which the node must end.
func cutOff(messages ...wire.Message) func(*target) error {
	return cutOffIn(func(*target, *wire.Open) {}, messages)
}

// cutOffStream is cutOff in a session with the whole graph, or with a part that is fed.
func cutOffStream(fed bool, messages ...wire.Message) func(*target) error {
	return cutOffIn(func(a *target, o *wire.Open) {
		o.Pipeline, o.From, o.To, o.Mode = "doubles", "", "", wire.Stream
		if fed {
			o.Pipeline, o.From, o.To = "batched", "batch", "batch"
		}
		o.Config, o.Fingerprint = a.configs[o.Pipeline], a.prints[o.Pipeline]
	}, messages)
}

func cutOffIn(open func(*target, *wire.Open), messages []wire.Message) func(*target) error {
	return func(a *target) error {
		s, conn, err := a.session(a.good(), func(o *wire.Open) { open(a, o) })
		if err != nil {
			return err
		}
		defer conn.Close()
		for _, m := range messages {
			s.Send(m)
		}
		for {
			if _, err := s.Recv(); err != nil {
				return nil
			}
		}
	}
}

// shutOut writes to a connection, which the node must close.
func shutOut(write func(net.Conn)) func(*target) error {
	return func(a *target) error {
		c, err := a.dial()
		if err != nil {
			return err
		}
		defer c.Close()
		go write(c)
		c.SetReadDeadline(time.Now().Add(8 * time.Second))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "timeout") {
			return err
		}
		return nil
	}
}

// rawBytes passes bytes through gRPC.
type rawBytes struct{}

func (rawBytes) Name() string                          { return "weir-raw" }
func (rawBytes) Marshal(v any) ([]byte, error)         { return *v.(*[]byte), nil }
func (rawBytes) Unmarshal(b []byte, v any) (err error) { *v.(*[]byte) = bytes.Clone(b); return nil }

// framed is messages as they travel.
func framed(messages ...wire.Message) (all []byte) {
	for _, m := range messages {
		b := wire.Append(nil, m)
		all = append(binary.LittleEndian.AppendUint32(all, uint32(len(b))), b...)
	}
	return all
}

// raw sends bytes in a stream of gRPC, which the node must end.
func raw(make func(a *target) [][]byte) func(*target) error {
	return func(a *target) error {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		conn, err := grpc.NewClient("passthrough:///"+a.addr, grpc.WithTransportCredentials(a.good()))
		if err != nil {
			return err
		}
		defer conn.Close()
		desc := grpc.StreamDesc{StreamName: "Open", ServerStreams: true, ClientStreams: true}
		s, err := conn.NewStream(ctx, &desc, "/weir.Link/Open", grpc.ForceCodec(rawBytes{}))
		if err != nil {
			return err
		}
		for _, b := range make(a) {
			if s.SendMsg(&b) != nil {
				break
			}
		}
		for {
			var b []byte
			if err := s.RecvMsg(&b); err != nil {
				return ctx.Err()
			}
		}
	}
}

func item(id uint64) wire.Item { return wire.Item{ID: id, Payload: wire.Payload{Bytes: []byte{1}}} }

func manyItems(n int) (t wire.Task) {
	for i := range n {
		t.Items = append(t.Items, item(uint64(i)))
	}
	return t
}

func attacks() map[string]func(*target) error {
	tooMany := manyItems(2000)
	first := func(a *target) []byte { return framed(&a.open) }
	return map[string]func(*target) error{
		"no token": unproved(func(*target) credentials.TransportCredentials { return join.NewOpenClient(join.Options{}) }),
		"wrong token": unproved(func(a *target) credentials.TransportCredentials {
			c, _ := join.NewTokenClient(a.other, join.Options{})
			return c
		}),
		"plaintext": shutOut(func(c net.Conn) {
			io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		}),
		"TLS 1.2": func(a *target) error {
			c, err := tls.Dial("tcp", a.addr, &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true})
			if err == nil {
				c.Close()
				return errors.New("it was let in")
			}
			return nil
		},
		"garbage": shutOut(func(c net.Conn) { c.Write(bytes.Repeat([]byte("weir\xff\x00"), 5000)) }),
		"a byte now and then": shutOut(func(c net.Conn) {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if _, err := c.Write([]byte{0x16}); err != nil {
					return
				}
			}
		}),
		"500 silent connections": func(a *target) error {
			var all sync.WaitGroup
			failed := make(chan error, 500)
			for range 500 {
				all.Go(func() {
					if err := shutOut(func(net.Conn) {})(a); err != nil {
						failed <- err
					}
				})
			}
			all.Wait()
			close(failed)
			return <-failed
		},

		"another version":      declined(wire.OtherVersion, func(o *wire.Open) { o.Versions = []uint32{wire.Version + 7} }),
		"another fingerprint":  declined(wire.OtherGraph, func(o *wire.Open) { o.Fingerprint[3] ^= 1 }),
		"unknown pipeline":     declined(wire.UnknownPipeline, func(o *wire.Open) { o.Pipeline = "triples\x1b[2J" }),
		"unknown region":       declined(wire.BadRequest, func(o *wire.Open) { o.From, o.To = "x", "y" }),
		"backward region":      declined(wire.BadRequest, func(o *wire.Open) { o.From, o.To = o.To, o.From }),
		"another mode":         declined(wire.BadRequest, func(o *wire.Open) { o.Mode = wire.Stream }),
		"too large a window":   declined(wire.BadRequest, func(o *wire.Open) { o.Window = math.MaxInt32 }),
		"a config of nonsense": declined(wire.BadConfig, func(o *wire.Open) { o.Config = []byte{0xdd, 0xff, 0xff, 0xff, 0xff} }),
		"a huge config": func(a *target) error {
			if _, _, err := a.session(a.good(), func(o *wire.Open) { o.Config = make([]byte, 8<<20) }); err == nil {
				return errors.New("it was let in")
			}
			return nil
		},

		"more tasks than the window": cutOff(&tooMany),
		"an id twice":                cutOff(&wire.Task{Items: []wire.Item{item(1), item(2), item(1)}}),
		"an id that is too large":    cutOff(&wire.Task{Items: []wire.Item{item(math.MaxUint64)}}),
		"an unknown source":          cutOff(&wire.Task{Items: []wire.Item{{ID: 1, Identity: wire.Identity{Source: 999}}}}),
		"an end of an epoch":         cutOff(&wire.Task{Items: []wire.Item{item(1)}, Ends: []wire.EpochEnd{{Epoch: 0, After: 1}}}),
		"two that are alone":         cutOff(&wire.Task{Isolated: true, Items: []wire.Item{item(1), item(2)}}),
		"tasks behind the end":       cutOff(&wire.End{}, &wire.Task{Items: []wire.Item{item(1)}}),
		"a message of streams":       cutOff(&wire.Limit{Frames: 1}),

		"tasks for a source":           cutOffStream(false, &wire.Task{Items: []wire.Item{item(1)}}),
		"an end for a source":          cutOffStream(false, &wire.End{}),
		"a task twice in a stream":     cutOffStream(true, &wire.Task{Items: []wire.Item{item(1), item(1)}}),
		"a task that is long over":     cutOffStream(true, &wire.Task{Items: []wire.Item{item(5)}}, &wire.Task{Items: []wire.Item{item(4)}}),
		"a huge id in a stream":        cutOffStream(true, &wire.Task{Items: []wire.Item{item(math.MaxUint64)}}),
		"an epoch that ends nowhere":   cutOffStream(true, &wire.Task{Items: []wire.Item{item(1)}, Ends: []wire.EpochEnd{{Epoch: 0, After: 2}}}),
		"epochs that end backwards":    cutOffStream(true, &wire.Task{Items: []wire.Item{item(1), item(2)}, Ends: []wire.EpochEnd{{Epoch: 0, After: 2}, {Epoch: 1, After: 1}}}),
		"one alone in a stream":        cutOffStream(true, &wire.Task{Isolated: true, Items: []wire.Item{item(1)}}),
		"a source unknown to a stream": cutOffStream(true, &wire.Task{Items: []wire.Item{{ID: 1, Identity: wire.Identity{Source: 999}}}}),
		"a feed behind its end":        cutOffStream(true, &wire.End{}, &wire.Task{Items: []wire.Item{item(1)}}),
		"two ends of a feed":           cutOffStream(true, &wire.End{}, &wire.End{}),

		"an end at once":       raw(func(a *target) [][]byte { return [][]byte{framed(&wire.End{})} }),
		"results by a program": raw(func(a *target) [][]byte { return [][]byte{first(a), framed(&wire.Result{})} }),
		"a second greeting":    raw(func(a *target) [][]byte { return [][]byte{first(a), first(a)} }),
		"a greeting of a node": raw(func(a *target) [][]byte { return [][]byte{framed(&wire.Ready{Version: 1})} }),
		"half a greeting":      raw(func(a *target) [][]byte { b := first(a); return [][]byte{b[:len(b)/2]} }),
		"a greeting of 3 MiB":  raw(func(a *target) [][]byte { return [][]byte{make([]byte, 3<<20)} }),
		"nothing behind gRPC":  raw(func(a *target) [][]byte { return nil }),
		"an empty message":     raw(func(a *target) [][]byte { return [][]byte{first(a), {0, 0, 0, 0}} }),
		"a length of 4 GiB":    raw(func(a *target) [][]byte { return [][]byte{first(a), {0xff, 0xff, 0xff, 0xff, 1}} }),
		"an unknown kind":      raw(func(a *target) [][]byte { return [][]byte{first(a), {1, 0, 0, 0, 0xee}} }),
		"a bit that was flipped": raw(func(a *target) [][]byte {
			b := framed(&a.open)
			b[5] ^= 0x40
			return [][]byte{b}
		}),
	}
}

// A goodRun is looped over all the time.
type goodRun struct {
	items atomic.Int64
	over  chan struct{}
	stop  func()
}

func begin(t *testing.T, p stages.Pipeline[int], at supervisor.Placement) *goodRun {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), p, at)
	if err != nil {
		t.Fatal(err)
	}
	g := &goodRun{over: make(chan struct{})}
	g.stop = func() {
		run.Stop()
		<-g.over
	}
	go func() {
		defer close(g.over)
		for v, err := range run.Items(t.Context()) {
			if err != nil {
				if !errors.Is(err, supervisor.ErrStopped) {
					t.Error(err)
				}
				return
			}
			if n := g.items.Add(1); int64(v) != n-1 {
				t.Errorf("item %d is %d", n-1, v)
				return
			}
		}
	}()
	return g
}

func TestANodeServesItsProgramsWhateverOthersDo(t *testing.T) {
	dir := t.TempDir()
	token, err := supervisor.NewJoinToken(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	a := &target{addr: strings.TrimPrefix(serveNode(t, supervisor.NodeConfig{Join: token}, doubles, batched), "tcp://")}
	if a.token, err = join.Read(filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	if a.other, err = join.New(); err != nil {
		t.Fatal(err)
	}
	p := doubles.With(span{1 << 40, 4})
	config, err := p.EncodeConfig()
	if err != nil {
		t.Fatal(err)
	}
	fed := batched.With(span{100, 1})
	feed, err := fed.EncodeConfig()
	if err != nil {
		t.Fatal(err)
	}
	a.configs = map[string][]byte{"doubles": config, "batched": feed}
	a.prints = map[string][32]byte{"doubles": plan.Fingerprint(p.Plan()), "batched": plan.Fingerprint(fed.Plan())}
	a.open = wire.Open{
		Versions: []uint32{wire.Version}, Run: "attack", Pipeline: "doubles", From: "double", To: "halve", Config: config,
		Fingerprint: plan.Fingerprint(p.Plan()), Mode: wire.Keyed, Window: 100, Grace: time.Hour,
	}

	// The good ones work all the time.
	at := supervisor.Remote{Addr: "tcp://" + a.addr, Join: token}
	keyed := begin(t, p, supervisor.Regions{{From: "double", To: "halve", On: at}})
	stream := begin(t, p, at)
	for name, attack := range attacks() {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			before := []int64{keyed.items.Load(), stream.items.Load()}
			if err := attack(a); err != nil {
				t.Error(err)
			}
			if d := time.Since(began); d > 7*time.Second {
				t.Errorf("it took %v", d)
			}
			for i, good := range []*goodRun{keyed, stream} {
				for good.items.Load() == before[i] {
					select {
					case <-good.over:
						t.Fatal("a good program's run is over")
					case <-t.Context().Done():
						return
					default:
					}
				}
			}
		})
	}
	t.Run("bombs for items", func(t *testing.T) {
		s, conn, err := a.session(a.good(), func(*wire.Open) {})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		bombs := [][]byte{nil, {0xdd, 0xff, 0xff, 0xff, 0xff}, bytes.Repeat([]byte{0x91}, 1<<20), {0xdf, 0xff, 0xff, 0xff, 0xff}, {0xc9, 0, 0, 0, 1, 5, 5}, {0xd9, 1, 0xff}, {1, 1}}
		for i, b := range bombs {
			s.Send(&wire.Task{Items: []wire.Item{{ID: uint64(i), Payload: wire.Payload{Bytes: b}}}})
		}
		for n := 0; n < len(bombs); {
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := m.(*wire.Result); ok {
				for _, e := range r.Entries {
					if n++; len(e.Failures) != 1 || len(e.Outputs) != 0 {
						t.Errorf("bomb %d: %+v", e.ID, e)
					}
				}
			}
		}
	})
	t.Run("too many sessions", func(t *testing.T) {
		full := 0
		for i := range 100 {
			_, conn, err := a.session(a.good(), func(o *wire.Open) { o.Copy = i })
			if r, ok := errors.AsType[*nodelink.RefusedError](err); ok && r.Code == wire.Full {
				full++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		if full != 100-62 {
			t.Errorf("%d were refused", full)
		}
	})
	keyed.stop()
	stream.stop()
}
