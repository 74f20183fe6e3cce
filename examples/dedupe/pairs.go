package dedupe

import (
	"context"

	"github.com/weirflow/weir/stages"
)

// Pairs makes pairs of neighbours. Of an odd number of items in an epoch, the last is filtered.
func Pairs[T any](in stages.Stream[T], name string, opts ...stages.SerialOption) stages.Stream[[2]T] {
	return stages.AttachSerial(in, name, stages.SerialKind[T, [2]T]{
		Name:  "pairs",
		Holds: true,
		Open:  func(context.Context) (stages.Worker[T, [2]T], error) { return &pairer[T]{}, nil },
	}, opts...)
}

type pairer[T any] struct {
	first T
	held  int // 0 or 1
}

// Process implements stages.Worker.
func (p *pairer[T]) Process(_ context.Context, v T, emit func([2]T) bool) error {
	if p.held == 1 {
		emit([2]T{p.first, v})
		p.held = 0
		return nil
	}
	p.first, p.held = v, 1
	return nil
}

// Held implements stages.Flusher.
func (p *pairer[T]) Held() int { return p.held }

// Flush drops the odd one out: it counts as filtered.
func (p *pairer[T]) Flush(context.Context, func([2]T) bool) error {
	p.held = 0
	return nil
}
