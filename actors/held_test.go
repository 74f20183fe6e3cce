package actors

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// A keeper is a stage's ledger without actors, and what should be in it.
type keeper struct {
	*rand.Rand
	s     *stage
	pool  *plan.PoolOf[*int]
	held  map[uint64]int // number: how often it has been given again
	lots  []*lot
	ends  []uint64 // of lots: the number behind them
	done  uint64   // numbers below have been worked on
	suite *testing.T
}

func newKeeper(t *testing.T, seed uint64, groups int) *keeper {
	k := &keeper{Rand: rand.New(rand.NewPCG(seed, 5)), pool: plan.NewPool[*int](), held: map[uint64]int{}, suite: t}
	spec := &plan.Stage{Serial: true, Holds: true, Ordered: true, Mailbox: 1, MaxHeld: 1 << 20, Groups: groups, Pool: k.pool, MaxWait: time.Hour}
	k.s = &stage{run: &Run{base: time.Now()}, spec: spec, stats: &stageStats{}}
	return k
}

// feed brings a chunk in; it may be joined to the one before.
func (k *keeper) feed() {
	c := k.pool.Of(256)
	for range 1 + k.IntN(150) {
		c.Items = append(c.Items, new(int))
	}
	c.Head().IDs.Source(0, 0, int64(k.s.numbered), len(c.Items))
	k.s.take(c)
	if l := *k.s.lots.back(); len(k.lots) == 0 || k.lots[len(k.lots)-1] != l {
		k.lots, k.ends = append(k.lots, l), append(k.ends, 0)
	}
	k.ends[len(k.ends)-1] = k.s.numbered
}

// work gives a piece to an imaginary worker, which lets go of some of what it holds.
func (k *keeper) work() {
	s := k.s
	s.service = pieceTime / float64(1+k.IntN(100))
	var p *piece
	switch {
	case len(s.lost) > 0:
		p = s.recut()
	case s.waiting > 0:
		p = s.cut()
	default:
		return
	}
	for i := p.from; i < p.to; i++ {
		n := p.lot.first + uint64(i)
		if again, lost := k.held[n]; lost != (p.replays > 0) || lost && again != p.replays-1 {
			k.suite.Fatalf("item %d came with %d replays, want %d", n, p.replays, again+1)
		}
		k.held[n] = p.replays
		k.done = max(k.done, n+1)
	}
	before := s.kept.items
	all := slices.Sorted(maps.Keys(k.held))
	for _, q := range s.lost { // what has not been given again yet
		all = slices.DeleteFunc(all, func(n uint64) bool { return n >= q.lot.first+uint64(q.from) && n < q.lot.first+uint64(q.to) })
	}
	most := min(k.IntN(60), len(all))
	if s.spec.Groups > 0 {
		k.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		p.gone = append(p.gone[:0], all[:most]...)
	}
	worked := p.to - p.from
	s.keep(p, p.to, len(all)-most)
	for _, n := range all[:most] {
		delete(k.held, n)
	}
	if left := worked + before - s.kept.items; left != most {
		k.suite.Fatalf("%d items have left, want %d", left, most)
	}
	p.done = true
	s.unlink(p)
}

// check compares the ledger with what should be in it.
func (k *keeper) check() {
	if !k.s.kept.holds(k.held) && len(k.s.lost) == 0 {
		k.suite.Fatalf("%d items are held, want %d", k.s.kept.items, len(k.held))
	}
	if n := k.s.kept.len(); n > 2*k.s.kept.items+1 {
		k.suite.Fatalf("%d stretches for %d items", n, k.s.kept.items)
	}
	for i, l := range k.lots {
		needed := k.ends[i] > k.done
		for n := l.first; n < k.ends[i]; n++ {
			_, held := k.held[n]
			needed = needed || held
			if l.chunk != nil && n < k.done && k.s.spec.Groups > 0 && !held != (l.chunk.(*plan.Of[*int]).Items[n-l.first] == nil) {
				k.suite.Fatalf("item %d: held is %t", n, held)
			}
		}
		if needed != (l.chunk != nil) {
			k.suite.Fatalf("a lot is needed: %t, and kept: %t", needed, l.chunk != nil)
		}
	}
}

func (h *shelf) holds(want map[uint64]int) bool {
	n := 0
	for _, k := range h.waiting() {
		if k.left == 0 {
			continue
		}
		for from, to := k.before(k.to); from < to; from, to = k.before(from) {
			for i := from; i < to; i++ {
				if again, ok := want[k.number+uint64(i-k.from)]; !ok || again != k.replays {
					return false
				}
				n++
			}
		}
	}
	return n == len(want) && n == h.items
}

