package supervisor_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/internal/history"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A trial is a schedule that has been built, and what its functions have seen.
type trial struct {
	*schedule
	pipeline stages.Pipeline[load]
	record   *history.Recorder
	trigger  chan struct{} // closed at the call that ends the run
	release  chan struct{} // closed when nothing may hang any more
	released sync.Once
	seen     *sights
	held     atomic.Int64 // by aggregators
	byName   map[string]int

	mu     sync.Mutex
	calls  map[lap]int     // guarded by mu: for an item at a stage, so far
	opens  map[string]int  // guarded by mu: by stage
	shut   map[string]int  // guarded by mu: those that failed
	row    map[string]int  // guarded by mu: deaths in a row, by stage
	most   map[string]int  // guarded by mu: of both, the most, by stage
	broken map[string]bool // guarded by mu: stages whose sink has failed
	done   map[lap]bool    // guarded by mu: what has been finished
	hung   map[string]int  // guarded by mu: calls that nobody waits for any more, by stage
	mail   map[lap]int     // guarded by mu: letters that were written, for an item at a stage
	odd    []string        // guarded by mu: what is wrong with letters
	rests  time.Time       // guarded by mu: until when something waits for its next attempt
	lost   int64           // guarded by mu: events
}

// A lap is an item at a stage.
type lap struct {
	stage int
	id    stages.ID
}

func newTrial(s *schedule, seen *sights) *trial {
	p := &trial{
		schedule: s, trigger: make(chan struct{}), release: make(chan struct{}), seen: seen, byName: map[string]int{},
		most: map[string]int{}, broken: map[string]bool{}, calls: map[lap]int{}, opens: map[string]int{}, row: map[string]int{}, hung: map[string]int{}, shut: map[string]int{}, done: map[lap]bool{}, mail: map[lap]int{},
	}
	p.record = history.New(func(n int) {
		if !s.full && s.after == 0 && n == s.at {
			close(p.trigger)
		}
	})
	s.each(func(w *work) { p.byName[w.name] = w.index })
	p.pipeline = define(func(g *stages.Graph) stages.Stream[load] {
		var in []stages.Stream[load]
		for i := range s.lens {
			in = append(in, p.source(g, i))
		}
		out := in[0]
		if len(in) > 1 {
			out = stages.Merge("sources", stages.Arrival{}, in...)
		}
		for i := range s.steps {
			out = p.add(out, &s.steps[i], string(rune('a'+i)))
		}
		return out
	})
	return p
}

// graph is what is known of it before it runs.
func (p *trial) graph() history.Graph {
	g := history.Graph{Ways: p.ways, Bound: p.pipeline.Plan().Bounds().Sourced, Exits: []history.Exit{{Name: "the consumer", Gapless: true, Epochs: true}}}
	p.each(func(w *work) {
		s := history.Stage{Name: w.name, Mailbox: w.workers, Attempts: plan.MaxAttempts, Holds: p.isAggregate(w)}
		if w.attempts > 0 {
			s.Attempts = w.attempts
		}
		g.Stages = append(g.Stages, s)
		g.Exits = append(g.Exits, history.Exit{Name: w.name, Epochs: w.workers == 1})
	})
	return g
}

func (s *schedule) isAggregate(w *work) bool {
	for i := range s.steps {
		if st := &s.steps[i]; st.holds() && &st.work == w {
			return true
		}
	}
	return false
}

// hear is told the run's events.
func (p *trial) hear(e supervisor.Event) {
	switch e := e.(type) {
	case supervisor.ItemFailed:
		if isSource(e.Err.Stage) {
			p.sourceFailed(e)
			return
		}
		p.record.Fail(p.byName[e.Err.Stage], e.Err.Item)
		p.checkLetter(e)
	case supervisor.ItemRetried:
		p.rest(e.Time.Add(e.Retry))
	case supervisor.WorkerRestarted:
		p.rest(e.Time.Add(e.Retry))
		if isTogether(e) {
			p.seen.see(replacedTogether)
		}
	case supervisor.EventsLost:
		p.mu.Lock()
		p.lost += e.Count
		p.mu.Unlock()
	}
}

