package supervisor_test

import (
	"context"
	"iter"
	"sync"

	"github.com/weirflow/weir/stages"
)

// A harm is what befalls the functions of a stage: it is called with each item, at each attempt, and may panic, or return
// an error. open is called by what opens a worker's state.
type harm struct {
	at      func(ctx context.Context, v int) error
	open    func()
	workers int
	policy  stages.AnyOption
	more    []stages.Option // for kinds that take them
}

func (h *harm) options() []stages.Option {
	return append([]stages.Option{stages.Mailbox(h.workers), stages.Ordered, h.policy}, h.more...)
}

func (h *harm) flat(more ...stages.FlatMapOption) []stages.FlatMapOption {
	for _, o := range h.options() {
		more = append(more, o)
	}
	return more
}

func (h *harm) pass(ctx context.Context, v int) (int, error) { return v, h.at(ctx, v) }

// opened is the state of a worker.
func (h *harm) opened(context.Context) (*sync.Mutex, error) {
	h.open()
	return &sync.Mutex{}, nil
}

// A kind makes a stage called "f" of a numbers' source, of which comes what went in, each item so many times.
type kind struct {
	opens bool // it calls open, once for each worker
	times int
	build func(in stages.Stream[int], h *harm) stages.Stream[int]
}

// kinds are all kinds of stages of which a function works on one item.
func kinds() map[string]kind {
	twice := func(h *harm) func(context.Context, int) iter.Seq2[int, error] {
		return func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				if !yield(v, nil) {
					return
				}
				if err := h.at(ctx, v); err != nil {
					yield(0, err)
					return
				}
				yield(v, nil)
			}
		}
	}
	return map[string]kind{
		"map": {times: 1, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.Map(in, "f", h.pass, h.options()...)
		}},
		"map with state": {true, 1, func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.MapWith(in, "f", h.opened, func(_ *sync.Mutex, ctx context.Context, v int) (int, error) { return h.pass(ctx, v) }, h.options()...)
		}},
		"filter": {times: 1, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.Filter(in, "f", func(ctx context.Context, v int) (bool, error) { return true, h.at(ctx, v) }, h.options()...)
		}},
		"flatmap": {times: 2, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.FlatMap(in, "f", twice(h), h.flat()...)
		}},
		"flatmap with state": {true, 2, func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.FlatMapWith(in, "f", h.opened, func(_ *sync.Mutex, ctx context.Context, v int) iter.Seq2[int, error] { return twice(h)(ctx, v) }, h.flat()...)
		}},
		"streaming flatmap": {times: 2, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.FlatMap(in, "f", twice(h), h.flat(stages.Streaming)...)
		}},
		"foreign": {true, 1, func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.Attach(in, "f", stages.Kind[int, int]{Name: "foreign", Open: func(context.Context) (stages.Worker[int, int], error) {
				h.open()
				return passing(h.pass), nil
			}}, h.options()...)
		}},
		"serial": {true, 1, func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.AttachSerial(in, "f", stages.SerialKind[int, int]{Name: "serial", Open: func(context.Context) (stages.Worker[int, int], error) {
				h.open()
				return passing(h.pass), nil
			}}, h.policy)
		}},
		"aggregate": {true, 1, func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.Unbatch(stages.Aggregate(in, "f", func(context.Context) (*pile, error) {
				h.open()
				return &pile{size: 7, at: h.at}, nil
			}, h.policy), "undone")
		}},
		"aggregate by key": {times: 1, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.Unbatch(stages.AggregateByKey(in, "f", func(v int) int { return v / 7 }, func(context.Context, int) (*pile, error) {
				return &pile{size: 7, at: h.at}, nil
			}, h.policy), "undone")
		}},
		"batch by size": {times: 1, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			return stages.Unbatch(stages.BatchBySize(in, "f", 3, func(v int) int {
				if h.at(context.Background(), v) != nil {
					return -1 // the only way in which this function can return an error
				}
				return 1
			}, h.policy), "undone")
		}},
		"route": {times: 1, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			r := stages.Route(in, "f", 2, func(ctx context.Context, v int) (int, error) { return v % 2, h.at(ctx, v) }, h.options()...)
			return stages.Merge("join", stages.InputOrder{}, r...)
		}},
		"fork": {times: 2, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			r := stages.Fork(in, "f", 2, func(ctx context.Context, v int, to func(int)) error {
				to(1)
				err := h.at(ctx, v)
				to(0)
				return err
			}, h.options()...)
			return stages.Merge("join", stages.InputOrder{}, r...)
		}},
		"route batch": {times: 1, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			r := stages.RouteBatch(stages.Batch(in, "one", 1), "f", 2, func(ctx context.Context, b []int) ([]int, error) {
				return []int{b[0] % 2}, h.at(ctx, b[0])
			}, h.options()...)
			return stages.Unbatch(stages.Rejoin("join", r...), "undone")
		}},
		"sink": {times: 1, build: func(in stages.Stream[int], h *harm) stages.Stream[int] {
			// What has come into the sink goes out by a way of its own, so that it can be seen.
			a, b := stages.Tee(in, "tee")
			stages.Sink(a, "f", h.at, h.options()...)
			return b
		}},
	}
}

type passing func(context.Context, int) (int, error)

func (f passing) Process(ctx context.Context, v int, emit func(int) bool) error {
	out, err := f(ctx, v)
	if err == nil {
		emit(out)
	}
	return err
}

// A pile is an aggregator of batches. At an error it does not hold the item.
type pile struct {
	size  int
	at    func(ctx context.Context, v int) error
	flush func()
	held  []int
}

func (p *pile) Process(ctx context.Context, v int, emit func([]int) bool) error {
	if err := p.at(ctx, v); err != nil {
		return err
	}
	if p.held = append(p.held, v); len(p.held) == p.size {
		emit(p.held)
		p.held = nil
	}
	return nil
}

func (p *pile) Held() int { return len(p.held) }

func (p *pile) Flush(_ context.Context, emit func([]int) bool) error {
	if p.flush != nil {
		p.flush()
	}
	emit(p.held)
	p.held = nil
	return nil
}
