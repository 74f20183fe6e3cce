package supervisor_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weirflow/weir/internal/history"
	"github.com/weirflow/weir/stages"
)

// What a fault schedule is: a small graph, what goes wrong at which item of which stage, and how the run is ended. All of
// it follows from one number. It is built in schedule_build_test.go and judged by its history, in schedule_run_test.go.

// A load is an item: those that it was made of.
type load = []history.Item

// A fault is how one call goes.
type fault int

const (
	healthy fault = iota
	slowly        // after some time
	wrongly       // with an error that is final
	once          // with an error that is to be retried
	panics        // with a panic
	exits         // with runtime.Goexit
	ignores       // not at all: it ignores its context
	tardy         // after its Timeout, of which it takes notice
)

// The kinds of steps. Those after batched are for items that were made of several.
const (
	stepMap       = "map"
	stepMapWith   = "mapwith"
	stepFilter    = "filter"
	stepFlatMap   = "flatmap"
	stepTee       = "tee"
	stepRoute     = "route"
	stepBatch     = "batch"
	stepBySize    = "bysize"
	stepAggregate = "aggregate"
	stepByKey     = "bykey"
	stepUnbatch   = "unbatch"
	stepDeal      = "deal"
)

// A step is one or a few stages of the chain that every schedule is.
type step struct {
	kind     string
	work     work   // its function's
	inner    []work // of the stages in its branches, and of the one behind what makes batches
	size     int    // of batches
	inOrder  bool   // its branches are joined in order
	maxWait  time.Duration
	openFail int // so many opens fail, one after the other
}

// A work is a stage that runs a function: its options, and what goes wrong.
type work struct {
	name     string
	index    int // of history.Graph.Stages
	workers  int
	order    stages.Order // 0: not said
	buffer   int          // -1: not said
	timeout  time.Duration
	skip     int           // budget; -1: none, the first failure ends the run
	letters  int           // 1: failed items are handed to a sink; n > 1: which fails at the n-th; 0: they are not
	attempts int           // 0: not said
	first    time.Duration // of its pauses; 0: not said
	retryIf  bool          // errors are tried again that do not say so themselves
	pause    time.Duration // the first behind a death; 0: not said
	together []string
	salt     uint64

	// One item of so many; 0: none.
	bad    [tardy + 1]uint64
	poison uint64 // goes wrong each time
	again  uint64 // of those that go wrong once, goes wrong twice
}

// How a schedule ends its run.
const (
	endsByItself  = "by itself"
	endsByStop    = "stop"
	endsByContext = "context"
	endsByLoop    = "loop's context"
	endsByBreak   = "break"
	endsByPanic   = "panic in the loop"
	endsByDrain   = "drain"
	endsByBoth    = "drain, then stop"
)

// A schedule is a run and what goes wrong in it.
type schedule struct {
	seed     uint64
	lens     []int // items per epoch, by source
	epochs   int
	buffer   int // of the sources
	steps    []step
	end      string
	at       int             // its cause: the call with this number, or the item that the consumer gets
	after    time.Duration   // or that so much time has passed; 0: it has not
	full     bool            // the consumer is the cause, after having been away for a minute
	byNext   bool            // the consumer uses Next, and not a loop
	lazy     int             // the consumer is away for a while, one item of so many; 0: never
	tight    bool            // nothing waits anywhere
	failed   int             // so many items may fail in all; 0: any number
	fraction stages.Fraction // of all items, of which more than probation are yielded; 0: no limit
	origin   origin
	together []string // with the sources
}

// grace is how long a function that ignores its context is waited for.
const grace = time.Second

func mixItem(salt uint64, it history.Item) uint64 {
	return mix(mix(mix(salt, uint64(it.Source)<<32|uint64(it.Epoch)), uint64(it.Index)), it.Path)
}

func (w *work) hash(l load) uint64 {
	h := mix(w.salt, uint64(len(l)))
	for _, it := range l {
		h = mixItem(h, it)
	}
	return h
}

