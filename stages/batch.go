package stages

import (
	"context"
	"fmt"
)

// Batch collects size items into a slice. Batches never mix two epochs; what is left at an epoch's end is delivered
// as a smaller batch, or dropped with [DropLast]. With [MaxWait] a batch also leaves, smaller, when its first item
// has waited that long. The slice is the receiver's to keep.
func Batch[T any](in Stream[T], name string, size int, opts ...SerialOption) Stream[[]T] {
	opts = append(opts, sizeOfBatch(size))
	size = min(max(size, 1), maxSize)
	return AttachSerial(in, name, SerialKind[T, []T]{
		Name:       "batch",
		Holds:      true,
		MaxHeld:    size,
		MaxOutputs: 1,
		Open:       func(context.Context) (Worker[T, []T], error) { return &batcher[T]{size: size}, nil },
	}, opts...)
}

// sizeOfBatch is checked where options are, so that a fault in it comes with the others.
type sizeOfBatch int

func (n sizeOfBatch) serial(d *draft) {
	d.check("batches of %d items", int(n), 1, maxSize)
	d.Size = int(n)
}

// sumOfBatch is the size of one by size.
type sumOfBatch int

func (n sumOfBatch) serial(d *draft) { d.Size = int(n) }

// A batcher is one incomplete batch.
type batcher[T any] struct {
	size int
	held []T
}

func (b *batcher[T]) Process(ctx context.Context, v T, emit func([]T) bool) error {
	_, err := b.Collect(ctx, []T{v}, emit)
	return err
}

// Collect implements Collector.
func (b *batcher[T]) Collect(_ context.Context, items []T, emit func([]T) bool) (int, error) {
	if b.held == nil {
		b.held = make([]T, 0, min(b.size, 1024)) // a huge batch grows as it fills
	}
	n := min(len(items), b.size-len(b.held))
	if b.held = append(b.held, items[:n]...); len(b.held) == b.size {
		emit(b.held)
		b.held = nil
	}
	return n, nil
}

func (b *batcher[T]) Held() int { return len(b.held) }

func (b *batcher[T]) Flush(_ context.Context, emit func([]T) bool) error {
	emit(b.held)
	b.held = nil
	return nil
}

// BatchBySize collects items as long as the sum of their sizes does not exceed max, as in tokens per batch. A batch leaves
// as soon as the sum is max; an item that is larger than max on its own leaves in a batch of its own, behind what was
// held. Otherwise it is as [Batch], with at most [MaxHeld] items in a batch, which by default is 1024.
//
// max must be at least 1. size must be at least 0, which else fails the item, and depend on the item only.
func BatchBySize[T any](in Stream[T], name string, max int, size func(v T) int, opts ...SerialOption) Stream[[]T] {
	k := SerialKind[T, []T]{Name: "batch by size", Holds: true}
	if max < 1 {
		k.Fault = fmt.Sprintf("batches of size %d, want at least 1", max)
	}
	if size != nil {
		k.Open = func(context.Context) (Worker[T, []T], error) { return &packer[T]{max: max, size: size}, nil }
	}
	opts = append(opts, sumOfBatch(max))
	return AttachSerial(in, name, k, opts...)
}

// A packer is one incomplete batch by size.
type packer[T any] struct {
	max  int
	size func(T) int
	held []T
	sum  int // of their sizes, less than max
	last int // items in the last one: this one will have about as many
}

func (p *packer[T]) Process(ctx context.Context, v T, emit func([]T) bool) error {
	for {
		if n, err := p.Collect(ctx, []T{v}, emit); n == 1 || err != nil {
			return err
		}
	}
}

// Collect implements Collector. It emits one batch at a time, so that none is taken to be made of another's items.
func (p *packer[T]) Collect(_ context.Context, items []T, emit func([]T) bool) (int, error) {
	for i, v := range items {
		n := p.size(v)
		switch {
		case n < 0:
			return i, fmt.Errorf("stages: an item of size %d, want at least 0", n)
		case n >= p.max && len(p.held) > 0 && n > p.max-p.sum: // two batches: this one comes again
			if i == 0 { // what leaves before it stands where it stands
				p.pack(emit)
			}
			return i, nil
		case n > p.max-p.sum && len(p.held) > 0:
			p.pack(emit)
			p.hold(v, n)
			return i + 1, nil
		}
		if p.hold(v, n); p.sum >= p.max {
			p.pack(emit)
			return i + 1, nil
		}
	}
	return len(items), nil
}

func (p *packer[T]) hold(v T, n int) {
	if p.held == nil {
		p.held = make([]T, 0, max(p.last, 1))
	}
	p.held, p.sum = append(p.held, v), p.sum+n
}

func (p *packer[T]) pack(emit func([]T) bool) {
	emit(p.held)
	p.held, p.sum, p.last = nil, 0, len(p.held)
}

func (p *packer[T]) Held() int { return len(p.held) }

func (p *packer[T]) Flush(_ context.Context, emit func([]T) bool) error {
	p.pack(emit)
	return nil
}

// Unbatch is the inverse of Batch: each element becomes an item. An empty slice counts as filtered.
func Unbatch[T any](in Stream[[]T], name string) Stream[T] {
	return Attach(in, name, Kind[[]T, T]{
		Name: "unbatch",
		Open: func(context.Context) (Worker[[]T, T], error) { return unbatcher[T]{}, nil },
		// The elements are in memory already: a limit would save nothing.
		MaxOutputs: -1,
	}, modest{})
}

type unbatcher[T any] struct{}

// Func implements OneToMany.
func (unbatcher[T]) Func() func(context.Context, []T) ([]T, error) {
	return func(_ context.Context, batch []T) ([]T, error) { return batch, nil }
}

func (unbatcher[T]) Process(_ context.Context, batch []T, emit func(T) bool) error {
	for _, v := range batch {
		if !emit(v) {
			break
		}
	}
	return nil
}
