package actors

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"
)

// What the actors of these tests are sent: a number in the data lane, and one in the control lane.
type (
	datum   int
	command int
)

func (command) control() {}

// A probe is an actor behind our mailbox that hands what it receives to a function, and that is restarted when it dies.
type probe struct {
	sys     *actor.ActorSystem
	pid     *actor.PID
	box     *mailbox
	ended   atomic.Int32
	receive func(c actor.Context)

	mu   sync.Mutex
	dead []any // guarded by mu
}

// reviver is the parent of a probe.
type reviver struct {
	child *probe
	box   *mailbox
}

func (r reviver) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started:
		p := r.child
		p.box = newMailbox(func() { p.ended.Add(1) }, p.bury)
		p.pid = c.Spawn(actor.PropsFromProducer(func() actor.Actor { return actor.ReceiveFunc(p.Receive) },
			actor.WithMailbox(func() actor.Mailbox { return p.box })))
	case *actor.Stopped:
		r.box.close()
	}
}

func (r reviver) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	sup.RestartChildren(child)
}

func (p *probe) Receive(c actor.Context) {
	p.receive(c)
	if _, ok := c.Message().(*actor.Stopped); ok {
		p.box.close()
	}
}

func (p *probe) bury(m any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = append(p.dead, m)
}

func (p *probe) deadLetters() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dead)
}

func (p *probe) send(m ...any) {
	for _, x := range m {
		p.sys.Root.Send(p.pid, x)
	}
}

// newProbe starts a probe that is gone when the test ends.
func newProbe(t testing.TB, receive func(c actor.Context)) *probe {
	t.Helper()
	return newProbeIn(t, NewSystem(nil).sys, receive)
}

func newProbeIn(t testing.TB, sys *actor.ActorSystem, receive func(c actor.Context)) *probe {
	t.Helper()
	p := &probe{sys: sys, receive: receive}
	gone := make(chan bool)
	box := newMailbox(func() { close(gone) }, func(any) {})
	parent := p.sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return reviver{p, box} },
		actor.WithMailbox(func() actor.Mailbox { return box })))
	t.Cleanup(func() {
		p.sys.Root.Stop(parent)
		<-gone
	})
	return p
}

// A recorder writes down the messages of the tests.
type recorder struct {
	got []any // owned by the actor; read when it is parked
}

func (r *recorder) receive(c actor.Context) {
	switch m := c.Message().(type) {
	case datum, command:
		r.got = append(r.got, m)
	}
}

func numbers(n int) (data []any) {
	for i := range n {
		data = append(data, datum(i))
	}
	return data
}

func TestMessagesOfALaneComeInTheOrderTheyWereSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newProbe(t, r.receive)
		want := numbers(2000)
		p.send(want...)
		synctest.Wait()
		if !slices.Equal(r.got, want) {
			t.Errorf("%d messages, or not in order", len(r.got))
		}
	})
}

// hold sends a message that keeps the actor busy until the function it returns is called.
func hold(p *probe) (release func()) {
	c := make(chan bool)
	receive := p.receive
	p.receive = func(ctx actor.Context) {
		if ctx.Message() == c {
			<-c
			return
		}
		receive(ctx)
	}
	p.send(c)
	synctest.Wait()
	return func() { close(c); synctest.Wait() }
}

func TestControlOvertakesData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newProbe(t, r.receive)
		release := hold(p)
		p.send(datum(1), datum(2), command(1), datum(3), command(2))
		if n := p.box.UserMessageCount(); n != 5 {
			t.Errorf("%d messages wait, want 5", n)
		}
		release()
		if want := []any{command(1), command(2), datum(1), datum(2), datum(3)}; !slices.Equal(r.got, want) {
			t.Errorf("got %v, want %v", r.got, want)
		}
	})
}

func TestSystemMessagesOvertakeBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		p := newProbe(t, func(c actor.Context) {
			switch c.Message().(type) {
			case datum:
				order = append(order, "data")
			case command:
				order = append(order, "control")
			case *actor.Restarting:
				order = append(order, "restarting")
			}
		})
		release := hold(p)
		p.send(datum(1), command(1))
		p.box.PostSystemMessage(&actor.Restart{})
		release()
		if want := []string{"restarting", "control", "data"}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}

// A batch of messages that has been taken already is no reason to let one wait.
func TestASystemMessageOvertakesWhatHasBeenTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		busy := make(chan bool)
		p := newProbe(t, func(c actor.Context) {
			switch c.Message().(type) {
			case datum:
				order = append(order, "data")
			case command:
				order = append(order, "control")
			case *actor.Restarting:
				order = append(order, "restarting")
			case chan bool:
				<-busy
			}
		})
		release := hold(p)
		p.send(datum(1), busy, datum(2), datum(3))
		release() // all four are taken, and the second keeps the actor busy
		p.box.PostSystemMessage(&actor.Restart{})
		p.send(command(1))
		close(busy)
		synctest.Wait()
		if got := strings.Join(order[:3], " "); got != "data restarting control" && got != "data restarting data" || len(order) != 5 {
			t.Errorf("got %v", order)
		}
	})
}

