package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/stages"
)

// A plant is a graph that has been built, and what its functions have seen.
type plant struct {
	graph    *graph
	pipeline stages.Pipeline[parcel]
	sinks    map[int]*basin // by vertex
	hooks    *hooks
	again    bool // it is killed there: some of the work is done more than once
	away     bool // it runs in another process: its sinks and hooks are not those that are seen here

	mu     sync.Mutex
	faults []string // guarded by mu: what must not happen
}

// A basin is what a sink was given.
type basin struct {
	mu    sync.Mutex
	packs []parcel // guarded by mu
}

func (p *plant) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) < 10 {
		p.faults = append(p.faults, fmt.Sprintf(format, args...))
	}
}

// build makes a pipeline of g. What nobody consumes is its own fault.
func build(g *graph) *plant {
	p := &plant{graph: g, sinks: map[int]*basin{}}
	p.hooks = newHooks(p)
	p.pipeline = define(p.add)
	return p
}

// add builds the graph.
func (p *plant) add(sg *stages.Graph) stages.Stream[parcel] {
	g := p.graph
	if g.hooked > 0 {
		p.hooks.add(sg)
	}
	outs := make([][]stages.Stream[parcel], len(g.vertices))
	for i := range g.vertices {
		var in []stages.Stream[parcel]
		for _, s := range g.vertices[i].in {
			in = append(in, outs[s.vertex][s.out])
		}
		outs[i] = (&site{plant: p, vertex: &g.vertices[i], name: g.name(i)}).add(sg, i, in)
	}
	return outs[g.outlet.vertex][g.outlet.out]
}

// A site is a vertex while it runs.
type site struct {
	*plant
	*vertex
	name  string
	busy  atomic.Int64
	seen  sync.Map
	dying atomic.Int64
}

// enter counts the calls that run at the same time. It returns what the call does at its end.
func (s *site) enter() func() {
	if b := s.busy.Add(1); b > int64(max(s.workers, 1)) {
		s.fault("%s works on %d items at once", s.name, b)
	}
	return func() { s.busy.Add(-1) }
}

// suffer takes its time, and dies or fails, as the vertex says.
func (s *site) suffer(ctx context.Context, p parcel) error {
	return s.hurt(p, stages.Attempt(ctx) == 1)
}

func (s *site) hurt(p parcel, first bool) error {
	if s.isSlow(p) {
		s.rest(hash(s.salt, p))
	}
	if s.isPoison(p) {
		panic("poison")
	}
	if s.isBad(p) {
		return errBad
	}
	if _, again := s.seen.LoadOrStore(hash(0, p), true); s.isDeadly(p) && !again && first {
		s.die()
	}
	return nil
}

func (s *site) die() {
	if s.goexit {
		runtime.Goexit()
	}
	panic("once")
}

// rest lets others go first: in a bubble, for some time.
func (s *site) rest(h uint64) {
	if s.graph.bubble {
		time.Sleep(time.Duration(1+h%500) * time.Microsecond)
		return
	}
	for range h % 20 {
		runtime.Gosched()
	}
}

func (s *site) options() (opts []stages.Option) {
	opts = append(opts, stages.Mailbox(s.workers), stages.OnError(stages.Skip(1<<30)))
	if s.order != 0 {
		opts = append(opts, s.order)
	}
	if s.buffer >= 0 {
		opts = append(opts, stages.Buffer(s.buffer))
	}
	if s.timeout {
		opts = append(opts, stages.Timeout(time.Hour))
	}
	return opts
}

func (s *site) serial() (opts []stages.SerialOption) {
	opts = append(opts, stages.OnError(stages.Skip(1<<30)))
	if s.buffer >= 0 {
		opts = append(opts, stages.Buffer(s.buffer))
	}
	if s.kind != "pairs" && s.kind != "serial" {
		opts = append(opts, s.last)
	}
	return opts
}

