package supervisor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// childPIDs are the processes that this one has started and not waited for.
func childPIDs(t testing.TB) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// A footprint is what a process has of what a run must give back.
type footprint struct{ children, descriptors, memfds, goroutines int }

func footprintOf(t testing.TB) (f footprint) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return footprint{len(childPIDs(t)), len(fds), strings.Count(string(maps), "memfd:"), runtime.NumGoroutine()}
}

// leavesNothing checks at the end of the test that nothing is left over. Goroutines that have nothing more to do may take a moment
// to be gone.
func leavesNothing(t *testing.T) {
	before := footprintOf(t)
	t.Cleanup(func() {
		var now footprint
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
			if now = footprintOf(t); now.children == 0 && now.descriptors <= before.descriptors && now.memfds <= before.memfds && now.goroutines <= before.goroutines {
				return
			}
		}
		t.Errorf("before %+v, now %+v", before, now)
	})
}

// A killer kills the children of a run as its outputs come.
type killer struct {
	t    *testing.T
	dice *rand.Rand
	next int // output at which it kills

	mu sync.Mutex
	up map[int]bool // guarded by mu: the copies that are there

	kills, both, early int
}

func (k *killer) observe(e supervisor.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e := e.(type) {
	case supervisor.NodeStarted:
		k.up[e.Copy] = true
	case supervisor.NodeRestarted:
		delete(k.up, e.Copy)
	}
}

// ready reports whether as many nodes are there as there should be.
func (k *killer) ready(copies int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.up) == copies
}

// strike is called with each output.
func (k *killer) strike(outputs, copies int) {
	if outputs < k.next || !k.ready(copies) {
		return
	}
	k.next = outputs + k.dice.IntN(4000)
	pids := childPIDs(k.t)
	if len(pids) == 0 {
		return
	}
	all := k.dice.IntN(3) == 0
	if !all {
		pids = pids[k.dice.IntN(len(pids)):][:1]
	} else if len(pids) > 1 {
		k.both++
	}
	k.kill(pids)
	if k.dice.IntN(4) != 0 {
		return
	}
	for { // the next one, too, as soon as it is there
		later := slices.DeleteFunc(childPIDs(k.t), func(pid int) bool { return slices.Contains(pids, pid) })
		if len(later) == 0 || copies > 1 && !all {
			if copies > 1 && !all {
				return
			}
			runtime.Gosched()
			continue
		}
		<-time.After(time.Duration(k.dice.IntN(15_000)) * time.Microsecond)
		k.kill(later)
		k.early++
		return
	}
}

func (k *killer) kill(pids []int) {
	for _, pid := range pids {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			k.kills++
		}
	}
}

// Children are killed at any moment, one or all, again while they are being replaced: each output comes exactly once, in order
// where that is promised, and nothing is left over.
func TestF11KillsCostNothing(t *testing.T) {
	leavesNothing(t)
	seed := uint64(max(*faultSeed, 1))
	t.Logf("-fault.seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	child := supervisor.Subprocess{}
	pool := supervisor.Pool{Size: 2, Of: child}
	var again, twice, both, early, kills int
	cases := []struct {
		s      shape
		on     supervisor.Placement
		copies int
	}{
		{shape{Of: "maps", Workers: 4, Order: true}, child, 1},
		{shape{Of: "maps", Workers: 4}, child, 1},
		{shape{Of: "many", Workers: 4, Order: true}, child, 1},
		{shape{Of: "maps", Workers: 2, Order: true}, pool, 2},
		{shape{Of: "many", Workers: 2}, pool, 2},
		{shape{Of: "tee", Workers: 1}, pool, 2},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s, ordered %v, %d copies", c.s.Of, c.s.Order || c.s.Workers == 1, c.copies), func(t *testing.T) {
			k := &killer{t: t, dice: dice, up: map[int]bool{}}
			sup := children.With(supervisor.Config{OnEvent: k.observe, MaxDeaths: 1 << 20, Restart: stages.Restart{Max: 1 << 20, First: time.Millisecond, Pause: time.Millisecond}})
			c.s.N = 1 << 40
			run, err := supervisor.Deploy(t.Context(), sup, shapes.With(c.s), regionAt("first", "last", c.on))
			if err != nil {
				t.Fatal(err)
			}
			defer run.Stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			want := max(*faultKills/len(cases), 1)
			var got []int
			for v, err := range run.Items(ctx) {
				if err != nil {
					t.Fatalf("after %d outputs and %d kills: %v", len(got), k.kills, err)
				}
				got = append(got, v.V)
				if again += min(v.Tried, 1); v.Tried > 1 {
					twice++
				}
				if k.kills < want {
					k.strike(len(got), c.copies)
				} else if k.kills >= want {
					run.Drain()
				}
			}
			kills, both, early = kills+k.kills, both+k.both, early+k.early
			wantOnce(t, c.s, got, int(run.Stats().Yielded))
			checkEnd(t, run.Stats(), nil)
		})
	}
	t.Logf("%d kills: %d outputs of later attempts, %d of later ones than the second, %d times all copies, %d times while they were being replaced", kills, again, twice, both, early)
	if again == 0 || twice == 0 || both == 0 || early == 0 {
		t.Error("not all of what may happen has happened")
	}
}

// wantOnce wants all that comes of inputs 0 to n-1, each exactly once, in order if that is promised.
func wantOnce(t *testing.T, s shape, got []int, n int) {
	t.Helper()
	var want []int
	for i := range n {
		want = append(want, madeOf(s.Of, i)...)
	}
	if s.Workers > 1 && !s.Order {
		slices.Sort(got)
	}
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("of %d inputs: output %d is %d, want %d", n, i, got[i], want[i])
			}
		}
		t.Fatalf("of %d inputs: %d outputs, want %d", n, len(got), len(want))
	}
}
