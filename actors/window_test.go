package actors

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// windowOf is the window of a stage of mailbox items at once, which may hold held items back.
func windowOf(mailbox, held, buffer int, clock func() time.Duration) window {
	s := &plan.Stage{Mailbox: mailbox, MaxHeld: held, Buffer: buffer}
	return newWindow(s.Window(), clock)
}

// noClock is that of a window which has no use for one.
func noClock() time.Duration { panic("a look at the clock") }

// swift is the clock of a flow that is as fast as a window can follow.
func swift() func() time.Duration {
	now := time.Duration(0)
	return func() time.Duration { now += growEvery; return now }
}

// spread moves left on by single places until the window grants more, and returns how many that took.
func spread(t *testing.T, w *window, left *uint64) (steps int, limit uint64) {
	t.Helper()
	for steps = 1; steps < 5000; steps++ {
		*left++
		if limit, ok := w.next(*left); ok {
			return steps, limit
		}
	}
	t.Fatal("the window grants nothing more")
	return 0, 0
}

func TestAFixedWindowGrantsByHalfTheWaitingRoom(t *testing.T) {
	for _, c := range []struct{ mailbox, held, buffer, steps int }{
		{1, 0, 0, 1}, {1, 0, 1, 1}, {1, 0, 2, 1}, {1, 0, 3, 2}, {1, 0, 8, 4}, {4, 0, 8, 4}, {4, 0, 100, 50}, {1, 32, 0, 1}, {1, 32, 10, 5}, {1, 1024, 7, 4},
	} {
		t.Run(fmt.Sprintf("mailbox %d, held %d, buffer %d", c.mailbox, c.held, c.buffer), func(t *testing.T) {
			w := windowOf(c.mailbox, c.held, c.buffer, noClock)
			size := uint64(c.mailbox + c.held + c.buffer)
			if w.granted != size {
				t.Fatalf("%d granted at first, want %d", w.granted, size)
			}
			left := uint64(0)
			for range 50 {
				steps, limit := spread(t, &w, &left)
				if steps != c.steps || limit != left+size {
					t.Fatalf("granted %d after %d places at %d, want %d after %d", limit, steps, left, left+size, c.steps)
				}
			}
			w.weigh(1<<40, 1)
			if _, limit := spread(t, &w, &left); limit != left+size {
				t.Error("a fixed window has been weighed")
			}
		})
	}
}

func TestAWindowFollowsTheFlow(t *testing.T) {
	now := time.Duration(0)
	w := windowOf(1, 0, plan.Flow, func() time.Duration { return now })
	if w.granted != 1+8 {
		t.Fatalf("%d granted at first, want 9", w.granted)
	}
	left := uint64(0)
	grant := func(after time.Duration) int {
		t.Helper()
		now += after
		for range 5000 {
			left++
			size := w.size
			if limit, ok := w.next(left); ok {
				return int(limit - left)
			}
			if w.size < size || w.size == w.least { // it has become smaller: nothing is granted before that many have left
				return w.size
			}
		}
		t.Fatal("nothing is granted")
		return 0
	}
	grant(time.Millisecond)
	const fast, slow = 250 * time.Microsecond, time.Second
	for _, c := range []struct {
		after time.Duration
		want  int
	}{
		{500 * time.Microsecond, 9}, {2 * time.Millisecond, 9}, // in between it stays
		{499 * time.Microsecond, 18}, {200 * time.Microsecond, 36}, {fast, 72},
		{0, 72}, {100 * time.Microsecond, 72}, {99 * time.Microsecond, 72}, {time.Microsecond, 144}, // it grew too short ago
		{time.Millisecond, 144},
		{2*time.Millisecond + 1, 72}, {time.Hour, 36}, {slow, 18}, {slow, 9}, {slow, 4}, {slow, 2}, {slow, 2},
		{fast, 4}, {fast, 8}, {fast, 16}, {fast, 32}, {fast, 64}, {fast, 128}, {fast, 256}, {fast, 512}, {fast, 1024}, {fast, 1025}, {fast, 1025},
		{slow, 512},
	} {
		if got := grant(c.after); got != c.want {
			t.Fatalf("after %v the window is %d, want %d", c.after, got, c.want)
		}
	}
}

func TestAWindowLooksAtTheClockOncePerGrant(t *testing.T) {
	looks, grants := 0, 0
	w := windowOf(1, 0, plan.Flow, func() time.Duration { looks++; return time.Duration(looks) * time.Millisecond })
	for left := range uint64(1000) {
		if _, ok := w.next(left); ok {
			grants++
		}
	}
	if looks != grants || grants != 999/4 {
		t.Errorf("%d looks for %d grants", looks, grants)
	}
}

func TestAWindowIsBoundedByTheBytesOfItsItems(t *testing.T) {
	const mailbox = 4
	for _, c := range []struct {
		name  string
		bytes int64
		items int
		most  int
	}{
		{"unknown", 0, 10, mailbox + 1024},
		{"small", 1000, 10, mailbox + 1024},
		{"32 KiB", 32 << 10, 1, mailbox + 1024},
		{"64 KiB", 64 << 10, 1, mailbox + 512},
		{"1 MiB", 10 << 20, 10, mailbox + 32},
		{"32 MiB", 32 << 20, 1, mailbox + 1},
		{"1 GiB", 1 << 30, 1, mailbox + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := windowOf(mailbox, 0, plan.Flow, swift())
			left := uint64(0)
			for range 20 { // as fast as can be
				spread(t, &w, &left)
			}
			w.weigh(c.bytes, c.items)
			if w.size > c.most {
				t.Errorf("window %d, want at most %d", w.size, c.most)
			}
			for range 20 {
				if _, limit := spread(t, &w, &left); limit-left > uint64(c.most) {
					t.Fatalf("%d granted, want at most %d", limit-left, c.most)
				}
			}
			if w.size != c.most {
				t.Errorf("window %d, want %d", w.size, c.most)
			}
		})
	}
}