// letGo ends what hangs, and lets it return: Stop would name it otherwise.
func (p *trial) letGo() {
	p.released.Do(func() { close(p.release) })
	time.Sleep(time.Millisecond) // in a bubble, nobody goes on behind who could do so before
}

// A turn is one call of a function.
type turn struct {
	*history.Call
	trial *trial
	work  *work
	load  load
	ctx   context.Context // of the call
	goes  fault
	at    lap
}

// begin records a call, and decides how it goes.
func (p *trial) begin(ctx context.Context, w *work, l load) *turn {
	at, id := stages.Where(ctx), stages.ItemID(ctx)
	who := history.Worker{Worker: at.Worker, Incarnation: at.Incarnation, Attempt: stages.Attempt(ctx)}
	p.mu.Lock()
	k := lap{w.index, id}
	p.calls[k]++
	n := p.calls[k]
	p.mu.Unlock()
	t := &turn{trial: p, work: w, load: l, ctx: ctx, goes: w.fate(l, n), at: k}
	t.Call = p.record.Begin(w.index, id, who, l...)
	return t
}

func (t *turn) end(o history.Outcome) {
	p, stage := t.trial, t.work.name
	p.mu.Lock()
	if o <= history.Dropped && !p.done[t.at] {
		p.done[t.at] = true // what an aggregator is given again is no progress
		p.row[stage] = 0
	}
	p.mu.Unlock()
	if o == history.Died {
		p.died(stage)
	}
	t.End(o)
}

// died counts the deaths in a row at a stage.
func (p *trial) died(stage string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.row[stage]++; p.row[stage] > 1 {
		p.seen.see(secondDeath)
	}
	p.most[stage] = max(p.most[stage], p.row[stage]+p.shut[stage])
}

// suffer does what the schedule says. dropped says that nothing comes of the item if that goes origin.
func (t *turn) suffer(dropped bool) error {
	switch t.goes {
	case slowly:
		if !t.wait(time.Duration(1+t.work.hash(t.load)%30) * time.Millisecond) {
			return t.told()
		}
	case tardy:
		<-t.ctx.Done()
		return t.told()
	case ignores:
		return t.hang()
	case wrongly:
		if t.work.retryIf {
			t.end(history.Retryable)
			t.trial.seen.see(triedByIf)
		} else {
			t.end(history.Errored)
		}
		return errBad
	case once:
		t.end(history.Retryable)
		return stages.Retryable(errBad)
	case panics, exits:
		t.die()
	}
	if dropped {
		t.end(history.Dropped)
	} else {
		t.end(history.Finished)
	}
	return nil
}

// wait reports whether it could be done in peace.
func (t *turn) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// told is the error of a function whose context has ended.
func (t *turn) told() error {
	err := t.ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		t.trial.seen.see(timeoutHeeded)
		t.end(history.Errored)
	} else {
		t.end(history.Canceled)
	}
	return err
}

// hang takes no notice of its context.
func (t *turn) hang() error {
	limit := time.NewTimer(t.work.timeout + grace - time.Millisecond)
	defer limit.Stop()
	select {
	case <-t.trial.release:
		if t.ctx.Err() != nil {
			return t.told()
		}
		t.end(history.Finished)
		return nil
	case <-limit.C:
	}
	t.trial.mu.Lock()
	t.trial.hung[t.work.name]++
	t.trial.mu.Unlock()
	t.trial.seen.see(hangTimedOut)
	t.end(history.Abandoned)
	<-t.trial.release
	return nil
}

func (t *turn) die() {
	if w := plan.WorkOf(t.ctx); w != nil && w.Next > w.First {
		t.trial.seen.see(deathWithPrefix)
	}
	t.end(history.Died)
	if t.goes == exits {
		t.trial.seen.see(goexit)
		runtime.Goexit()
	}
	panic("as the schedule says")
}

// do is a call that makes one thing of one.
func (p *trial) do(ctx context.Context, w *work, l load, dropped bool) error {
	return p.begin(ctx, w, l).suffer(dropped)
}

