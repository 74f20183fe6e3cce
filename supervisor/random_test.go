package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Random chains of all kinds, with random options, in which items die at their first attempt or fail for good, give what
// the same chain gives when it is worked off by hand, one item at a time.
func TestRandomChainsGiveWhatASequentialLoopGives(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 50
	}
	sup := supervisor.New(supervisor.Config{})
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			checkChain(t, sup, uint64(seed))
		})
	}
}

// An elem is what flows through a random chain: a number that says where it comes from, and its epoch.
type elem struct {
	Value, Epoch int
}

var errBad = errors.New("bad")

// A link is one stage of a random chain.
type link struct {
	kind    string
	workers int
	ordered bool
	size    int
	buffer  int // -1: not set
	dies    int // every so many items die at the first attempt; 0: none
	fails   int // every so many items fail for good; 0: none
}

func randomLink(r *rand.Rand) link {
	l := link{
		kind:    []string{"map", "map", "filter", "flatmap", "streaming", "batch", "pairs"}[r.IntN(7)],
		workers: 1 + r.IntN(4), ordered: r.IntN(2) == 0, size: 1 + r.IntN(20), buffer: -1,
	}
	if r.IntN(3) == 0 {
		l.buffer = r.IntN(5)
	}
	if r.IntN(2) == 0 {
		l.dies = 5 + r.IntN(200)
	}
	if r.IntN(4) == 0 {
		l.fails = 5 + r.IntN(200)
	}
	return l
}

// fate decides by value alone, so that it does not depend on the order.
func (l link) fate(v elem) (dies, fails bool) {
	h := v.Value*31 + v.Epoch*17 + l.size
	return l.dies > 0 && h%l.dies == 0, l.fails > 0 && h%l.fails == 1
}

func (l link) outputs(v elem) []elem {
	var out []elem
	for i := range (v.Value + l.size) % 4 {
		out = append(out, elem{v.Value*4 + i, v.Epoch})
	}
	return out
}

// A chain is the same for the same seed.
type chain struct {
	seed      uint64
	links     []link
	n, epochs int
	ordered   bool // what comes out has one order
}

func randomChain(seed uint64) *chain {
	r := rand.New(rand.NewPCG(seed, 1))
	c := &chain{seed: seed, n: r.IntN(800), epochs: 1 + r.IntN(3), ordered: true}
	for range r.IntN(6) {
		c.links = append(c.links, randomLink(r))
	}
	for _, l := range c.links {
		if !l.ordered && l.workers > 1 && l.kind != "batch" && l.kind != "pairs" {
			c.ordered = false
		}
	}
	if !c.ordered { // which items meet in a batch depends on the order
		for i := range c.links {
			if l := &c.links[i]; l.kind == "batch" && l.fails > 0 || l.kind == "pairs" {
				l.kind = "map"
			}
		}
	}
	return c
}

// add builds the chain.
func (c *chain) add(g *stages.Graph, inside *atomic.Int64) stages.Stream[elem] {
	if c.seed%2 == 1 {
		g.Hook(around(inside))
	}
	s := stages.Source(g, "source", elems(c.n), stages.Epochs(c.epochs))
	for i, l := range c.links {
		s = l.add(s, fmt.Sprintf("%d %s", i, l.kind))
	}
	return s
}

var chains = law("chains", func(g *stages.Graph, seed uint64) stages.Stream[elem] {
	return randomChain(seed).add(g, new(atomic.Int64))
})

// The same holds wherever they run.
func TestRandomChainsGiveTheSameEverywhere(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := randomChain(seed)
			everywhere(t, chains, seed, func(t *testing.T, r played[elem]) {
				if r.err != nil {
					t.Fatal(r.err)
				}
				c.check(t, r.out, r.stats)
			})
		})
	}
}

func checkChain(t *testing.T, sup *supervisor.Supervisor, seed uint64) {
	c := randomChain(seed)
	t.Logf("%+v", c.links)
	var inside atomic.Int64 // of the hooks around items
	p := define(func(g *stages.Graph) stages.Stream[elem] { return c.add(g, &inside) })
	run, err := supervisor.Deploy(t.Context(), sup, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Stop()
	var got []elem
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatalf("%v", err)
		}
		got = append(got, v)
	}
	if in := inside.Load(); in != 0 {
		t.Errorf("%d items were entered more often than left", in)
	}
	c.check(t, got, run.Stats())
}

// check compares with the reference.
func (c *chain) check(t *testing.T, got []elem, s supervisor.Stats) {
	t.Helper()
	for i := 1; i < len(got); i++ {
		if got[i].Epoch < got[i-1].Epoch {
			t.Fatalf("an item of epoch %d behind one of %d", got[i].Epoch, got[i-1].Epoch)
		}
	}
	want, wantFailed := reference(c.links, c.n, c.epochs)
	if !c.ordered {
		byValue := func(a, b elem) int { return (a.Epoch-b.Epoch)*1_000_000_000 + a.Value - b.Value }
		slices.SortFunc(got, byValue)
		slices.SortFunc(want, byValue)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %d items, want %d: differ at %d", len(got), len(want), differ(got, want))
	}
	failed := int64(0)
	for _, st := range s.Stages {
		failed += st.Failed
	}
	if s.InFlight != 0 || s.Yielded != int64(c.n*c.epochs) || failed != int64(wantFailed) {
		t.Errorf("%d failed in the stages, want %d: %+v", failed, wantFailed, s)
	}
}

