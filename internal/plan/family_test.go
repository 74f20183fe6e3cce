package plan_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

// A census is the naive account: every living item knows the source items it was made of, and a source item is decided
// when nothing living knows it.
type census struct {
	living [][]int // per source item: how many know it, and what has become of the others
	fates  []plan.Fate
}

type counts struct{ delivered, filtered, failed int64 }

// add makes n source items and returns them.
func (c *census) add(n int) (items [][]int) {
	for range n {
		items = append(items, []int{len(c.fates)})
		c.living, c.fates = append(c.living, []int{1}), append(c.fates, 0)
	}
	return items
}

// born says that n items more are made of what one was made of.
func (c *census) born(of []int, n int) {
	for _, s := range of {
		c.living[s][0] += n
	}
}

func (c *census) settle(of []int, f plan.Fate) {
	for _, s := range of {
		c.fates[s] |= f
		c.living[s][0]--
	}
}

func (c *census) counts() (n counts) {
	for s, f := range c.fates {
		switch {
		case c.living[s][0] > 0:
		case f&plan.Failed != 0:
			n.failed++
		case f&plan.Delivered != 0:
			n.delivered++
		default:
			n.filtered++
		}
	}
	return n
}

// A shoal is a chunk's identities, and what each item was made of.
type shoal struct {
	ids plan.IDs
	of  [][]int
}

// An estuary is a graph of random stages in one goroutine.
type estuary struct {
	*rand.Rand
	census  census
	tally   plan.Tally
	account plan.Account
	index   int64
	shoals  []*shoal
	streams []*stream
}

// A stream is an input of a Streaming stage that is being worked on: a member of its own family.
type stream struct {
	family  *plan.Family
	of      []int
	outputs int
}

// pick removes a shoal that is not empty.
func (e *estuary) pick() *shoal {
	if len(e.shoals) == 0 {
		return e.source()
	}
	k := e.IntN(len(e.shoals))
	s := e.shoals[k]
	e.shoals = append(e.shoals[:k], e.shoals[k+1:]...)
	return s
}

func (e *estuary) put(s *shoal) {
	if len(s.of) > 0 {
		e.shoals = append(e.shoals, s)
	}
}

func (e *estuary) source() *shoal {
	n := 1 + e.IntN(20)
	s := &shoal{of: e.census.add(n)}
	s.ids.Source(0, 0, e.index, n)
	e.index += int64(n)
	return s
}

// flatMap is what a kernel does: items without outputs, with one, with several, and one that fails.
func (e *estuary) flatMap(in *shoal) {
	out := &shoal{}
	c := in.ids.From(0)
	for i, of := range in.of {
		switch made := e.IntN(5); made {
		case 0:
			e.tally.SettleOne(c.Next(), plan.Filtered)
			e.census.settle(of, plan.Filtered)
		case 1:
			c.CopyTo(&out.ids, i+1)
			out.of = append(out.of, of)
		case 2:
			e.tally.Settle(&in.ids, i, i+1, plan.Failed)
			e.census.settle(of, plan.Failed)
			c.Next()
		default:
			out.ids.Kids(&e.tally, c.Next(), made)
			e.census.born(of, made-1)
			for range made {
				out.of = append(out.of, of)
			}
		}
	}
	e.put(out)
}

// merge is what an aggregator does: some items become others, the rest stays.
func (e *estuary) merge(in *shoal) {
	k, made := e.IntN(len(in.of)+1), 1+e.IntN(3)
	at := in.ids.From(max(k-1, 0))
	peek := at.Peek()
	var gone plan.IDs
	in.ids.TakeFront(&gone, k)
	var union []int
	for _, of := range in.of[:k] {
		union = append(union, of...) // an item that is known twice must be let go of twice
	}
	e.census.born(union, made-1)
	out := &shoal{}
	out.ids.Merged(&e.tally, &gone, peek, made)
	for range made {
		out.of = append(out.of, union)
	}
	in.of = in.of[k:]
	e.put(in)
	e.put(out)
}

// stream begins with an item, goes on with one, or ends it.
func (e *estuary) stream(in *shoal) {
	var parent plan.IDs
	of := in.of[0]
	in.ids.TakeFront(&parent, 1)
	in.of = in.of[1:]
	e.put(in)
	c, made := parent.From(0), 1+e.IntN(3)
	e.streams = append(e.streams, &stream{plan.NewFamily(&e.tally, c.Peek(), 1+int64(made)), of, 0})
	e.emit(e.streams[len(e.streams)-1], made)
}

func (e *estuary) emit(s *stream, made int) {
	out := &shoal{}
	out.ids.Members(s.family, s.outputs, made)
	e.census.born(s.of, made)
	for range made {
		out.of = append(out.of, s.of)
	}
	s.outputs += made
	e.put(out)
}

func (e *estuary) goOn() {
	if len(e.streams) == 0 {
		return
	}
	s := e.streams[0]
	if e.IntN(2) == 0 {
		s.family.Grow(2)
		e.emit(s, 2)
		return
	}
	fate := []plan.Fate{plan.Filtered, plan.Filtered, plan.Failed}[e.IntN(3)]
	s.family.Settle(&e.tally, fate)
	e.census.settle(s.of, fate)
	e.streams = e.streams[1:]
}

