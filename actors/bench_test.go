package actors

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// countTo tells done each time that another k messages have come.
func countTo(k int, n *int, done chan bool) func(actor.Context) {
	return func(c actor.Context) {
		if _, ok := c.Message().(*late); !ok {
			return
		}
		if *n++; *n%k == 0 {
			done <- true
		}
	}
}

func perMessage(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/msg")
	b.ReportAllocs()
}

// One sends, the other receives.
func BenchmarkOneWay(b *testing.B) {
	const k = 1024
	b.Run("mailbox", func(b *testing.B) {
		done, n := make(chan bool), 0
		p := newProbe(b, countTo(k, &n, done))
		m := &late{}
		for b.Loop() {
			for range k {
				p.sys.Root.Send(p.pid, m)
			}
			<-done
		}
		perMessage(b, k)
	})
	b.Run("channel", func(b *testing.B) {
		done, c := make(chan bool), make(chan any, k)
		go func() {
			n := 0
			for range c {
				if n++; n%k == 0 {
					done <- true
				}
			}
		}()
		var m any = &late{}
		for b.Loop() {
			for range k {
				c <- m
			}
			<-done
		}
		close(c)
		perMessage(b, k)
	})
}

// A message there and one back: what a piece of work costs that is alone.
func BenchmarkPingPong(b *testing.B) {
	const k = 256
	b.Run("mailbox", func(b *testing.B) {
		done, n := make(chan bool), 0
		var there *probe
		back := newProbe(b, func(c actor.Context) {
			if m, ok := c.Message().(*late); ok {
				if n++; n%k == 0 {
					done <- true
				} else {
					c.Send(there.pid, m)
				}
			}
		})
		there = newProbeIn(b, back.sys, func(c actor.Context) {
			if m, ok := c.Message().(*late); ok {
				c.Send(back.pid, m)
			}
		})
		m := &late{}
		for b.Loop() {
			there.send(m)
			<-done
		}
		perMessage(b, 2*k)
	})
	b.Run("channel", func(b *testing.B) {
		there, back := make(chan any, 1), make(chan any, 1)
		go func() {
			for m := range there {
				back <- m
			}
		}()
		var m any = &late{}
		for b.Loop() {
			for range k {
				there <- m
				<-back
			}
		}
		close(there)
		perMessage(b, 2*k)
	})
}

func BenchmarkCredit(b *testing.B) {
	e := &edge{}
	e.limit.Store(1 << 40)
	sent := uint64(0)
	for b.Loop() {
		sent += uint64(min(e.credit(sent), 1))
	}
	perMessage(b, 1)
}
