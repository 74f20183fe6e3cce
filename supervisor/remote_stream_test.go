package supervisor_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Regions with sources or aggregates on remote nodes. They have one copy, and what it had done is not asked for again.

// inBatches is a source of n items, which takes its time, a map and batches of 7. step is called with each item.
func inBatches(step func(v int)) *stages.Definition[int, []int] {
	return stages.Define("inBatches", func(g *stages.Graph, n int) stages.Stream[[]int] {
		s := stages.Map(stages.Source(g, "ints", ints(n)), "work", func(ctx context.Context, v int) (int, error) {
			step(v)
			if v%5 == 0 {
				return v, rest(ctx)
			}
			return v, nil
		}, stages.Mailbox(3), stages.Ordered)
		return stages.Batch(s, "batch", 7)
	})
}

// streamsAt are the stream regions of it: all of it, and the aggregate, which is fed from here.
func streamsAt(at supervisor.Remote) map[string]supervisor.Placement {
	return map[string]supervisor.Placement{
		"all of it": at, "from its source on": supervisor.Regions{{From: "ints", To: "work", On: at}}, "fed from here": supervisor.Regions{{From: "work", To: "batch", On: at}},
	}
}

func wantBatches(t *testing.T, got [][]int, n int) {
	t.Helper()
	wantItems(t, slices.Concat(got...), numbers(n))
	for i, b := range got[:max(len(got)-1, 0)] {
		if len(b) != 7 {
			t.Errorf("batch %d has %d", i, len(b))
		}
	}
}

func TestF18ALinkThatBreaksAtAnyByteLosesNothingOfAStream(t *testing.T) {
	most, n := 9000, 100
	if testing.Short() {
		most = 600
	}
	for name := range streamsAt(supervisor.Remote{}) {
		t.Run(name, func(t *testing.T) {
			for cut := 1; cut < most; cut += 1 + cut/20 {
				synctest.Test(t, func(t *testing.T) {
					net := newPipeNet()
					net.cut = cut
					def := inBatches(func(int) {})
					stop, _ := net.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
					defer stop()
					var e events
					got, err := collectAt(t, remoteSup(net, &e, 1), def.With(n), streamsAt(nodeAt(addr1))[name])
					if err != nil {
						t.Fatalf("cut after %d bytes: %v", cut, err)
					}
					wantBatches(t, got, n)
				})
			}
		})
	}
}

// A node that dies, by a signal or with its machine, is replaced by the next process at its address.
func TestAStreamGoesOnInTheNextProcessOfItsNode(t *testing.T) {
	const n = 600
	for name := range streamsAt(supervisor.Remote{}) {
		for _, downtime := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second} {
			t.Run(fmt.Sprint(name, " ", downtime), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					net := newPipeNet()
					def := inBatches(func(int) {})
					stop, die := net.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
					var e events
					run, err := supervisor.Deploy(t.Context(), remoteSup(net, &e, 1), def.With(n), streamsAt(nodeAt(addr1))[name])
					if err != nil {
						t.Fatal(err)
					}
					var got [][]int
					lives := 1
					for b, err := range run.Items(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
						if got = append(got, b); b[0] > lives*n/4 {
							die()
							stop() // what it had begun has ended
							time.Sleep(downtime)
							stop, die = net.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
							lives++
						}
					}
					if err := run.Stop(); err != nil {
						t.Error(err)
					}
					wantBatches(t, got, n)
					if lost := eventsOf[supervisor.NodeRestarted](&e); len(lost) < lives-1 || lives < 3 {
						t.Errorf("%d lives, told %d", lives, len(lost))
					}
					checkEnd(t, run.Stats(), nil)
					stop()
				})
			})
		}
	}
}

// A stream has one address of a name; the others are spares.
func TestOtherAddressesOfANameAreSparesOfAStream(t *testing.T) {
	const n = 900
	for name := range streamsAt(supervisor.Remote{}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := newPipeNet()
				def := inBatches(func(int) {})
				addrs := []string{addr1, addr2, addr3}
				var there [3]events
				var die [3]func()
				for i, addr := range addrs {
					var stop func()
					stop, die[i] = net.serve(t, addr, supervisor.NodeConfig{Open: true, OnEvent: there[i].add}, def)
					defer stop()
				}
				var e events
				sup := remoteSup(net, &e, 1)
				supervisor.ReachNodes(sup, net.dial, func(context.Context, string) ([]string, error) {
					return []string{"127.0.0.3", "127.0.0.1", "127.0.0.2"}, nil
				})
				run, err := supervisor.Deploy(t.Context(), sup, def.With(n), streamsAt(supervisor.Remote{Addr: "dns:///localhost:7433"})[name])
				if err != nil {
					t.Fatal(err)
				}
				sessions := func() (of []int) {
					for i := range there {
						of = append(of, len(eventsOf[supervisor.SessionStarted](&there[i])))
					}
					return of
				}
				var got [][]int
				killed := 0
				for b, err := range run.Items(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, b)
					if killed < 2 && b[0] > (killed+1)*n/3 {
						at := -1
						for i := range there {
							if s, ended := eventsOf[supervisor.SessionStarted](&there[i]), eventsOf[supervisor.SessionEnded](&there[i]); len(s) > len(ended) {
								if at >= 0 {
									t.Errorf("two have it: %v", sessions())
								}
								at = i
							}
						}
						if at < 0 {
							t.Fatal("nobody has it")
						}
						die[at]()
						killed++
					}
				}
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
				wantBatches(t, got, n)
				if of := sessions(); slices.Min(of) != 1 || slices.Max(of) != 1 {
					t.Errorf("sessions: %v, want one after the other", of)
				}
			})
		})
	}
}

func TestF19AnUnreachableNodeOfAStreamIsReportedAfter10SAndGoesOnAfter15S(t *testing.T) {
	for name := range streamsAt(supervisor.Remote{}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := newPipeNet()
				var parted atomic.Int64
				begun := time.Now()
				def := inBatches(func(v int) {
					if v == 150 && parted.CompareAndSwap(0, int64(time.Since(begun))+1) {
						net.part(addr1, true)
						time.AfterFunc(12*time.Second, func() { net.part(addr1, false) })
					}
				})
				stop, _ := net.serve(t, addr1, supervisor.NodeConfig{Open: true}, def)
				defer stop()
				var e events
				got, err := collectAt(t, remoteSup(net, &e, 1), def.With(300), streamsAt(nodeAt(addr1))[name])
				if err != nil {
					t.Fatal(err)
				}
				wantBatches(t, got, 300)
				silent, again := eventsOf[supervisor.NodeSilent](&e), eventsOf[supervisor.NodeRestarted](&e)
				if len(silent) != 1 || len(again) != 1 {
					t.Fatalf("%d events of silence, %d of a restart", len(silent), len(again))
				}
				at := begun.Add(time.Duration(parted.Load()))
				if d := silent[0].Time.Sub(at); d < 9*time.Second || d > 12*time.Second {
					t.Errorf("it is told after %v", d)
				}
				if d := again[0].Time.Sub(at); d < 14*time.Second || d > 17*time.Second {
					t.Errorf("it goes on after %v", d)
				}
			})
		})
	}
}
