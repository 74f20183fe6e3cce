package plan_test

import (
	"runtime"
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

// perItem reports a benchmark's time by item: one iteration has handled n of them.
func perItem(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
	b.ReportAllocs()
}

func BenchmarkRange(b *testing.B) {
	const n = 512
	var one, many, kids plan.IDs
	var tally plan.Tally
	one.Source(0, 0, 0, n)
	for i := range int64(n) {
		many.Source(0, 0, 2*i, 1)
	}
	for i := range n / 4 {
		c := one.From(i)
		kids.Kids(&tally, c.Peek(), 4)
	}
	for _, c := range []struct {
		name string
		ids  *plan.IDs
	}{{"one run", &one}, {"families of 4", &kids}, {"runs of one item", &many}} {
		b.Run(c.name, func(b *testing.B) {
			var dst plan.IDs
			for b.Loop() {
				dst.Reset()
				dst.Range(c.ids, 0, n)
			}
			perItem(b, n)
		})
	}
}

func BenchmarkSettle(b *testing.B) {
	const n = 512
	var one plan.IDs
	one.Source(0, 0, 0, n)
	b.Run("items of a source", func(b *testing.B) {
		var t plan.Tally
		var a plan.Account
		for b.Loop() {
			t.Settle(&one, 0, n, plan.Delivered)
			a.Add(&t)
		}
		perItem(b, n)
	})
	b.Run("families of 4", func(b *testing.B) {
		var t plan.Tally
		var dst plan.IDs
		for b.Loop() {
			dst.Reset()
			for c, i := one.From(0), 0; i < n/4; i++ {
				dst.Kids(&t, c.Next(), 4)
			}
			t.Settle(&dst, 0, n, plan.Delivered)
		}
		perItem(b, n)
	})
}

// The source's iterator on one side of the gate, its actor on the other, a ring between them; the same over a channel
// as large as the ring.
func BenchmarkGate(b *testing.B) {
	const n, ring = 1 << 16, 1024
	b.Run("gate", func(b *testing.B) {
		poked := make(chan bool, 1)
		g := plan.NewGate(func() {
			select {
			case poked <- true:
			default:
			}
		})
		items := make([]int, ring)
		head := uint64(0)
		for b.Loop() {
			end := head + n
			go func(t uint64) {
				for limit := uint64(0); t < end; t++ {
					if t >= limit {
						limit = g.Room(t)
					}
					items[t&(ring-1)] = int(t)
					g.Put(t)
				}
			}(head)
			g.Limit(head + ring)
			for sum := 0; head < end; {
				to, _ := g.Ready(head)
				if to == head {
					<-poked
				}
				for granted := head; head < to; head++ {
					sum += items[head&(ring-1)]
					if head-granted >= ring/2 {
						g.Limit(head + ring)
						granted = head
					}
				}
				g.Limit(head + ring)
				runtime.KeepAlive(sum)
			}
		}
		perItem(b, n)
	})
	b.Run("channel", func(b *testing.B) {
		c := make(chan int, ring)
		for b.Loop() {
			go func() {
				for i := range n {
					c <- i
				}
			}()
			for range n {
				<-c
			}
		}
		perItem(b, n)
	})
}
