package supervisor_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// With MaxWait, a group leaves when it is complete, when its epoch ends, or at the very moment at which its first item has
// waited that long: never later, never earlier, in whatever time the items come and whichever of them cost a worker.
func TestNoItemWaitsLongerThanItMay(t *testing.T) {
	for seed := range uint64(120) {
		synctest.Test(t, func(t *testing.T) { checkWaits(t, seed) })
	}
}

func checkWaits(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 13))
	n, epochs, keys, size, wait := 1+r.IntN(60), 1+r.IntN(3), 1+r.IntN(6), 2+r.IntN(6), time.Duration(1+r.IntN(9000))*time.Millisecond
	dies := r.IntN(2) * (2 + r.IntN(30))
	pauses := make([]time.Duration, n)
	for i := range pauses {
		pauses[i] = time.Duration(r.IntN(3)*r.IntN(2000)) * time.Millisecond
	}
	begun := time.Now()
	var mu sync.Mutex
	times := map[elem]time.Duration{} // at which items came, and item n of an epoch: its end
	note := func(v elem) {
		mu.Lock()
		defer mu.Unlock()
		times[v] = time.Since(begun)
	}
	source := stages.FromFunc(func(ctx context.Context, from stages.Position) iter.Seq2[elem, error] {
		return func(yield func(elem, error) bool) {
			for i, d := range pauses {
				time.Sleep(d)
				v := elem{i, from.Epoch}
				note(v)
				if !yield(v, nil) {
					return
				}
			}
			note(elem{n, from.Epoch})
		}
	})
	died := map[elem]bool{}
	run := deploy(t, define(func(g *stages.Graph) stages.Stream[pack] {
		return stages.AggregateByKey(stages.Source(g, "source", source, stages.Epochs(epochs)), "groups", func(v elem) int { return v.Value % keys },
			func(_ context.Context, key int) (*mortal, error) {
				return &mortal{bag{habits: &habits{size: size, keys: keys}}, func(v elem) bool {
					if dies == 0 || (v.Value+v.Epoch)%dies > 0 || died[v] {
						return false
					}
					died[v] = true
					return true
				}}, nil
			}, stages.MaxWait(wait))
	}), supervisor.Config{})
	seen := map[elem]bool{}
	for p, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		now, first := time.Since(begun), p.Items[0]
		for i, v := range p.Items {
			if seen[v] || v.Epoch != first.Epoch || v.Value != first.Value+i*keys {
				t.Fatalf("seed %d: item %d of %v", seed, i, p.Items)
			}
			seen[v] = true
		}
		mu.Lock()
		end, over := times[elem{n, first.Epoch}]
		waited := now - times[first]
		mu.Unlock()
		full, over := len(p.Items) == size, over && now == end
		if waited > wait || waited < wait && !full && !over {
			t.Errorf("seed %d: %v left after %v, want %v", seed, p.Items, waited, wait)
		}
	}
	if len(seen) != n*epochs {
		t.Errorf("seed %d: %d items, want %d", seed, len(seen), n*epochs)
	}
}

// A mortal is a bag whose Process may die.
type mortal struct {
	bag
	dies func(v elem) bool
}

func (m *mortal) Process(ctx context.Context, v elem, emit func(pack) bool) error {
	if m.dies(v) {
		panic("once")
	}
	return m.bag.Process(ctx, v, emit)
}