// fate says how the n-th call for l goes, counted from 1.
func (w *work) fate(l load, n int) fault {
	h := w.hash(l)
	hits := func(n, salt uint64) bool { return n > 0 && mix(h, salt)%n == 0 }
	worst := healthy
	for f := slowly; f <= tardy; f++ {
		if hits(w.bad[f], uint64(f)) {
			worst = f
		}
	}
	switch {
	case worst == slowly:
		return slowly
	case worst == healthy || n > 1 && !hits(w.poison, 100) && !(n == 2 && hits(w.again, 101)):
		return healthy
	}
	return worst
}

// randomSchedule is the same for the same seed.
func randomSchedule(seed uint64) *schedule {
	s := randomSteps(seed)
	s.enrich(rand.New(rand.NewPCG(seed, 24)))
	return s
}

func randomSteps(seed uint64) *schedule {
	r := rand.New(rand.NewPCG(seed, 23))
	s := &schedule{seed: seed, epochs: 1 + r.IntN(6)/4, buffer: r.IntN(4) - 1, byNext: r.IntN(4) == 0}
	for range 1 + r.IntN(5)/4 {
		s.lens = append(s.lens, []int{5, 20, 40, 80}[r.IntN(4)])
	}
	if r.IntN(3) == 0 {
		s.lazy = 1 + r.IntN(30)
	}
	if r.IntN(15) == 0 {
		s.failed = 1 + r.IntN(6)
	}
	if s.tight = r.IntN(4) == 0; s.tight {
		s.buffer = 0
	}
	g := &gardener{r: r, s: s}
	for n := 1 + r.IntN(5); n > 0; n -= g.add(n) {
	}
	total := 0
	for _, n := range s.lens {
		total += n * s.epochs
	}
	if r.IntN(5) < 2 {
		s.end = []string{endsByStop, endsByContext, endsByLoop, endsByBreak, endsByPanic, endsByDrain, endsByDrain, endsByBoth}[r.IntN(8)]
		s.at = 1 + r.IntN(total)
		if s.full = r.IntN(2) == 0 || s.end == endsByBreak || s.end == endsByPanic; s.full {
			s.at = 1 + r.IntN(1+total/4)
		} else if r.IntN(2) == 0 {
			s.after = time.Duration(1+r.IntN(200)) * time.Millisecond
		}
		return s
	}
	s.end = endsByItself
	return s
}

// A gardener makes a schedule grow.
type gardener struct {
	r       *rand.Rand
	s       *schedule
	batched bool // what the last step hands on was made of several items
	works   int
}

// add adds a step, of at most so many stages that run a function, and returns how many it has.
func (g *gardener) add(most int) int {
	kinds := []string{stepMap, stepMapWith}
	switch {
	case g.batched:
		kinds = append(kinds, stepUnbatch, stepUnbatch)
	default:
		kinds = append(kinds, stepMapWith, stepFilter, stepFlatMap)
	}
	if most >= 2 {
		kinds = append(kinds, stepTee)
		if !g.batched {
			kinds = append(kinds, stepBatch, stepBySize, stepAggregate, stepAggregate, stepByKey)
		}
	}
	if most >= 3 && g.batched {
		kinds = append(kinds, stepDeal, stepDeal)
	} else if most >= 3 {
		kinds = append(kinds, stepRoute, stepRoute)
	}
	st := step{kind: kinds[g.r.IntN(len(kinds))], size: 2 + g.r.IntN(6)}
	n := 0
	function := func(ordered, serial bool) work {
		n++
		return g.work(st.kind, ordered, serial)
	}
	switch st.kind {
	case stepUnbatch:
		g.batched = false
		g.s.steps = append(g.s.steps, st)
		return 1
	case stepBatch, stepBySize:
		st.work = g.plain()
		st.inner = []work{function(false, false)}
		g.batched = true
	case stepAggregate, stepByKey:
		st.work = function(false, true)
		st.inner = []work{function(false, false)}
		g.batched = true
	case stepTee:
		st.inner = []work{function(false, false), function(false, false)}
	case stepRoute, stepDeal:
		st.inOrder = st.kind == stepDeal || g.r.IntN(2) == 0
		st.work = function(st.inOrder, false)
		for range 2 {
			st.inner = append(st.inner, function(st.inOrder, false))
		}
	default:
		st.work = function(false, false)
	}
	if st.holds() && g.r.IntN(4) == 0 {
		st.maxWait = time.Duration(1+g.r.IntN(50)) * time.Millisecond
	}
	if (st.kind == stepMapWith || st.kind == stepAggregate) && g.r.IntN(3) == 0 {
		st.openFail = 1 + g.r.IntN(3)
	}
	g.s.steps = append(g.s.steps, st)
	return n
}

