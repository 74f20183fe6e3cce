package supervisor_test

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A fire is how the processes of some runs are killed: at points of all kinds, in turn.
type fire struct {
	dice *rand.Rand
	deck []int          // points that are still to come in this turn
	hit  map[string]int // how often a process was killed at a point of a kind

	outputs, kills int
	lasted         time.Duration
}

func newFire(t *testing.T) *fire {
	seed := uint64(max(*faultSeed, 1))
	t.Logf("-fault.seed %d", seed)
	return &fire{dice: rand.New(rand.NewPCG(seed, 0)), hit: map[string]int{}}
}

// report fails the test if points of a kind were never hit.
func (f *fire) report(t *testing.T, several bool) {
	t.Logf("%d processes killed in %v, %d outputs: %v", f.kills, f.lasted.Round(time.Millisecond), f.outputs, f.hit)
	for _, p := range points() {
		if f.hit[p.name] == 0 && (several || !p.several) {
			t.Errorf("no process was killed %s", p.name)
		}
	}
}

// A node is a copy of a region.
type copyOf struct {
	region string
	copy   int
}

// A battle is one run under fire.
type battle struct {
	*fire
	t   *testing.T
	run *supervisor.Run[[]int]

	mu      sync.Mutex
	changed sync.Cond      // of what follows
	up      map[copyOf]int // processes that have begun, and were not told to be gone
	begun   int            // how many have ever
	gone    int            // how many were told to be gone
	taken   int            // outputs
	held    bool           // nothing is taken for now
	over    bool
}

func (b *battle) observe(e supervisor.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case supervisor.NodeStarted:
		b.up[copyOf{e.Region, e.Copy}] = e.PID
		b.begun++
	case supervisor.NodeRestarted:
		delete(b.up, copyOf{e.Region, e.Copy})
		if b.gone++; !strings.Contains(e.Err.Error(), "signal: killed") {
			b.t.Errorf("gone, and not because it was killed: %v", e.Err)
		}
	case supervisor.EventsLost:
		b.t.Errorf("%+v", e)
	}
	b.changed.Broadcast()
}

// take is called with each output.
func (b *battle) take() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken++
	b.changed.Broadcast()
	for b.held && !b.over {
		b.changed.Wait()
	}
}

// await waits until a condition of what is guarded by mu holds. It returns false if the run is over before.
func (b *battle) await(what string, holds func() bool) bool {
	late := false
	defer time.AfterFunc(30*time.Second, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		late = true
		b.changed.Broadcast()
	}).Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !holds() {
		if b.over || late {
			if late {
				b.t.Errorf("for 30 s there was no %s: %+v", what, b.run.Stats())
			}
			return false
		}
		b.changed.Wait()
	}
	return true
}

// pause lets a random time pass.
func (b *battle) pause(most time.Duration) { <-time.After(time.Duration(b.dice.Int64N(int64(most)))) }

// nodes are the copies that are there, when there is one at least.
func (b *battle) nodes() (all []copyOf) {
	b.await("process", func() bool { return len(b.up) > 0 })
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Keys(b.up), func(x, y copyOf) int {
		return cmp.Or(strings.Compare(x.region, y.region), x.copy-y.copy)
	})
}

// one is a random node that is there.
func (b *battle) one() copyOf {
	all := b.nodes()
	if len(all) == 0 {
		return copyOf{}
	}
	return all[b.dice.IntN(len(all))]
}

// kill kills nodes that are there, and reports whether all were. It returns when it has become known.
func (b *battle) kill(victims ...copyOf) bool {
	b.mu.Lock()
	gone, hit := b.gone, 0
	for _, v := range victims {
		if pid := b.up[v]; pid != 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			hit++
		}
	}
	b.mu.Unlock()
	return b.await("death", func() bool { return b.gone >= gone+hit }) && hit > 0 && hit == len(victims)
}

// newcomer is a process that has not told yet that it is there.
func (b *battle) newcomer() (pid int) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(100 * time.Microsecond) {
		b.mu.Lock()
		known := slices.Collect(maps.Values(b.up))
		over := b.over
		b.mu.Unlock()
		for _, pid := range childrenOf(b.t) {
			if !slices.Contains(known, pid) {
				return pid
			}
		}
		if over {
			return 0
		}
	}
	return 0
}

// A point is one at which processes are killed.
type point struct {
	name    string
	several bool // only where there are several
	strike  func(b *battle) bool
}

