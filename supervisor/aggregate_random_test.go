package supervisor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Random aggregators of all kinds, with random options, whose code dies in all places that there are, give what they give
// by hand: the same outputs in the same order, each item in one of them or counted as what it is.
func TestRandomAggregatorsGiveWhatASequentialLoopGives(t *testing.T) {
	seeds := 250
	if testing.Short() {
		seeds = 60
	}
	sup := supervisor.New(supervisor.Config{})
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			checkAggregator(t, sup, randomHabits(uint64(seed)))
		})
	}
}

// Habits are how a random aggregator behaves. What it does depends only on what it holds and on the item at hand.
type habits struct {
	kind             string
	n, epochs, keys  int
	size             int // of a complete group
	lets             int // every so many items it lets go of what it held, in silence
	turns            int // every so many items it emits what it held, and holds the item
	groups, maxHeld  int
	dropLast         bool
	buffer           int // -1: not set
	dies, fails      int // every so many items do, the first time; 0: none
	max              int // of a batch by size
	opened, held     atomic.Int64
	mostOpen, mostIn atomic.Int64
	seen             sync.Map
}

func randomHabits(seed uint64) *habits {
	r := rand.New(rand.NewPCG(seed, 9))
	some := func(n int) int { return r.IntN(2) * (2 + r.IntN(n)) }
	return &habits{
		kind: []string{"aggregate", "by key", "by key", "by size"}[r.IntN(4)],
		n:    r.IntN(1500), epochs: 1 + r.IntN(3), keys: 1 + r.IntN(30),
		size: 1 + r.IntN(30), lets: some(60), turns: some(60),
		groups: 1 + r.IntN(20), maxHeld: 1 + r.IntN(100), dropLast: r.IntN(4) == 0, buffer: r.IntN(8) - 4,
		dies: r.IntN(2) * (20 + r.IntN(200)), fails: r.IntN(2) * (10 + r.IntN(200)), max: 1 + r.IntN(60),
	}
}

// A pack is what comes out: items, and why.
type pack struct {
	Key   int
	Items []elem
}

func (h *habits) key(v elem) int {
	if h.kind != "by key" {
		return 0
	}
	return v.Value * 7919 % h.keys
}

func (h *habits) weight(v elem) int { return v.Value * 31 % 17 % (h.max + 3) }

// Places in which user code dies.
const (
	inKey = iota
	inOpen
	inProcess
	behindProcess
	inFlush
	inClose
	places
)

// suffer dies in one place per item, once.
func (h *habits) suffer(place int, v elem) {
	x := v.Value*31 + v.Epoch*17
	if h.dies > 0 && x%h.dies == 0 && x/h.dies%places == place {
		if _, again := h.seen.LoadOrStore(v, true); !again {
			panic(fmt.Sprint("once, in ", place))
		}
	}
}

func (h *habits) faulty(v elem) bool { return h.fails > 0 && (v.Value*13+v.Epoch)%h.fails == 1 }

// A bag is the aggregator of a key.
type bag struct {
	*habits
	held []elem
	last *elem // that it had to do with
}

func (h *habits) open() *bag {
	h.mostOpen.Store(max(h.mostOpen.Load(), h.opened.Add(1)))
	return &bag{habits: h}
}

func (b *bag) hold(v ...elem) {
	b.mostIn.Store(max(b.mostIn.Load(), b.habits.held.Add(int64(len(v)-len(b.held)))))
	b.held = v
}

func (b *bag) Process(ctx context.Context, v elem, emit func(pack) bool) error {
	b.last = &v
	b.suffer(inProcess, v)
	if b.faulty(v) {
		emit(pack{-1, nil}) // is withdrawn
		return errBad
	}
	switch {
	case b.lets > 0 && v.Value%b.lets == 0:
		b.hold(v)
	case b.turns > 0 && v.Value%b.turns == 1 && len(b.held) > 0:
		emit(pack{b.key(v), b.held})
		b.hold(v)
	default:
		if b.hold(append(slices.Clone(b.held), v)...); len(b.held) >= b.size {
			emit(pack{b.key(v), b.held})
			b.hold()
		}
	}
	b.suffer(behindProcess, v)
	return nil
}

