// Package dedupe adds three kinds of stages to weir, from outside: through the same door as the built-in kinds, and with
// call sites that look like theirs.
package dedupe

import (
	"context"
	"fmt"

	"github.com/weirflow/weir/stages"
)

// Dedupe drops items that it has seen before, of the last size different ones. It remembers what its worker has seen:
// a worker that is replaced after a panic begins anew.
func Dedupe[T comparable](in stages.Stream[T], name string, size int, opts ...stages.SerialOption) stages.Stream[T] {
	fault := ""
	if size < 1 {
		fault = fmt.Sprintf("a memory of %d items, want at least 1", size)
	}
	return stages.AttachSerial(in, name, stages.SerialKind[T, T]{
		Name:  "dedupe",
		Fault: fault,
		Open: func(context.Context) (stages.Worker[T, T], error) {
			return &deduper[T]{seen: make(map[T]bool), ring: make([]T, 0, size)}, nil
		},
	}, opts...)
}

type deduper[T comparable] struct {
	seen map[T]bool
	ring []T
	next int
}

// Process implements stages.Worker.
func (d *deduper[T]) Process(_ context.Context, v T, emit func(T) bool) error {
	if d.seen[v] {
		return nil
	}
	if len(d.ring) < cap(d.ring) {
		d.ring = append(d.ring, v)
	} else {
		delete(d.seen, d.ring[d.next])
		d.ring[d.next] = v
		d.next = (d.next + 1) % len(d.ring)
	}
	d.seen[v] = true
	emit(v)
	return nil
}

// Sample lets every n-th item through that a worker gets: with several workers, each counts its own, and one that is
// replaced begins anew.
func Sample[T any](in stages.Stream[T], name string, n int64, opts ...stages.Option) stages.Stream[T] {
	fault := ""
	if n < 1 {
		fault = fmt.Sprintf("one of %d items, want at least 1", n)
	}
	return stages.Attach(in, name, stages.Kind[T, T]{
		Name:  "sample",
		Fault: fault,
		Open:  func(context.Context) (stages.Worker[T, T], error) { return &sampler[T]{n: n}, nil },
	}, opts...)
}

type sampler[T any] struct {
	n    int64
	seen int64
}

// Process implements stages.Worker.
func (s *sampler[T]) Process(_ context.Context, v T, emit func(T) bool) error {
	if s.seen++; s.seen%s.n == 0 {
		emit(v)
	}
	return nil
}