// open fails as often as the schedule says, and then once more for a worker that replaces another.
func (p *trial) open(st *step, w *work) error {
	p.mu.Lock()
	p.opens[w.name]++
	n := p.opens[w.name]
	p.mu.Unlock()
	if n <= st.openFail || st.openFail > 0 && n == st.openFail+w.workers+1 {
		p.seen.see(openFailed)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shut[w.name]++
		p.most[w.name] = max(p.most[w.name], p.row[w.name]+p.shut[w.name])
		return errBad
	}
	return nil
}

func (p *trial) options(w *work) (opts []stages.Option) {
	opts = append(opts, stages.Mailbox(w.workers), p.budget(w))
	if w.order != 0 {
		opts = append(opts, w.order)
	}
	if w.buffer >= 0 {
		opts = append(opts, stages.Buffer(w.buffer))
	}
	if w.timeout > 0 {
		opts = append(opts, stages.Timeout(w.timeout))
	}
	if w.attempts > 0 {
		retry := stages.Retry{Attempts: w.attempts, First: w.first}
		if w.retryIf {
			retry.If = func(err error) bool { return errors.Is(err, errBad) }
		}
		opts = append(opts, retry)
	}
	for _, r := range restart(w.pause, w.together) {
		opts = append(opts, r)
	}
	return opts
}

func (p *trial) serial(st *step) (opts []stages.SerialOption) {
	w := &st.work
	if opts = append(opts, p.budget(w)); w.name == "" {
		opts = []stages.SerialOption{stages.OnError(stages.Skip(1 << 30))}
	}
	if w.buffer >= 0 {
		opts = append(opts, stages.Buffer(w.buffer))
	}
	if st.maxWait > 0 {
		opts = append(opts, stages.MaxWait(st.maxWait))
	}
	for _, r := range restart(w.pause, w.together) {
		opts = append(opts, r)
	}
	return opts
}

// add builds the stages of a step. Those without a function of the schedule's are named after it.
func (p *trial) add(in stages.Stream[load], st *step, name string) stages.Stream[load] {
	w := &st.work
	mapping := func(w *work) func(context.Context, load) (load, error) {
		return func(ctx context.Context, l load) (load, error) { return l, p.do(ctx, w, l, false) }
	}
	each := func(in stages.Stream[load], w *work) stages.Stream[load] {
		return stages.Map(in, w.name, mapping(w), p.options(w)...)
	}
	switch st.kind {
	case stepMapWith:
		return stages.MapWith(in, w.name, func(context.Context) (*work, error) { return w, p.open(st, w) },
			func(_ *work, ctx context.Context, l load) (load, error) { return l, p.do(ctx, w, l, false) }, p.options(w)...)
	case stepFilter:
		return stages.Filter(in, w.name, func(ctx context.Context, l load) (bool, error) {
			keep := w.keeps(l[0])
			return keep, p.do(ctx, w, l, !keep)
		}, p.options(w)...)
	case stepFlatMap:
		var opts []stages.FlatMapOption
		for _, o := range p.options(w) {
			opts = append(opts, o)
		}
		return stages.FlatMap(in, w.name, func(ctx context.Context, l load) iter.Seq2[load, error] { return p.flat(ctx, w, l) }, opts...)
	case stepUnbatch:
		return stages.Map(stages.Unbatch(in, name+" undone"), name+" wrapped", func(_ context.Context, it history.Item) (load, error) { return load{it}, nil })
	case stepBatch, stepBySize:
		return p.batch(in, st, name)
	case stepAggregate:
		return each(stages.Aggregate(in, w.name, func(context.Context) (*heaped, error) { return &heaped{trial: p, step: st}, p.open(st, w) }, p.serial(st)...), &st.inner[0])
	case stepByKey:
		return each(stages.AggregateByKey(in, w.name, func(l load) int { return st.key(l[0]) },
			func(context.Context, int) (*heaped, error) { return &heaped{trial: p, step: st}, nil }, p.serial(st)...), &st.inner[0])
	case stepTee:
		a, b := stages.Tee(in, name+" tee")
		side := &st.inner[1]
		stages.Sink(child(b, name+" side", 1), side.name, func(ctx context.Context, l load) error {
			t := p.begin(ctx, side, l)
			if t.goes <= slowly && (t.goes == healthy || t.wait(time.Millisecond)) {
				p.record.Deliver(p.exit(side), l...)
				t.goes = healthy
			}
			return t.suffer(false)
		}, p.options(side)...)
		return each(child(a, name+" main", 0), &st.inner[0])
	case stepRoute:
		out := stages.Route(in, w.name, 2, func(ctx context.Context, l load) (int, error) { return w.branch(l[0]), p.do(ctx, w, l, false) }, p.options(w)...)
		return stages.Merge(name+" join", st.mix(), each(out[0], &st.inner[0]), each(out[1], &st.inner[1]))
	case stepDeal:
		out := stages.RouteBatch(in, w.name, 2, func(ctx context.Context, l load) ([]int, error) {
			to := make([]int, len(l))
			for i, it := range l {
				to[i] = w.branch(it)
			}
			return to, p.do(ctx, w, l, false)
		}, p.options(w)...)
		return stages.Rejoin(name+" join", each(out[0], &st.inner[0]), each(out[1], &st.inner[1]))
	}
	return each(in, w)
}

