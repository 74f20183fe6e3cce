package stages

import "context"

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

func (n sizeOfBatch) serial(d *draft) { d.check("batches of %d items", int(n), 1, maxSize) }

// A batcher is one incomplete batch.
type batcher[T any] struct {
	size int
	held []T
}

func (b *batcher[T]) Process(ctx context.Context, v T, emit func([]T) bool) error {
	if b.held == nil {
		b.held = make([]T, 0, min(b.size, 1024)) // a huge batch grows as it fills
	}
	if b.held = append(b.held, v); len(b.held) == b.size {
		emit(b.held)
		b.held = nil
	}
	return nil
}

func (b *batcher[T]) Held() int { return len(b.held) }

func (b *batcher[T]) Flush(_ context.Context, emit func([]T) bool) error {
	emit(b.held)
	b.held = nil
	return nil
}

// Unbatch is the inverse of Batch: each element becomes an item. An empty slice counts as filtered.
func Unbatch[T any](in Stream[[]T], name string) Stream[T] {
	return Attach(in, name, Kind[[]T, T]{
		Name: "unbatch",
		Open: func(context.Context) (Worker[[]T, T], error) { return unbatcher[T]{}, nil },
		// The elements are in memory already: a limit would save nothing.
		MaxOutputs: -1,
	})
}

type unbatcher[T any] struct{}

func (unbatcher[T]) Process(_ context.Context, batch []T, emit func(T) bool) error {
	for _, v := range batch {
		if !emit(v) {
			break
		}
	}
	return nil
}