func (s *site) add(g *stages.Graph, i int, in []stages.Stream[parcel]) []stages.Stream[parcel] {
	one := func(out stages.Stream[parcel]) []stages.Stream[parcel] { return []stages.Stream[parcel]{out} }
	switch s.kind {
	case "source":
		return one(s.source(g, i))
	case "merge":
		return one(s.merge(in))
	case "rejoin":
		return one(stages.Rejoin(s.name, in...))
	case "route", "tee", "fork", "routebatch":
		return s.part(in[0])
	case "sink":
		b := &basin{}
		s.sinks[i] = b
		stages.Sink(in[0], s.name, func(ctx context.Context, p parcel) error { return s.sink(ctx, b, p) }, s.options()...)
		return nil
	}
	return one(s.link(in[0]))
}

func (s *site) source(g *stages.Graph, i int) stages.Stream[parcel] {
	opts := []stages.SourceOption{stages.Epochs(s.graph.epochs)}
	if s.buffer >= 0 {
		opts = append(opts, stages.Buffer(s.buffer))
	}
	return stages.Source(g, s.name, stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[parcel, error] {
		return func(yield func(parcel, error) bool) {
			for n := int(from.Index); n < s.lens[from.Epoch]; n++ {
				p := parcel{{Src: i, Epoch: from.Epoch, Index: n}}
				if s.isSlow(p) {
					s.rest(hash(s.salt, p))
				}
				if !yield(p, nil) {
					return
				}
			}
		}
	}), opts...)
}

func (s *site) merge(in []stages.Stream[parcel]) stages.Stream[parcel] {
	switch s.how {
	case "inputorder":
		return stages.Merge(s.name, stages.InputOrder{}, in...)
	case "roundrobin":
		return stages.Merge(s.name, stages.RoundRobin{}, in...)
	case "weighted":
		return stages.Merge(s.name, stages.Weighted{Weights: s.weights, Seed: s.salt, UntilFirstEnd: s.firstEnd}, in...)
	case "byvalue":
		return stages.MergeFunc(s.name, s.least, in...)
	}
	return stages.Merge(s.name, stages.Arrival{}, in...)
}

// least chooses by value. It dies now and then, but not three times.
func (s *site) least(heads []*parcel) int {
	least := choose(s.vertex, heads)
	p := *heads[least]
	if _, again := s.seen.LoadOrStore(hash(0, p), true); s.isDeadly(p) && !again && s.dying.Add(1) <= 2 {
		s.die()
	}
	return least
}

func choose(v *vertex, heads []*parcel) int {
	least := -1
	for i, h := range heads {
		if h != nil && (least < 0 || hash(v.salt, *h) < hash(v.salt, *heads[least])) {
			least = i
		}
	}
	return least
}

func (s *site) sink(ctx context.Context, b *basin, p parcel) error {
	defer s.enter()()
	if err := s.suffer(ctx, p); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.packs = append(b.packs, p)
	return nil
}

// part builds what has several outputs. Half of what fails names branches that there are not.
func (s *site) part(in stages.Stream[parcel]) []stages.Stream[parcel] {
	opts := s.options()
	nonsense := func(p parcel) (branch int, ok bool) {
		h := hash(s.salt+9, p)
		return []int{-1, s.outs}[h>>1%2], s.isBad(p) && !s.isPoison(p) && h%2 == 0
	}
	switch s.kind {
	case "tee":
		a, b := stages.Tee(in, s.name)
		return []stages.Stream[parcel]{a, b}
	case "route":
		return stages.Route(in, s.name, s.outs, func(ctx context.Context, p parcel) (int, error) {
			defer s.enter()()
			if b, ok := nonsense(p); ok {
				return b, nil
			}
			return s.branches(p)[0], s.suffer(ctx, p)
		}, opts...)
	case "routebatch":
		return stages.RouteBatch(in, s.name, s.outs, func(ctx context.Context, p parcel) ([]int, error) {
			defer s.enter()()
			to := s.deal(p)
			if b, ok := nonsense(p); ok {
				if b < 0 {
					return append(to, 0), nil
				}
				return append(to[:max(len(to)-1, 0)], b), nil
			}
			return to, s.suffer(ctx, p)
		}, opts...)
	}
	return stages.Fork(in, s.name, s.outs, func(ctx context.Context, p parcel, to func(int)) error {
		defer s.enter()()
		branches := s.branches(p)
		for _, b := range branches[:len(branches)/2] {
			to(b)
		}
		if b, ok := nonsense(p); ok {
			to(b)
			return nil
		}
		if err := s.suffer(ctx, p); err != nil {
			return err
		}
		for _, b := range branches[len(branches)/2:] {
			to(b)
		}
		return nil
	}, opts...)
}

