package actors

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"
)

// newEdge is an edge whose producer is the probe.
func newEdge(p *probe) *edge { return &edge{up: p.pid, sys: p.sys} }

func TestCreditIsAbsolute(t *testing.T) {
	e := &edge{}
	for _, c := range []struct {
		limit, sent uint64
		want        int
	}{{0, 0, 0}, {10, 0, 10}, {10, 4, 6}, {10, 10, 0}, {10, 9, 1}, {25, 10, 15}} {
		e.limit.Store(c.limit)
		if got := e.credit(c.sent); got != c.want {
			t.Errorf("limit %d, sent %d: credit %d, want %d", c.limit, c.sent, got, c.want)
		}
		if got := e.credit(c.sent); got != c.want {
			t.Errorf("limit %d, sent %d: credit %d when asked again", c.limit, c.sent, got)
		}
	}
}

func TestAStarvedProducerIsToldOncePerGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, busy := 0, make(chan bool)
		var e *edge
		p := newProbe(t, func(c actor.Context) {
			switch m := c.Message().(type) {
			case *edge:
				m.pending.Store(false)
				told++
			case chan bool:
				<-m
			}
		})
		e = newEdge(p)
		expect := func(want int, when string) {
			t.Helper()
			synctest.Wait()
			if told != want {
				t.Errorf("%s: told %d times, want %d", when, told, want)
			}
		}
		e.grant(5)
		expect(0, "a grant to one who has not asked")
		e.credit(3)
		e.grant(6)
		expect(0, "a grant to one who has credit")
		if n := e.credit(6); n != 0 {
			t.Fatalf("credit %d", n)
		}
		expect(0, "starved, no grant")
		e.grant(8)
		expect(1, "a grant to one who is starved")
		e.grant(9)
		expect(1, "another one before it has asked again")
		e.credit(9)
		e.credit(9)
		e.grant(10)
		expect(2, "a grant to one who is starved again")

		p.send(busy)
		synctest.Wait()
		for limit := uint64(11); limit < 20; limit++ {
			e.credit(limit - 1)
			e.grant(limit)
		}
		if n := p.box.UserMessageCount(); n != 1 {
			t.Errorf("%d messages wait, want 1", n)
		}
		busy <- true
		expect(3, "grants while the message is under way")
	})
}

// A producer and a consumer with windows of random size, at full speed: a wake-up that is lost is a deadlock of the
// bubble. The producer is never given a place beyond the limit.
func TestNoWakeUpOfAProducerIsLost(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			const n = 3000
			r := rand.New(rand.NewPCG(seed, 7))
			flow := make(chan int, n)
			sent := uint64(0) // owned by the producer
			var e *edge
			p := newProbe(t, func(c actor.Context) {
				switch m := c.Message().(type) {
				case *edge:
					m.pending.Store(false)
				case datum: // it has something to send for another reason
				default:
					return
				}
				for sent < n {
					credit := e.credit(sent)
					if credit < 0 || sent+uint64(credit) > e.limit.Load() {
						t.Errorf("credit %d at %d, limit %d", credit, sent, e.limit.Load())
					}
					if credit == 0 {
						return
					}
					k := min(credit, n-int(sent))
					sent += uint64(k)
					flow <- k
				}
			})
			e = newEdge(p)
			if seed%2 == 0 { // and now and then it has another reason to look
				go func() {
					for range 50 {
						p.box.PostUserMessage(datum(0))
						runtime.Gosched()
					}
				}()
			} else {
				p.send(datum(0))
			}
			limit := uint64(0)
			for left := uint64(0); left < n; {
				if next := left + 1 + r.Uint64N(4); next > limit {
					limit = next
					e.grant(limit)
				}
				if r.IntN(4) == 0 { // look again
					continue
				}
				if left == limit {
					continue
				}
				left += uint64(<-flow)
			}
		})
	}
}

// A window of one place, and a consumer that takes it at once: the producer asks while the limit rises.
func TestNoWakeUpOfAProducerIsLostAtArmsLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 100_000
		var sent atomic.Uint64
		got := make(chan bool, 1)
		var e *edge
		p := newProbe(t, func(c actor.Context) {
			m, ok := c.Message().(*edge)
			if !ok {
				return
			}
			m.pending.Store(false)
			for range 50 {
				for range sent.Load() % 512 { // it asks at every moment around that of the grant
				}
				k := e.credit(sent.Load())
				if k == 0 {
					return
				}
				sent.Add(uint64(k))
				select {
				case got <- true:
				default:
				}
			}
			c.Send(c.Self(), m) // let the mailbox breathe
		})
		e = newEdge(p)
		e.starved.Store(true)
		for left := uint64(0); left < n; left++ {
			e.grant(left + 1)
			for looks := 0; sent.Load() == left; looks++ {
				if looks > 300 {
					<-got
				}
			}
		}
	})
}
