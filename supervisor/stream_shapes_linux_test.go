package supervisor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// An ending is what a run of a case gives.
type ending struct {
	out, failed []string
	err         error
	stats       supervisor.Stats
	kills       int
}

func (c *partCase) run(t *testing.T, at supervisor.Placement, seed uint64, kills int) (e ending) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var mu sync.Mutex
	sup := children.With(supervisor.Config{
		MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: time.Microsecond, Pause: time.Microsecond},
		OnEvent: func(ev supervisor.Event) {
			if f, ok := ev.(supervisor.ItemFailed); ok {
				mu.Lock()
				e.failed = append(e.failed, fmt.Sprint(f.Err.Stage, f.Err.Item))
				mu.Unlock()
			}
		},
	})
	run, err := supervisor.Deploy(ctx, sup, parted.With(partConfig{c.name, c.n}), at)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 2))
	next := 1 + r.IntN(200)
	for v, err := range run.Items(ctx) {
		if e.err = err; err != nil {
			if c.fails {
				break
			}
			t.Fatal(err)
		}
		if e.out = append(e.out, v); e.kills < kills && len(e.out) >= next {
			for _, pid := range childrenOf(t) {
				syscall.Kill(pid, syscall.SIGKILL)
				e.kills++
			}
			next = len(e.out) + 1 + r.IntN(1500)
		}
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	e.stats = run.Stats()
	checkEnd(t, e.stats, e.err)
	if c.any {
		slices.Sort(e.out)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(e.failed)
	return e
}

func TestWhatAnItemBecomesComesOnceWhateverDies(t *testing.T) {
	for _, c := range partCases() {
		t.Run(c.name, func(t *testing.T) {
			want := c.run(t, nil, 0, 0)
			places := map[string]supervisor.Placement{"all of it": supervisor.Subprocess{}}
			if c.fed != "" {
				places["fed"] = supervisor.Regions{{From: c.fed, To: "name", On: supervisor.Subprocess{}}}
			}
			for name, at := range places {
				t.Run(name, func(t *testing.T) {
					for _, kills := range []int{0, 12} {
						got := c.run(t, at, 7, kills)
						t.Log(got.kills, "killed")
						c.compare(t, &got, &want)
					}
				})
			}
		})
	}
}

func (c *partCase) compare(t *testing.T, got, want *ending) {
	t.Helper()
	for i := range min(len(got.out), len(want.out)) {
		if got.out[i] != want.out[i] {
			t.Errorf("item %d is %v, want %v", i, got.out[i], want.out[i])
			break
		}
	}
	if len(got.out) != len(want.out) {
		t.Errorf("%d items, want %d", len(got.out), len(want.out))
	}
	if g, w := text(got.err), text(want.err); g != w {
		t.Errorf("error %v, want %v", g, w)
	}
	if !slices.Equal(got.failed, want.failed) {
		t.Errorf("%d have failed, want %d: %v, want %v", len(got.failed), len(want.failed), head(got.failed), head(want.failed))
	}
	g, w := &got.stats, &want.stats
	a := fmt.Sprint(g.Yielded, g.Delivered, g.Filtered, g.Failed, g.InFlight, g.Outputs)
	b := fmt.Sprint(w.Yielded, w.Delivered, w.Filtered, w.Failed, w.InFlight, w.Outputs)
	if a != b && !c.loose && !c.fails {
		t.Errorf("yielded, delivered, filtered, failed, in flight, outputs: %v, want %v", a, b)
	}
}

func head(all []string) []string { return all[:min(len(all), 5)] }

func TestWhatIsMadeWithoutAnEndLeavesOnTheWay(t *testing.T) {
	for name, at := range map[string]supervisor.Placement{
		"all of it": supervisor.Subprocess{}, "flat": supervisor.Regions{{From: "source", To: "flat", On: supervisor.Subprocess{}}},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := supervisor.Deploy(t.Context(), often(), bottomless.With(1), at)
			if err != nil {
				t.Fatal(err)
			}
			next := 0
			for v, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if v != next {
					t.Fatalf("item %d is %d", next, v)
				}
				if next++; next%20_000 == 0 {
					killChildren(t)
				}
				if next == 110_000 {
					break
				}
			}
			if s := run.Stats(); s.Yielded > 1 || s.Outputs < 100_000 {
				t.Errorf("%d items of the source, and %d outputs", s.Yielded, s.Outputs)
			}
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
