package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/internal/plan"
)

// A passage is one run of a gate: a writer that follows a script of items and marks, and a reader that writes down what
// it has seen.
type passage struct {
	gate   *plan.Gate
	ring   []int
	window uint64
	poked  chan bool
	passed atomic.Int64 // marks that the reader is done with
	read   atomic.Uint64
	from   uint64    // the end comes when so many items have been read
	reach  chan bool // closed then
	script []int     // an item by its value, a mark by the negative of its number
	seen   []int
}

// The script's mark with number n carries n in its error.
type numbered int

func (n numbered) Error() string { return fmt.Sprint(int(n)) }

func newPassage(r *rand.Rand, n int) *passage {
	p := &passage{poked: make(chan bool, 1), reach: make(chan bool), window: 1 + uint64(r.IntN(8)), ring: make([]int, 8)}
	p.gate = plan.NewGate(func() {
		select {
		case p.poked <- true:
		default:
		}
	})
	marks := r.IntN(4) // of ten
	for i := 1; i <= n; i++ {
		if r.IntN(10) < marks {
			p.script = append(p.script, -i)
		} else {
			p.script = append(p.script, i)
		}
	}
	return p
}

// write follows the script and returns how far it has come: what it has published, whether or not it was told to end.
func (p *passage) write() (n int, err error) {
	g := p.gate
	marks := int64(0)
	t := g.Tail()
	limit := uint64(0)
	for i, x := range p.script {
		more := true
		if x < 0 {
			made := g.Passed()
			if more = g.Mark(plan.Mark{Err: numbered(-x)}); g.Passed() == made {
				return i, nil // it was shut before the mark was in
			}
			if marks++; marks-p.passed.Load() > 16 {
				return i, fmt.Errorf("%d marks wait", marks-p.passed.Load())
			}
		} else {
			if t >= limit {
				if limit = g.Room(t); limit == 0 {
					return i, nil
				}
			}
			p.ring[t&7] = x
			if ahead := t + 1 - p.read.Load(); ahead > p.window {
				return i, fmt.Errorf("%d items ahead, want at most %d", ahead, p.window)
			}
			t++
			more = g.Put(t - 1)
		}
		if !more {
			return i + 1, nil
		}
	}
	g.Mark(plan.Mark{Ends: true})
	return len(p.script), nil
}

// take reads until the end, or until stop says so after having found nothing. Between two looks the reader may be sated.
func (p *passage) take(r *rand.Rand, ended <-chan bool) {
	g := p.gate
	head := uint64(0)
	g.Limit(p.window)
	for {
		if r.IntN(16) == 0 {
			g.Sated()
		}
		to, m := g.Ready(head)
		switch {
		case m != nil:
			p.passed.Add(1) // before there is room for another one
			g.Pass()
			if m.Ends {
				return
			}
			var n numbered
			errors.As(m.Err, &n)
			p.seen = append(p.seen, -int(n))
		case to > head:
			for range 1 + r.Uint64N(to-head) {
				p.seen = append(p.seen, p.ring[head&7])
				p.ring[head&7] = 0
				head++
			}
			if was := p.read.Swap(head); was < p.from && head >= p.from {
				close(p.reach)
			}
			g.Limit(head + p.window)
		default:
			select {
			case <-p.poked:
			case <-ended:
				if to, m := g.Ready(head); to == head && m == nil {
					return
				}
			}
		}
	}
}

// run has end called while the two are at it, and checks that what was published was seen, once and in order. A wake-up
// that is lost is a deadlock of the bubble.
func (p *passage) run(t *testing.T, r *rand.Rand, end func()) (published int) {
	t.Helper()
	ended := make(chan bool)
	var err error
	go func() {
		defer close(ended)
		published, err = p.write()
	}()
	if end != nil {
		go end()
	}
	p.take(r, ended)
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	if len(p.seen) != published {
		t.Fatalf("%d of %d items and marks were seen", len(p.seen), published)
	}
	for i, x := range p.seen {
		if x != p.script[i] {
			t.Fatalf("seen %d at %d, want %d", x, i, p.script[i])
		}
	}
	return published
}

func TestAGateLosesNothingAndNoWakeUp(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			const n = 1000
			if got := newPassage(r, n).run(t, r, nil); got != n {
				t.Errorf("seed %d: %d published, want %d", seed, got, n)
			}
		})
	}
}

// The two at arm's length, a single place between them. The writer comes for the next one at every moment around that at
// which the limit rises; the reader looks many times before it waits itself.
func TestNoWakeUpOfAParkedWriterIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200_000
		poked := make(chan bool, 1)
		g := plan.NewGate(func() {
			select {
			case poked <- true:
			default:
			}
		})
		go func() {
			for t := range uint64(n) {
				for range t % 512 {
				}
				g.Room(t)
				g.Put(t)
			}
		}()
		for head := uint64(0); head < n; head++ {
			g.Limit(head + 1)
			for looks := 0; g.Tail() == head; looks++ {
				if looks < 300 {
					continue
				}
				if to, _ := g.Ready(head); to == head {
					<-poked
				}
			}
		}
	})
}

// What was accepted before the gate was shut or drained is there to be taken.
func TestAGateThatEndsKeepsWhatItHasAccepted(t *testing.T) {
	for name, end := range map[string]func(*plan.Gate){"shut": (*plan.Gate).Shut, "drained": (*plan.Gate).Drain} {
		t.Run(name, func(t *testing.T) {
			early := 0
			for seed := range uint64(150) {
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 5))
					p := newPassage(r, 2000)
					p.from = 1 + r.Uint64N(200)
					published := p.run(t, r, func() {
						<-p.reach
						end(p.gate)
					})
					if published < len(p.script) {
						early++
					}
				})
			}
			if early == 0 {
				t.Error("the gate has never ended before its source")
			}
		})
	}
}

// A source of nothing but failures and empty epochs has nothing but marks.
func TestAGateOfNothingButMarks(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			p := newPassage(r, 500)
			for i := range p.script {
				p.script[i] = -i - 1
			}
			if got := p.run(t, r, nil); got != 500 {
				t.Errorf("%d published, want 500", got)
			}
		})
	}
}

// Drain and the worker's Stay both change the state of a gate at which an epoch is being skipped.
func TestDrainIsNotLostWhileAnEpochIsSkipped(t *testing.T) {
	for i := range 300_000 {
		g := plan.NewGate(func() {})
		g.Skip(0)
		var wg sync.WaitGroup
		wg.Go(func() { g.Stay(0) })
		g.Drain()
		wg.Wait()
		if g.Open() {
			t.Fatalf("the source is still wanted after Drain, in round %d", i)
		}
	}
}