// around counts how many items are entered and not left, and dies around some of them.
func around(inside *atomic.Int64) stages.Hook {
	die := func(it stages.Item, at int64) {
		if it.Attempt == 1 && it.ID.Path == "" && it.ID.Index%97 == at {
			panic("once")
		}
	}
	return stages.Hook{
		ItemEnter: func(_ context.Context, it stages.Item) error {
			die(it, 13)
			inside.Add(1)
			return nil
		},
		ItemExit: func(_ context.Context, it stages.Item, err error) error {
			inside.Add(-1)
			die(it, 57)
			return err
		},
	}
}

func differ(a, b []elem) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func elems(n int) stages.Origin[elem] {
	return stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[elem, error] {
		return func(yield func(elem, error) bool) {
			for i := int(from.Index); i < n; i++ {
				if !yield(elem{i, from.Epoch}, nil) {
					return
				}
			}
		}
	})
}

// reference works the chain off by hand, and says how many items failed in it.
func reference(chain []link, n, epochs int) (all []elem, failed int) {
	for e := range epochs {
		var items []elem
		for i := range n {
			items = append(items, elem{i, e})
		}
		for _, l := range chain {
			var out []elem
			emit := func(v elem) bool { out = append(out, v); return true }
			p := &pairs{suffer: func(context.Context, elem) error { return nil }}
			for _, v := range items {
				if _, fails := l.fate(v); fails && l.kind != "batch" {
					failed++
					continue
				}
				switch l.kind {
				case "map":
					out = append(out, elem{v.Value + 1, v.Epoch})
				case "filter":
					if v.Value%3 != 0 {
						out = append(out, v)
					}
				case "flatmap", "streaming":
					out = append(out, l.outputs(v)...)
				case "pairs":
					p.Process(context.Background(), v, emit)
				default:
					out = append(out, v)
				}
			}
			p.Flush(context.Background(), emit)
			items = out
		}
		all = append(all, items...)
	}
	return all, failed
}

// add builds the stage.
func (l link) add(in stages.Stream[elem], name string) stages.Stream[elem] {
	var seen sync.Map
	suffer := func(ctx context.Context, v elem) error {
		dies, fails := l.fate(v)
		if fails {
			return errBad
		}
		if _, again := seen.LoadOrStore(v, true); dies && !again && stages.Attempt(ctx) == 1 {
			panic("once")
		}
		return nil
	}
	order := stages.Unordered
	if l.ordered {
		order = stages.Ordered
	}
	opts := []stages.Option{stages.Mailbox(l.workers), order, stages.OnError(stages.Skip(1 << 30))}
	serial := []stages.SerialOption{stages.OnError(stages.Skip(1 << 30))}
	if l.buffer >= 0 {
		opts, serial = append(opts, stages.Buffer(l.buffer)), append(serial, stages.Buffer(l.buffer))
	}
	many := func(ctx context.Context, v elem) iter.Seq2[elem, error] {
		return func(yield func(elem, error) bool) {
			out := l.outputs(v)
			for i, o := range out {
				if i == len(out)/2 {
					if err := suffer(ctx, v); err != nil {
						yield(elem{}, err)
						return
					}
				}
				if !yield(o, nil) {
					return
				}
			}
			if len(out) == 0 {
				if err := suffer(ctx, v); err != nil {
					yield(elem{}, err)
				}
			}
		}
	}
	switch l.kind {
	case "map":
		return stages.Map(in, name, func(ctx context.Context, v elem) (elem, error) {
			return elem{v.Value + 1, v.Epoch}, suffer(ctx, v)
		}, opts...)
	case "filter":
		return stages.Filter(in, name, func(ctx context.Context, v elem) (bool, error) {
			return v.Value%3 != 0, suffer(ctx, v)
		}, opts...)
	case "flatmap", "streaming":
		var flat []stages.FlatMapOption
		for _, o := range opts {
			flat = append(flat, o)
		}
		if l.kind == "streaming" && l.fails == 0 { // what streamed ahead of a failure stays out
			flat = append(flat, stages.Streaming)
		}
		return stages.FlatMap(in, name, many, flat...)
	case "pairs":
		return stages.AttachSerial(in, name, stages.SerialKind[elem, elem]{Name: "pairs", Holds: true,
			Open: func(context.Context) (stages.Worker[elem, elem], error) {
				return &pairs{suffer: suffer}, nil
			}}, serial...)
	}
	return stages.Unbatch(stages.Batch(in, name, l.size, serial...), name+" undone")
}

// pairs lets the first of each pair of neighbours through that are equal but for the last bit, and holds it until the
// next one shows that the pair is over: so that what it holds matters.
type pairs struct {
	suffer func(context.Context, elem) error
	held   *elem
}

func (p *pairs) Process(ctx context.Context, v elem, emit func(elem) bool) error {
	if err := p.suffer(ctx, v); err != nil {
		return err
	}
	if p.held != nil && p.held.Value/2 == v.Value/2 {
		emit(*p.held)
		p.held = nil
		return nil
	}
	if p.held != nil {
		emit(*p.held)
	}
	p.held = &v
	return nil
}

func (p *pairs) Held() int {
	if p.held == nil {
		return 0
	}
	return 1
}

func (p *pairs) Flush(ctx context.Context, emit func(elem) bool) error {
	if p.held != nil {
		emit(*p.held)
		p.held = nil
	}
	return nil
}