func (b *bag) Held() int { return len(b.held) }

func (b *bag) Flush(ctx context.Context, emit func(pack) bool) error {
	emit(pack{b.key(b.held[0]), b.held})
	b.suffer(inFlush, *b.last)
	b.hold()
	return nil
}

func (b *bag) Close() error {
	b.hold()
	b.opened.Add(-1)
	if b.last != nil {
		b.suffer(inClose, *b.last)
	}
	return nil
}

// Sums are what should come of it all.
type sums struct {
	h                *habits
	packs            []pack
	filtered, failed int
	groups           []*shadow
	held             int
}

type shadow struct {
	key   int
	items []elem
}

func (s *sums) emit(key int, items []elem) { s.packs = append(s.packs, pack{key, items}) }

// oldest is the group that holds the oldest item.
func (s *sums) oldest() *shadow {
	return slices.MinFunc(s.groups, func(a, b *shadow) int { return a.items[0].Value - b.items[0].Value })
}

func (s *sums) letGo(g *shadow, keep ...elem) {
	s.held += len(keep) - len(g.items)
	if g.items = keep; len(keep) == 0 {
		s.groups = slices.DeleteFunc(s.groups, func(o *shadow) bool { return o == g })
	}
}

func (s *sums) flush(drop bool) {
	g := s.oldest()
	if drop {
		s.filtered += len(g.items)
	} else {
		s.emit(g.key, g.items)
	}
	s.letGo(g)
}

func (s *sums) item(v elem) {
	h := s.h
	key := h.key(v)
	i := slices.IndexFunc(s.groups, func(g *shadow) bool { return g.key == key })
	if i < 0 {
		if len(s.groups) >= h.groups && h.kind == "by key" {
			s.flush(false)
		}
		i = len(s.groups)
		s.groups = append(s.groups, &shadow{key: key})
	}
	g := s.groups[i]
	switch {
	case h.faulty(v):
		s.failed++
		s.letGo(g, g.items...)
	case h.lets > 0 && v.Value%h.lets == 0:
		s.filtered += len(g.items)
		s.letGo(g, v)
	case h.turns > 0 && v.Value%h.turns == 1 && len(g.items) > 0:
		s.emit(key, g.items)
		s.letGo(g, v)
	default:
		if s.letGo(g, append(slices.Clone(g.items), v)...); len(g.items) >= h.size {
			s.emit(key, g.items)
			s.letGo(g)
		}
	}
	if s.held >= h.maxHeld {
		s.flush(false)
	}
}

// bySize is item for BatchBySize.
func (s *sums) bySize(v elem) {
	h := s.h
	n := h.weight(v)
	if h.faulty(v) {
		s.failed++
		return
	}
	if len(s.groups) == 0 {
		s.groups = []*shadow{{}}
	}
	g := s.groups[0]
	sum := 0
	for _, o := range g.items {
		sum += h.weight(o)
	}
	if sum+n > h.max && len(g.items) > 0 {
		s.emit(0, g.items)
		s.letGo(g)
		s.groups, sum = []*shadow{g}, 0
	}
	if s.letGo(g, append(slices.Clone(g.items), v)...); sum+n >= h.max || s.held >= h.maxHeld {
		s.emit(0, g.items)
		s.letGo(g)
	}
}

func (h *habits) reference() *sums {
	s := &sums{h: h}
	for e := range h.epochs {
		for i := range h.n {
			if h.kind == "by size" {
				s.bySize(elem{i, e})
			} else {
				s.item(elem{i, e})
			}
		}
		for len(s.groups) > 0 {
			if len(s.groups[0].items) == 0 {
				s.groups = s.groups[1:]
				continue
			}
			s.flush(h.dropLast)
		}
	}
	return s
}