func (st *step) holds() bool {
	return st.kind == stepBatch || st.kind == stepBySize || st.kind == stepAggregate || st.kind == stepByKey
}

// plain is the options of a stage without a function of its own.
func (g *gardener) plain() work {
	w := work{workers: 1, buffer: g.r.IntN(5) - 1, salt: g.r.Uint64()}
	if g.s.tight {
		w.buffer = 0
	}
	return w
}

// work gives a function its stage's options, and what goes wrong in it.
func (g *gardener) work(kind string, ordered, serial bool) work {
	r := g.r
	w := g.plain()
	w.name, w.index, w.skip = fmt.Sprintf("%d %s", g.works, kind), g.works, 1<<30
	g.works++
	if !serial {
		w.workers = []int{1, 1, 2, 3, 4, 8, 16}[r.IntN(7)]
		w.order = stages.Order(r.IntN(3))
		if ordered && w.order == stages.Unordered {
			w.order = stages.Ordered
		}
	}
	rare := func(least, more uint64) uint64 { return least + r.Uint64N(more) }
	for _, f := range []fault{slowly, slowly, wrongly, once, panics, panics, exits} {
		if r.IntN(3) == 0 {
			w.bad[f] = rare(4, 40)
		}
	}
	if !serial && r.IntN(4) == 0 {
		w.attempts = 2 + r.IntN(3)
	}
	if r.IntN(2) == 0 {
		w.poison = rare(2, 20)
	}
	w.again = rare(1, 4)
	switch r.IntN(12) {
	case 0:
		w.skip = -1
	case 1:
		w.skip = r.IntN(6)
	}
	if w.skip >= 0 && r.IntN(4) == 0 {
		if w.letters = 1; r.IntN(8) == 0 {
			w.letters = 2 + r.IntN(4)
		}
	}
	if !serial && r.IntN(5) == 0 {
		w.timeout = time.Duration(20+r.IntN(100)) * time.Millisecond
		w.bad[tardy] = rare(10, 30)
		if w.workers > 1 {
			w.bad[ignores] = rare(10, 40)
		}
	}
	return w
}

// each visits all functions, each behind those that feed it.
func (s *schedule) each(visit func(w *work)) {
	for i := range s.steps {
		st := &s.steps[i]
		if st.work.name != "" {
			visit(&st.work)
		}
		for k := range st.inner {
			visit(&st.inner[k])
		}
	}
}

func (w *work) keepsOrder() bool { return w.workers == 1 || w.order == stages.Ordered }

// Choices that depend on the item alone.
func (w *work) keeps(it history.Item) bool   { return mixItem(w.salt+1, it)%4 != 0 }
func (w *work) children(it history.Item) int { return int(mixItem(w.salt+2, it) % 4) }
func (w *work) branch(it history.Item) int   { return int(mixItem(w.salt+3, it) % 2) }
func (st *step) key(it history.Item) int     { return int(mixItem(st.work.salt+4, it) % 3) }
func (st *step) weight(it history.Item) int  { return 1 + int(mixItem(st.work.salt+5, it)%3) }
func (st *step) dies(it history.Item) bool   { return mixItem(st.work.salt+6, it)%30 == 0 }
func (s *schedule) exit(sink *work) int      { return 1 + sink.index }
func (s *schedule) nap(n int) (away bool)    { return s.lazy > 0 && n%s.lazy == 0 }