// What is held is what was worked on and not let go of, however that is scattered; a dead worker's successor is given
// exactly that, in order, and a lot is kept as long as something of it is needed.
func TestTheLedgerKeepsExactlyWhatIsHeld(t *testing.T) {
	for seed := range uint64(200) {
		k := newKeeper(t, seed, int(seed%2)*16)
		for range 120 {
			switch k.IntN(8) {
			case 0, 1:
				k.feed()
			case 2:
				k.s.restore()
			default:
				k.work()
			}
			k.check()
		}
	}
}

// One item that is held for ever, behind which millions come and go, costs one lot and one stretch.
func TestAnItemThatIsHeldForLongLetsNothingPileUp(t *testing.T) {
	k := newKeeper(t, 1, 4)
	freed := 0
	for n := range uint64(5000) {
		c := k.pool.Of(1)
		c.Items = append(c.Items, new(int))
		k.s.take(c)
		l := *k.s.lots.back()
		p := k.s.cut()
		if n > 0 {
			p.gone = append(p.gone[:0], n)
		}
		k.s.keep(p, p.to, 0)
		p.done = true
		if k.s.unlink(p); l.chunk == nil {
			freed++
		}
		if k.s.kept.len() > 2 || k.s.kept.items != 1 {
			t.Fatalf("behind item %d, %d stretches of %d items", n, k.s.kept.len(), k.s.kept.items)
		}
	}
	if freed != 4999 {
		t.Errorf("%d lots were freed", freed)
	}
}

// What is known of the items of a piece holds for its rest, too.
func TestTheRestOfAPieceKeepsItsPast(t *testing.T) {
	k := newKeeper(t, 1, 4)
	k.feed()
	k.s.service = pieceTime / 1000
	p := k.s.cut()
	p.alone, p.past = 7, past{3, time.Second}
	k.s.service = 0
	k.s.lost = append(k.s.lost, p)
	k.s.recut()
	rest := k.s.lost[0]
	if rest.alone != 7 || rest.past != p.past || rest.from != p.to || p.items() != 1 {
		t.Errorf("the rest is %+v", rest)
	}
	if again := k.s.replace(rest); again.alone != 7 || again.past != p.past {
		t.Errorf("its replacement is %+v", again)
	}
}

// While a flush is on its way, what it is to flush asks for no other.
func TestOneFlushIsEnough(t *testing.T) {
	k := newKeeper(t, 1, 4)
	k.s.run.base = time.Now().Add(-3 * time.Hour)
	k.feed()
	k.s.keep(k.s.cut(), 1, 0)
	k.s.kept.front().since = time.Hour
	k.s.waitedFor()
	k.s.watchHeld()
	if k.s.alarms.timer != nil || len(k.s.lost) != 1 {
		t.Fatalf("%d flushes, and a timer: %t", len(k.s.lost), k.s.alarms.timer != nil)
	}
	k.s.flushed(k.s.lost[0])
	k.s.kept.front().since = 3 * time.Hour // the rest is of now
	k.s.watchHeld()
	if k.s.alarms.timer == nil {
		t.Error("nobody looks after what is still held")
	}
	k.s.alarms.stop()
}

// BenchmarkKeep is what a piece of 100 items costs the ledger whose items are let go of as a batch lets go of them, or one
// group after the other.
func BenchmarkKeep(b *testing.B) {
	const size = 100
	for name, groups := range map[string]int{"the end": 0, "groups": 16} {
		b.Run(name, func(b *testing.B) {
			s := &stage{run: &Run{}, spec: &plan.Stage{Serial: true, Holds: true, Groups: groups}, stats: &stageStats{}}
			s.spare, s.spareLots = make([]*piece, 0, 16), make([]*lot, 0, 16)
			pool := plan.NewPool[int]()
			gone := make([]uint64, 0, size)
			for b.Loop() {
				c := pool.Of(size)
				c.Items = c.Items[:size]
				s.take(c)
				s.service = 1
				p := s.cut()
				gone = gone[:0]
				for g := range uint64(16) { // of the stretch before: its groups are complete now
					for n := g; n < size && p.lot.first > 0; n += 16 {
						gone = append(gone, p.lot.first-size+n)
					}
				}
				p.gone = append(p.gone[:0], gone...)
				s.keep(p, p.to, size)
				s.unlink(p)
			}
			b.ReportAllocs()
		})
	}
}