func points() []point {
	return []point{
		{"at any time", false, func(b *battle) bool {
			b.pause(20 * time.Millisecond)
			return b.kill(b.one())
		}},
		{"when it was there", false, func(b *battle) bool {
			v := b.one()
			b.mu.Lock()
			begun := b.begun
			b.mu.Unlock()
			b.kill(v)
			return b.await("successor", func() bool { return b.begun > begun && b.up[v] != 0 }) && b.kill(v)
		}},
		{"at the first output behind a death", false, func(b *battle) bool {
			v := b.one()
			b.kill(v)
			b.mu.Lock()
			taken := b.taken
			b.mu.Unlock()
			return b.await("successor", func() bool { return b.up[v] != 0 }) &&
				b.await("output", func() bool { return b.taken > taken }) && b.kill(v)
		}},
		{"at an output", false, func(b *battle) bool {
			b.mu.Lock()
			until := b.taken + 1 + b.dice.IntN(500)
			b.mu.Unlock()
			return b.await("output", func() bool { return b.taken >= until }) && b.kill(b.one())
		}},
		{"before it was there", false, func(b *battle) bool {
			b.kill(b.one())
			pid := b.newcomer()
			if pid == 0 {
				return false
			}
			b.pause(6 * time.Millisecond)
			b.mu.Lock()
			gone := b.gone
			late := slices.Contains(slices.Collect(maps.Values(b.up)), pid)
			hit := syscall.Kill(pid, syscall.SIGKILL) == nil
			b.mu.Unlock()
			return b.await("death", func() bool { return !hit || b.gone > gone }) && hit && !late
		}},
		{"while nothing is taken", false, func(b *battle) bool {
			b.hold(true)
			defer b.hold(false)
			b.pause(20 * time.Millisecond)
			hit := b.kill(b.one())
			b.pause(10 * time.Millisecond)
			return hit
		}},
		{"while it stood still", false, func(b *battle) bool {
			v := b.one()
			b.mu.Lock()
			if pid := b.up[v]; pid != 0 {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
			b.mu.Unlock()
			b.pause(5 * time.Millisecond)
			return b.kill(v)
		}},
		{"together with all others", true, func(b *battle) bool {
			b.pause(10 * time.Millisecond)
			all := b.nodes()
			return b.kill(all...) && len(all) > 1
		}},
		{"while another was replaced", true, func(b *battle) bool {
			all := b.nodes()
			if len(all) < 2 {
				return false
			}
			b.dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			b.kill(all[0])
			b.pause(8 * time.Millisecond)
			b.mu.Lock()
			alone := b.up[all[0]] == 0
			b.mu.Unlock()
			return b.kill(all[1]) && alone
		}},
	}
}

func (b *battle) hold(held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = held
	b.changed.Broadcast()
}

// next is the next point of the deck.
func (f *fire) next() point {
	all := points()
	if len(f.deck) == 0 {
		f.deck = f.dice.Perm(len(all))
	}
	p := all[f.deck[0]]
	f.deck = f.deck[1:]
	return p
}

// kills as many processes as are wanted, and lets the run come to its end.
func (b *battle) strike(want, copies int) {
	gone := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.gone
	}
	for tries := 0; gone() < want && tries < 2*want && !b.t.Failed(); tries++ {
		p := b.next()
		for p.several && copies < 2 {
			p = b.next()
		}
		if !b.await("process", func() bool { return len(b.up) == copies }) {
			break
		}
		if p.strike(b) {
			b.hit[p.name]++
		}
	}
	b.run.Drain()
	if b.dice.IntN(2) == 0 {
		b.mu.Lock()
		for _, pid := range b.up {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		b.mu.Unlock()
	}
}

// fight runs c at a placement with so many processes, of which want are killed, and checks that nothing was lost, nothing came
// twice or in another order, that the counts add up and that nothing is left over.
func (f *fire) fight(t *testing.T, c quarry, at supervisor.Placement, copies, want int) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	leavesNothing(t)
	begun := time.Now()
	b := &battle{fire: f, t: t, up: map[copyOf]int{}}
	b.changed.L = &b.mu
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(want)*time.Second)
	defer cancel()
	c.N = 1 << 40
	var err error
	if b.run, err = supervisor.Deploy(ctx, immortal(b.observe), quarries.With(c), at); err != nil {
		t.Fatal(err)
	}
	defer b.run.Stop()
	struck := make(chan bool)
	go func() {
		defer close(struck)
		b.strike(want, copies)
	}()
	var got []int
	for v, e := range b.run.Items(ctx) {
		if err = e; err == nil {
			got = append(got, v...)
			b.take()
		}
	}
	b.mu.Lock()
	b.over = true
	b.changed.Broadcast()
	b.mu.Unlock()
	<-struck
	if err != nil {
		t.Errorf("after %d outputs and %d deaths: %v", len(got), b.gone, err)
	}
	if err := b.run.Stop(); err != nil {
		t.Error(err)
	}
	if e := b.run.Wait(t.Context()); e != err {
		t.Errorf("ended with %v, the loop with %v", e, err)
	}
	f.outputs, f.kills, f.lasted = f.outputs+len(got), f.kills+b.gone, f.lasted+time.Since(begun)
	s := b.run.Stats()
	checkEnd(t, s, err)
	if err := c.check(got, s); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("left over: %v, %v", files, err)
	}
	t.Logf("%d processes killed, %d outputs, %v", b.gone, len(got), time.Since(begun).Round(time.Millisecond))
}

// immortal allows for any number of deaths.
func immortal(observe func(supervisor.Event)) *supervisor.Supervisor {
	return children.With(supervisor.Config{OnEvent: observe, MaxDeaths: 1 << 20,
		Restart: stages.Restart{Max: 1 << 20, First: time.Microsecond, Pause: time.Millisecond}})
}