// leave settles a part of a shoal.
func (e *estuary) leave(s *shoal) {
	n := 1 + e.IntN(len(s.of))
	fate := []plan.Fate{plan.Delivered, plan.Delivered, plan.Delivered, plan.Filtered}[e.IntN(4)]
	from := e.IntN(n)
	e.tally.Settle(&s.ids, from, n, fate)
	e.tally.Settle(&s.ids, 0, from, fate)
	for _, of := range s.of[:n] {
		e.census.settle(of, fate)
	}
	var gone plan.IDs
	s.ids.TakeFront(&gone, n)
	s.of = s.of[n:]
	e.put(s)
}

func (e *estuary) step() {
	switch s := e.pick(); e.IntN(6) {
	case 0:
		e.flatMap(s)
	case 1:
		e.merge(s)
	case 2:
		e.stream(s)
	case 3:
		e.put(s)
		e.goOn()
	default:
		e.leave(s)
	}
}

func settled(a *plan.Account) (n counts) {
	n.delivered, n.filtered, n.failed = a.Settled()
	return n
}

func TestEachSourceItemIsSettledWhenNothingOfItIsAlive(t *testing.T) {
	for seed := range uint64(100) {
		e := &estuary{Rand: rand.New(rand.NewPCG(seed, 2))}
		for range 150 {
			e.step()
			e.account.Add(&e.tally)
			if got, want := settled(&e.account), e.census.counts(); got != want {
				t.Fatalf("seed %d: settled %+v, want %+v", seed, got, want)
			}
		}
		for len(e.streams) > 0 {
			e.goOn()
		}
		for len(e.shoals) > 0 {
			e.leave(e.pick())
		}
		e.account.Add(&e.tally)
		got := settled(&e.account)
		if want := e.census.counts(); got != want {
			t.Fatalf("seed %d: at the end, settled %+v, want %+v", seed, got, want)
		}
		if sum := got.delivered + got.filtered + got.failed; sum != e.index {
			t.Fatalf("seed %d: %d items settled, want %d", seed, sum, e.index)
		}
	}
}

// Members of one family are settled by many goroutines at once, each with its own tally.
func TestEachSourceItemIsSettledOnceByManyGoroutines(t *testing.T) {
	const settlers = 8
	for seed := range uint64(30) {
		e := &estuary{Rand: rand.New(rand.NewPCG(seed, 3))}
		for range 40 {
			s := e.source()
			e.flatMap(s)
			e.merge(e.pick())
			e.flatMap(e.pick())
		}
		e.account.Add(&e.tally)
		type end struct {
			ids  *plan.IDs
			at   int
			fate plan.Fate
		}
		var ends [settlers][]end
		for _, s := range e.shoals {
			for i, of := range s.of {
				k, fate := e.IntN(settlers), []plan.Fate{plan.Delivered, plan.Filtered, plan.Failed}[e.IntN(12)%3]
				ends[k] = append(ends[k], end{&s.ids, i, fate})
				e.census.settle(of, fate)
			}
		}
		var wg sync.WaitGroup
		for k := range ends {
			e.Shuffle(len(ends[k]), func(i, j int) { ends[k][i], ends[k][j] = ends[k][j], ends[k][i] })
			wg.Go(func() {
				var t plan.Tally
				for _, x := range ends[k] {
					t.Settle(x.ids, x.at, x.at+1, x.fate)
					e.account.Add(&t)
				}
			})
		}
		wg.Wait()
		if got, want := settled(&e.account), e.census.counts(); got != want {
			t.Fatalf("seed %d: settled %+v, want %+v", seed, got, want)
		}
	}
}

func TestFatesCombine(t *testing.T) {
	for _, c := range []struct {
		fates []plan.Fate
		want  counts
	}{
		{[]plan.Fate{plan.Filtered, plan.Filtered}, counts{filtered: 1}},
		{[]plan.Fate{plan.Delivered, plan.Filtered}, counts{delivered: 1}},
		{[]plan.Fate{plan.Filtered, plan.Delivered}, counts{delivered: 1}},
		{[]plan.Fate{plan.Delivered, plan.Failed}, counts{failed: 1}},
		{[]plan.Fate{plan.Failed, plan.Delivered, plan.Filtered}, counts{failed: 1}},
	} {
		t.Run(fmt.Sprint(c.fates), func(t *testing.T) {
			var source, kids plan.IDs
			source.Source(0, 0, 0, 1)
			at := source.From(0)
			var tally plan.Tally
			kids.Kids(&tally, at.Next(), len(c.fates))
			var account plan.Account
			for i, f := range c.fates {
				tally.Settle(&kids, i, i+1, f)
			}
			if settled(&account) != (counts{}) {
				t.Error("a tally shows before it is added")
			}
			account.Add(&tally)
			account.Add(&tally) // it is empty now
			if got := settled(&account); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestLostItemsCountAsFailed(t *testing.T) {
	var a plan.Account
	a.Lose(2)
	a.Lose(1)
	if got := settled(&a); got != (counts{failed: 3}) || a.Lost() != 3 {
		t.Errorf("settled %+v, %d lost", got, a.Lost())
	}
}
