package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

const (
	addr1 = "127.0.0.1:7433"
	addr2 = "127.0.0.2:7433"
	addr3 = "127.0.0.3:7433"
)

func nodeAt(addr string) supervisor.Remote { return supervisor.Remote{Addr: "tcp://" + addr} }

// onRegion places the stage "work".
func onRegion(p supervisor.Placement) supervisor.Regions {
	return supervisor.Regions{{From: "work", On: p}}
}

// working is a pipeline of N items that passes each through work.
func working(n int, work func(ctx context.Context, v int) (int, error)) *stages.Definition[span, int] {
	return stages.Define("working", func(g *stages.Graph, cfg span) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(n)), "work", work, stages.Mailbox(cfg.Workers), stages.Ordered, stages.OnError(stages.Skip(1)))
	})
}

// events keeps what a supervisor tells.
type events struct {
	mu  sync.Mutex
	all []supervisor.Event
}

func (e *events) add(ev supervisor.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func eventsOf[E supervisor.Event](e *events) (found []E) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if ev, ok := ev.(E); ok {
			found = append(found, ev)
		}
	}
	return found
}

// remoteSup is a supervisor on n, of which a single death fails an item.
func remoteSup(n *pipeNet, e *events, deaths int) *supervisor.Supervisor {
	sup := supervisor.New(supervisor.Config{OnEvent: e.add, MaxDeaths: deaths, Restart: stages.Restart{Max: 1000}})
	supervisor.ReachNodes(sup, n.dial, nil)
	return sup
}

func TestF18ALinkThatBreaksAtAnyByteLosesNothingAndChargesNobody(t *testing.T) {
	most := 6000
	if testing.Short() {
		most = 600
	}
	for cut := 1; cut < most; cut += 1 + cut/40 {
		synctest.Test(t, func(t *testing.T) {
			n := newPipeNet()
			n.cut = cut
			def := working(60, func(_ context.Context, v int) (int, error) { return v, nil })
			stop, _ := n.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
			defer stop()
			var e events
			got, err := collectAt(t, remoteSup(n, &e, 1), def.With(span{60, 3}), onRegion(nodeAt(addr1)))
			if err != nil {
				t.Fatalf("cut after %d bytes: %v", cut, err)
			}
			checkCount(t, got, 60)
		})
	}
}

func TestF19AnUnreachableNodeIsReportedAfter10SAndItsItemsAreGivenOutAfter15S(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipeNet()
		var mu sync.Mutex
		began := map[int][]time.Time{}
		ended := map[int]time.Time{}
		var partedAt time.Time
		def := working(200, func(ctx context.Context, v int) (int, error) {
			mu.Lock()
			began[v] = append(began[v], time.Now())
			first := len(began[v]) == 1
			mu.Unlock()
			if v == 50 && first {
				n.part(addr1, true)
				n.part(addr2, true)
				mu.Lock()
				partedAt = time.Now()
				mu.Unlock()
				time.AfterFunc(12*time.Second, func() { n.part(addr1, false); n.part(addr2, false) })
				<-ctx.Done() // what is not told to end works on for ever
				mu.Lock()
				ended[v] = time.Now()
				mu.Unlock()
			}
			return v, nil
		})
		stop1, _ := n.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
		defer stop1()
		var e events
		got, err := collectAt(t, remoteSup(n, &e, 1), def.With(span{200, 2}), onRegion(nodeAt(addr1)))
		if err != nil {
			t.Fatal(err)
		}
		checkCount(t, got, 200)
		silent := eventsOf[supervisor.NodeSilent](&e)
		if len(silent) != 1 {
			t.Fatalf("%d events of silence, of %v", len(silent), e.all)
		}
		about := func(what string, d, want time.Duration) {
			if d < want-time.Second || d > want+2*time.Second {
				t.Errorf("%s after %v, want %v", what, d, want)
			}
		}
		about("it is told", silent[0].Time.Sub(partedAt), 10*time.Second)
		about("the node stops", ended[50].Sub(partedAt), 10*time.Second)
		about("it is given out again", began[50][1].Sub(partedAt), 15*time.Second)
		if ended[50].After(began[50][1]) {
			t.Error("an item was worked on twice at once")
		}
	})
}