func TestAWindowGrowsAgainBehindLargeItems(t *testing.T) {
	for size, most := range map[int64]int{8 << 20: 4 + 4, 1 << 30: 4 + 1} {
		w := windowOf(4, 0, plan.Flow, swift())
		w.weigh(size, 1)
		if w.size != most {
			t.Errorf("window %d for items of %d bytes, want %d", w.size, size, most)
		}
		w.weigh(1, 1)
		for left := uint64(0); left < 8000; {
			spread(t, &w, &left)
		}
		if w.size != 4+1024 {
			t.Errorf("window %d behind small items, want 1028", w.size)
		}
	}
}

// The outlet behind a stage with an explicit Buffer stays small, also when it learns the size of the items.
func TestALimitedRoomStaysLimited(t *testing.T) {
	for buffer, room := range map[int]uint64{0: 8, 3: 8, 100: 100} {
		o := newOutlet(&Run{base: time.Now(), graph: &plan.Graph{Stages: []*plan.Stage{{Buffer: buffer}}}}, &edge{})
		o.win.clock = swift()
		if got := o.edge.limit.Load(); got > 1+room {
			t.Errorf("buffer %d: %d places granted at first", buffer, got)
		}
		for left := uint64(0); left < 3000; {
			if _, limit := spread(t, &o.win, &left); limit-left > 1+room {
				t.Fatalf("buffer %d: %d places granted, want at most %d", buffer, limit-left, 1+room)
			}
			o.win.weigh(100, 1)
		}
		if o.win.size != 1+int(room) {
			t.Errorf("buffer %d: window %d, want %d", buffer, o.win.size, 1+room)
		}
	}
}

// Whatever the clock, the items and the mailbox: grants rise, nobody gets more than the bound, and there is always
// credit for what is worked on and held, and one more.
func TestAWindowKeepsItsBoundsAndNeverGrantsLess(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 8))
		var now time.Duration
		mailbox, held, buffer := 1+r.IntN(8), []int{0, 1, 32, 1024}[r.IntN(4)], []int{plan.Flow, plan.Flow, 0, 1, 5, 300}[r.IntN(6)]
		w := windowOf(mailbox, held, buffer, func() time.Duration { return now })
		base := uint64(mailbox + held)
		most, spare := base+1024, uint64(1)
		if buffer != plan.Flow {
			most, spare = base+uint64(buffer), min(uint64(buffer), 1)
		}
		left, granted := uint64(0), w.granted
		for range 2000 {
			left += r.Uint64N(granted - left + 1)
			now += time.Duration(r.Int64N(int64(3 * time.Millisecond)))
			if r.IntN(10) == 0 {
				w.weigh(r.Int64N(1<<uint(10+r.IntN(30))), 1+r.IntN(64))
			}
			limit, ok := w.next(left)
			if ok && limit <= granted || !ok && w.granted != granted {
				t.Fatalf("seed %d: granted %d behind %d (%t)", seed, w.granted, granted, ok)
			}
			if ok && limit-left > most {
				t.Fatalf("seed %d: %d places granted, want at most %d", seed, limit-left, most)
			}
			granted = w.granted
			if granted-left < base+spare {
				t.Fatalf("seed %d: %d places are left, want at least %d", seed, granted-left, base+spare)
			}
		}
	}
}

// A Batch lets its inputs go only when it is full: the window before it must be wide enough for that, whatever its size
// has become, and whatever waits behind the batch.
func TestABatchBehindAWindowNeverStarves(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		var now time.Duration
		n, buffer := 1+r.IntN(70), []int{plan.Flow, plan.Flow, 0, 1, 5}[r.IntN(5)]
		w := windowOf(1, n, buffer, func() time.Duration { return now })
		var sent, left uint64
		held, outside := 0, uint64(0) // in the batch; places of batches that wait for room below
		for range 3000 {
			now += time.Duration(r.Int64N(int64(3 * time.Millisecond)))
			if r.IntN(20) == 0 {
				w.weigh(r.Int64N(1<<uint(20+r.IntN(20))), 1)
			}
			if credit := w.granted - sent; credit > 0 {
				for range 1 + r.Uint64N(credit) {
					sent++
					if r.IntN(100) == 0 { // the end of an epoch, which flushes
						outside += uint64(held) + 1
						held = 0
					} else if held++; held == n {
						outside += uint64(n)
						held = 0
					}
				}
			} else if outside == 0 {
				t.Fatalf("seed %d: a batch of %d has %d items and no credit for more", seed, n, held)
			}
			if outside > 0 && r.IntN(3) > 0 { // a batch leaves
				k := min(outside, uint64(n))
				outside, left = outside-k, left+k
			}
			w.next(left)
		}
	}
}