// ways are those of root through all steps.
func (s *schedule) ways(root history.Item) []history.Way {
	out, on := []history.Way(nil), []history.Way{{Item: root, Ordered: true}}
	for i := range s.steps {
		var next []history.Way
		for _, w := range on {
			next = append(next, s.through(&s.steps[i], w, &out)...)
		}
		on = next
	}
	return append(out, on...)
}

// through is what becomes of one item in a step: what goes on, and, in out, what ends there.
func (s *schedule) through(st *step, w history.Way, out *[]history.Way) []history.Way {
	behind := func(w history.Way, f *work) history.Way {
		w.Ordered = w.Ordered && f.keepsOrder()
		return w
	}
	switch st.kind {
	case stepUnbatch:
		return []history.Way{w}
	case stepBatch, stepBySize, stepAggregate:
		return []history.Way{behind(w, &st.inner[0])}
	case stepByKey:
		w.Lane = mix(w.Lane, uint64(st.key(w.Item)))
		return []history.Way{behind(w, &st.inner[0])}
	case stepFilter:
		if !st.work.keeps(w.Item) {
			return nil
		}
	case stepFlatMap:
		var kids []history.Way
		for i := range st.work.children(w.Item) {
			k := behind(w, &st.work)
			k.Item = w.Item.Child(i)
			kids = append(kids, k)
		}
		return kids
	case stepTee:
		side := w
		side.Item, side.Exit = w.Item.Child(1), s.exit(&st.inner[1])
		side.Ordered = w.Ordered && st.inner[1].workers == 1
		*out = append(*out, side)
		w.Item = w.Item.Child(0)
		return []history.Way{behind(w, &st.inner[0])}
	case stepRoute:
		if st.inOrder {
			return []history.Way{w}
		}
		b := st.work.branch(w.Item)
		w.Lane = mix(w.Lane, uint64(b))
		return []history.Way{behind(behind(w, &st.work), &st.inner[b])}
	case stepDeal:
		return []history.Way{w}
	}
	return []history.Way{behind(w, &st.work)}
}

// String tells the schedule, a line per step.
func (s *schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "items %v, epochs %d, buffer %d, ends %s, at %d, after %v, full %v, Next %v, lazy %d, %d or %.2f may fail, sources %+v, together with %q", s.lens, s.epochs, s.buffer, s.end, s.at, s.after, s.full, s.byNext, s.lazy, s.failed, float64(s.fraction), s.origin, s.together)
	for i := range s.steps {
		st := &s.steps[i]
		fmt.Fprintf(&b, "\n%-9s", st.kind)
		if st.holds() {
			fmt.Fprintf(&b, " size %d, wait %v", st.size, st.maxWait)
		}
		if len(st.inner) > 1 && st.kind != stepTee {
			fmt.Fprintf(&b, " in order %v", st.inOrder)
		}
		if st.openFail > 0 {
			fmt.Fprintf(&b, " %d opens fail", st.openFail)
		}
		if st.work.name != "" {
			fmt.Fprintf(&b, "\n  %v", &st.work)
		}
		for k := range st.inner {
			fmt.Fprintf(&b, "\n  %v", &st.inner[k])
		}
	}
	return b.String()
}

func (w *work) String() string {
	return fmt.Sprintf("%q: workers %d, order %d, buffer %d, timeout %v, skip %d, letters %d, attempts %d, one of: slow %d, wrong %d, retryable %d, panic %d, Goexit %d, hang %d, tardy %d; poison %d, again %d; pauses from %v, If %v, restarts from %v, together with %q",
		w.name, w.workers, w.order, w.buffer, w.timeout, w.skip, w.letters, w.attempts, w.bad[slowly], w.bad[wrongly], w.bad[once], w.bad[panics], w.bad[exits], w.bad[ignores], w.bad[tardy], w.poison, w.again, w.first, w.retryIf, w.pause, w.together)
}