func TestANodeThatDiesOfAnItemThreeTimesFailsTheItemAndNoOther(t *testing.T) {
	for _, downtime := range []time.Duration{0, 300 * time.Millisecond} {
		t.Run(fmt.Sprint(downtime), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newPipeNet()
				var def *stages.Definition[span, int]
				var mu sync.Mutex
				var die, stop func()
				deaths := 0
				start := func() {
					mu.Lock()
					defer mu.Unlock()
					stop, die = n.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
				}
				def = working(100, func(ctx context.Context, v int) (int, error) {
					if v == 40 {
						mu.Lock()
						deaths++
						kill := die
						mu.Unlock()
						kill()
						if downtime == 0 {
							start()
						} else {
							time.AfterFunc(downtime, start)
						}
						<-ctx.Done()
					}
					return v, nil
				})
				start()
				var e events
				got, err := collectAt(t, remoteSup(n, &e, 3), def.With(span{100, 4}), onRegion(nodeAt(addr1)))
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != 99 || deaths != 3 {
					t.Errorf("%d items, %d deaths: %v", len(got), deaths, e.all)
				}
				failed := eventsOf[supervisor.ItemFailed](&e)
				var node *supervisor.NodeError
				if len(failed) != 1 || failed[0].Err.Item.Index != 40 || !errors.As(failed[0].Err, &node) || node.Addr != addr1 {
					t.Errorf("failed: %v", failed)
				}
				mu.Lock()
				defer mu.Unlock()
				stop()
			})
		})
	}
}

func TestANodeThatStopsChargesNobodyAndItsSuccessorGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipeNet()
		var def *stages.Definition[span, int]
		var stop func()
		var stopping sync.Once
		next := make(chan struct{})
		def = working(300, func(ctx context.Context, v int) (int, error) {
			if v == 100 {
				stopping.Do(func() {
					go func() {
						stop()
						stop, _ = n.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
						close(next)
					}()
				})
			}
			return v, rest(ctx)
		})
		stop, _ = n.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
		var e events
		got, err := collectAt(t, remoteSup(n, &e, 1), def.With(span{300, 4}), onRegion(nodeAt(addr1)))
		if err != nil {
			t.Fatal(err)
		}
		checkCount(t, got, 300)
		if len(eventsOf[supervisor.NodeRestarted](&e)) == 0 {
			t.Error("it was not told")
		}
		<-next
		stop()
	})
}

func rest(ctx context.Context) error {
	t := time.NewTimer(5 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

func TestANameOfSeveralAddressesIsAPoolOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipeNet()
		def := working(2000, func(ctx context.Context, v int) (int, error) { return v, rest(ctx) })
		var there [3]events
		var die [3]func()
		for i, addr := range []string{addr1, addr2, addr3} {
			var stop func()
			stop, die[i] = n.serve(t, addr, supervisor.NodeConfig{Open: true, OnEvent: there[i].add}, def)
			defer stop()
		}
		sup := supervisor.New(supervisor.Config{Restart: stages.Restart{Max: 1000}})
		found := []string{"127.0.0.3", "127.0.0.1", "127.0.0.2", "127.0.0.1"}
		var lost error
		supervisor.ReachNodes(sup, n.dial, func(_ context.Context, name string) ([]string, error) {
			if name != "localhost" {
				return nil, errors.New("no such name")
			}
			return found, lost
		})
		if _, err := supervisor.Deploy(t.Context(), sup, def.With(span{1, 1}), onRegion(supervisor.Remote{Addr: "dns:///nowhere:7433", Join: anyToken(t)})); err == nil {
			t.Error("a name that stands for nothing")
		}
		run, err := supervisor.Deploy(t.Context(), sup, def.With(span{2000, 2}), onRegion(supervisor.Remote{Addr: "dns:///localhost:7433"}))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for v, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, v); len(got) == 500 {
				for i := range there {
					if s := eventsOf[supervisor.SessionStarted](&there[i]); len(s) != 1 {
						t.Errorf("node %d has had %d sessions", i, len(s))
					}
				}
				die[1]()
			}
		}
		run.Stop()
		checkCount(t, got, 2000)
		if a, b := eventsOf[supervisor.SessionStarted](&there[0]), eventsOf[supervisor.SessionStarted](&there[2]); len(a)+len(b) != 3 {
			t.Errorf("%d and %d sessions: one of them has taken the place of the third", len(a), len(b))
		}
	})
}

func anyToken(t *testing.T) supervisor.JoinToken {
	t.Helper()
	token, err := supervisor.NewJoinToken(t.TempDir() + "/token")
	if err != nil {
		t.Fatal(err)
	}
	return token
}