// Neither a panic nor Goexit costs a message, its place or the order, in any of the lanes.
func TestAnActorThatDiesLosesNoMessage(t *testing.T) {
	for name, die := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				fatal := map[any]bool{datum(0): true, command(0): true}
				for range 60 {
					fatal[datum(r.IntN(500))] = true
					fatal[command(r.IntN(500))] = true
				}
				var data, commands []any
				started := 0
				p := newProbe(t, func(c actor.Context) {
					switch m := c.Message().(type) {
					case datum:
						data = append(data, m)
					case command:
						commands = append(commands, m)
					case *actor.Started:
						started++
					case nil:
						t.Error("a message that is none")
					}
					if fatal[c.Message()] {
						die()
					}
				})
				for i := range 500 {
					p.send(datum(i), command(i))
					if i%50 == 0 {
						synctest.Wait()
					}
				}
				synctest.Wait()
				if len(data) != 500 || len(commands) != 500 || started != 1+len(fatal) {
					t.Fatalf("%d data, %d control and %d lives, want 500, 500 and %d", len(data), len(commands), started, 1+len(fatal))
				}
				for i := range 500 {
					if data[i] != datum(i) || commands[i] != command(i) {
						t.Fatalf("at %d: %v and %v", i, data[i], commands[i])
					}
				}
				if p.ended.Load() != 0 || len(p.deadLetters()) != 0 {
					t.Error("the mailbox has ended")
				}
			})
		})
	}
}

// goroutineName is "goroutine 17".
func goroutineName() string {
	var buf [64]byte
	name, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte(" ["))
	return string(name)
}

func TestGoexitIsFollowedByANewGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[datum]string{}
		p := newProbe(t, func(c actor.Context) {
			if m, ok := c.Message().(datum); ok {
				if seen[m] = goroutineName(); m == 2 {
					runtime.Goexit()
				}
			}
		})
		p.send(datum(1), datum(2), datum(3), datum(4))
		synctest.Wait()
		if seen[1] != seen[2] || seen[2] == seen[3] || seen[3] != seen[4] || seen[4] == "" {
			t.Errorf("goroutines %v", seen)
		}
	})
}

// A panic in Started happens in the spawner's goroutine, which must not notice.
func TestAnActorThatDiesInStartedIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		lives := 0
		p := newProbe(t, func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				if lives++; lives < 4 {
					panic("mine")
				}
			}
			r.receive(c)
		})
		p.send(datum(1))
		synctest.Wait()
		if lives != 4 || !slices.Equal(r.got, []any{datum(1)}) {
			t.Errorf("%d lives, got %v", lives, r.got)
		}
	})
}

func TestStartedIsHandledBeforeSpawnReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in string
		newProbe(t, func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				in = goroutineName()
			}
		})
		if in != goroutineName() {
			t.Errorf("Started was handled in %q", in)
		}
	})
}

// synctest.Wait returns only when every goroutine is blocked: a mailbox that spins would never let it.
func TestAnIdleMailboxIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newProbe(t, r.receive)
		for range 3 {
			p.send(datum(1))
			synctest.Wait()
			p.box.mu.Lock()
			if !p.box.parked {
				t.Error("it is not parked")
			}
			p.box.mu.Unlock()
		}
	})
}

// FIFO holds for each producer and lane, and nothing is lost, however many send.
func TestManyProducersKeepTheirOrder(t *testing.T) {
	const producers, each = 8, 3000
	var data, commands [producers]int // next expected
	all := make(chan bool)
	got := 0
	p := newProbe(t, func(c actor.Context) {
		next, n := 0, 0
		switch m := c.Message().(type) {
		case datum:
			n, next = int(m)/each, data[int(m)/each]
			data[n]++
			if int(m)%each != next {
				t.Errorf("producer %d: data %d, want %d", n, int(m)%each, next)
			}
		case command:
			n, next = int(m)/each, commands[int(m)/each]
			commands[n]++
			if int(m)%each != next {
				t.Errorf("producer %d: control %d, want %d", n, int(m)%each, next)
			}
		default:
			return
		}
		if got++; got == 2*producers*each {
			close(all)
		}
	})
	var wg sync.WaitGroup
	for k := range producers {
		wg.Go(func() {
			for i := range each {
				p.send(datum(k*each+i), command(k*each+i))
			}
		})
	}
	wg.Wait()
	<-all
}