// link builds what has one input and one output.
func (s *site) link(in stages.Stream[parcel]) stages.Stream[parcel] {
	mapping := func(f func(p parcel) parcel) func(context.Context, parcel) (parcel, error) {
		return func(ctx context.Context, p parcel) (parcel, error) {
			defer s.enter()()
			return f(p), s.suffer(ctx, p)
		}
	}
	change := mapping(func(p parcel) parcel { return s.change(p, 0) })
	switch s.kind {
	case "mapwith":
		open := func(context.Context) (*sync.Mutex, error) { return &sync.Mutex{}, nil }
		return stages.MapWith(in, s.name, open, func(own *sync.Mutex, ctx context.Context, p parcel) (parcel, error) {
			if !own.TryLock() {
				s.fault("%s: a state has two owners", s.name)
			}
			defer own.Unlock()
			return change(ctx, p)
		}, s.options()...)
	case "thin":
		return stages.Map(in, s.name, mapping(s.thin), s.options()...)
	case "filter":
		return stages.Filter(in, s.name, func(ctx context.Context, p parcel) (bool, error) {
			defer s.enter()()
			return s.keeps(p), s.suffer(ctx, p)
		}, s.options()...)
	case "flatmap", "streaming":
		var opts []stages.FlatMapOption
		for _, o := range s.options() {
			opts = append(opts, o)
		}
		if s.kind == "streaming" {
			opts = append(opts, stages.Streaming)
		}
		return stages.FlatMap(in, s.name, s.flat, opts...)
	case "serial":
		return stages.AttachSerial(in, s.name, stages.SerialKind[parcel, parcel]{Name: s.kind,
			Open: func(context.Context) (stages.Worker[parcel, parcel], error) { return processor(change), nil }}, s.serial()...)
	case "pairs":
		return stages.AttachSerial(in, s.name, stages.SerialKind[parcel, parcel]{Name: s.kind, Holds: true,
			Open: func(context.Context) (stages.Worker[parcel, parcel], error) { return &packPairs{site: s}, nil }}, s.serial()...)
	case "pack":
		return s.joined(stages.Batch(in, s.name, s.size, s.serial()...))
	case "rebatch":
		return stages.Unbatch(stages.Batch(in, s.name, s.size, s.serial()...), s.name+" undone")
	case "aggregate", "bykey", "regroup", "bysize", "resize":
		return s.hold(in)
	case "unpack":
		return stages.Map(stages.Unbatch(in, s.name), s.name+" wrapped", func(_ context.Context, t tok) (parcel, error) { return parcel{t}, nil })
	}
	return stages.Map(in, s.name, change, s.options()...)
}

// flat yields half of the outputs, and then suffers.
func (s *site) flat(ctx context.Context, p parcel) iter.Seq2[parcel, error] {
	return func(yield func(parcel, error) bool) {
		defer s.enter()()
		out := s.outputs(p)
		for i := range len(out) + 1 {
			if i == len(out)/2 {
				if err := s.suffer(ctx, p); err != nil {
					yield(nil, err)
					return
				}
			}
			if i < len(out) && !yield(out[i], nil) {
				return
			}
		}
	}
}

type processor func(context.Context, parcel) (parcel, error)

func (f processor) Process(ctx context.Context, p parcel, emit func(parcel) bool) error {
	out, err := f(ctx, p)
	if err == nil {
		emit(out)
	}
	return err
}

// packPairs drops the second of two neighbours that are alike, and holds one until it has seen the next.
type packPairs struct {
	*site
	held parcel
}

func (k *packPairs) Process(ctx context.Context, p parcel, emit func(parcel) bool) error {
	defer k.enter()()
	if err := k.suffer(ctx, p); err != nil {
		return err
	}
	alike := k.held != nil && k.pairs(k.held, p)
	if k.held != nil {
		emit(k.held)
		k.held = nil
	}
	if !alike {
		k.held = p
	}
	return nil
}

func (k *packPairs) Held() int {
	if k.held == nil {
		return 0
	}
	return 1
}

func (k *packPairs) Flush(_ context.Context, emit func(parcel) bool) error {
	emit(k.held)
	k.held = nil
	return nil
}