func (h *habits) add(in stages.Stream[elem]) stages.Stream[pack] {
	opts := []stages.SerialOption{stages.OnError(stages.Skip(1 << 30)), stages.MaxHeld(h.maxHeld)}
	if h.buffer >= 0 {
		opts = append(opts, stages.Buffer(h.buffer))
	}
	if h.dropLast {
		opts = append(opts, stages.DropLast)
	}
	switch h.kind {
	case "aggregate":
		return stages.Aggregate(in, "aggregate", func(ctx context.Context) (*bag, error) { return h.open(), nil }, opts...)
	case "by key":
		opts = append(opts, stages.Groups(h.groups))
		return stages.AggregateByKey(in, "aggregate", func(v elem) int {
			h.suffer(inKey, v)
			return h.key(v)
		}, func(ctx context.Context, key int) (*bag, error) {
			b := h.open()
			if id := stages.ItemID(ctx); h.dies > 0 {
				defer func() {
					if r := recover(); r != nil {
						b.Close() // nobody else will
						panic(r)
					}
				}()
				h.suffer(inOpen, elem{int(id.Index), id.Epoch})
			}
			return b, nil
		}, opts...)
	}
	batches := stages.BatchBySize(in, "aggregate", h.max, func(v elem) int {
		h.suffer(inProcess, v)
		if h.faulty(v) {
			return -1
		}
		return h.weight(v)
	}, opts...)
	return stages.Map(batches, "pack", func(_ context.Context, items []elem) (pack, error) { return pack{0, items}, nil })
}

var aggregators = law("aggregators", func(g *stages.Graph, seed uint64) stages.Stream[pack] {
	h := randomHabits(seed)
	return h.add(stages.Source(g, "source", elems(h.n), stages.Epochs(h.epochs)))
})

// The same holds wherever they run.
func TestRandomAggregatorsGiveTheSameEverywhere(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := randomHabits(seed)
			everywhere(t, aggregators, seed, func(t *testing.T, r played[pack]) {
				if r.err != nil {
					t.Fatal(r.err)
				}
				h.check(t, r.out, r.stats)
			})
		})
	}
}

func checkAggregator(t *testing.T, sup *supervisor.Supervisor, h *habits) {
	got, s, err := collectOn(t, sup, define(func(g *stages.Graph) stages.Stream[pack] {
		return h.add(stages.Source(g, "source", elems(h.n), stages.Epochs(h.epochs)))
	}))
	if err != nil {
		t.Fatal(err)
	}
	h.check(t, got, s)
	if h.kind == "by key" {
		if m := h.mostOpen.Load(); m > int64(h.groups) {
			t.Errorf("%d groups were open, at most %d may be", m, h.groups)
		}
	}
	if m := h.mostIn.Load(); m > int64(h.maxHeld) {
		t.Errorf("%d items were held, at most %d may be", m, h.maxHeld)
	}
	if h.kind != "by size" && (h.opened.Load() != 0 || h.held.Load() != 0) {
		t.Errorf("%d aggregators were not closed, with %d items", h.opened.Load(), h.held.Load())
	}
}

// check compares with the reference.
func (h *habits) check(t *testing.T, got []pack, s supervisor.Stats) {
	t.Helper()
	t.Logf("%s: %d items, %d epochs, %d keys, size %d, lets %d, turns %d, groups %d, held %d, drop %t, dies %d, fails %d, max %d",
		h.kind, h.n, h.epochs, h.keys, h.size, h.lets, h.turns, h.groups, h.maxHeld, h.dropLast, h.dies, h.fails, h.max)
	want := h.reference()
	for i := range max(len(got), len(want.packs)) {
		if i >= len(got) || i >= len(want.packs) || got[i].Key != want.packs[i].Key || !slices.Equal(got[i].Items, want.packs[i].Items) {
			t.Fatalf("of %d outputs, want %d, the %d-th is different:\ngot  %v\nwant %v", len(got), len(want.packs), i, at(got, i), at(want.packs, i))
		}
	}
	delivered := h.n*h.epochs - want.filtered - want.failed
	if s.Filtered != int64(want.filtered) || s.Failed != int64(want.failed) || s.Delivered != int64(delivered) || s.InFlight != 0 {
		t.Errorf("%d filtered, %d failed, %d delivered wanted: %+v", want.filtered, want.failed, delivered, s)
	}
	if h.dies > 0 && h.n > 50*h.dies && s.Restarts < int64(h.n/h.dies/10) {
		t.Errorf("only %d workers died", s.Restarts)
	}
}

func at(p []pack, i int) []pack { return p[min(i, len(p)):min(i+1, len(p))] }