func (st *step) mix() stages.Mix {
	if st.inOrder {
		return stages.InputOrder{}
	}
	return stages.Arrival{}
}

// child gives items that go two ways a name of their own in each.
func child(in stages.Stream[load], name string, i int) stages.Stream[load] {
	return stages.Map(in, name, func(_ context.Context, l load) (load, error) {
		out := make(load, len(l))
		for k, it := range l {
			out[k] = it.Child(i)
		}
		return out, nil
	})
}

// flat yields half of the outputs, and then suffers.
func (p *trial) flat(ctx context.Context, w *work, l load) iter.Seq2[load, error] {
	return func(yield func(load, error) bool) {
		t := p.begin(ctx, w, l)
		n := w.children(l[0])
		for i := range n / 2 {
			yield(load{l[0].Child(i)}, nil)
		}
		if n/2 > 0 && t.goes > slowly {
			p.seen.see(failedHalfWay)
		}
		if err := t.suffer(n == 0); err != nil {
			yield(nil, err)
			return
		}
		for i := n / 2; i < n; i++ {
			yield(load{l[0].Child(i)}, nil)
		}
	}
}

// batch is a stage of the library's that makes batches, and one of the schedule's that has a look at them.
func (p *trial) batch(in stages.Stream[load], st *step, name string) stages.Stream[load] {
	var packs stages.Stream[[]load]
	if st.kind == stepBatch {
		packs = stages.Batch(in, name+" batch", st.size, p.serial(st)...)
	} else {
		var died sync.Map
		packs = stages.BatchBySize(in, name+" batch", 2*st.size, func(l load) int {
			if _, again := died.LoadOrStore(l[0], true); st.dies(l[0]) && !again {
				p.seen.see(unsureDeath)
				p.died(name)
				panic("as the schedule says")
			}
			return st.weight(l[0])
		}, p.serial(st)...)
	}
	w := &st.inner[0]
	return stages.Map(packs, w.name, func(ctx context.Context, pack []load) (load, error) {
		var all load
		for _, l := range pack {
			all = append(all, l...)
		}
		return all, p.do(ctx, w, all, false)
	}, p.options(w)...)
}

// A heaped is an aggregator: it makes one load of several.
type heaped struct {
	trial *trial
	step  *step
	loads int
	all   load
}

func (h *heaped) Process(ctx context.Context, l load, emit func(load) bool) error {
	t := h.trial.begin(ctx, &h.step.work, l)
	if t.goes >= panics && h.loads > 0 {
		h.trial.seen.see(deathWhileHolding)
	}
	if err := t.suffer(false); err != nil {
		return err
	}
	h.loads, h.all = h.loads+1, append(h.all, l...)
	if h.trial.held.Add(1); h.loads == h.step.size {
		h.Flush(ctx, emit)
	}
	return nil
}

// Close forgets what it holds: its successor is given that again.
func (h *heaped) Close() error {
	h.trial.held.Add(int64(-h.loads))
	h.loads = 0
	return nil
}

func (h *heaped) Held() int { return h.loads }

func (h *heaped) Flush(_ context.Context, emit func(load) bool) error {
	emit(h.all)
	h.trial.held.Add(int64(-h.loads))
	h.loads, h.all = 0, nil
	return nil
}
