package main

import (
	"context"
	"sync"
)

// The floor: chunks of 64 items over channels, reused, and changed in place. No identities, no custody, no supervision,
// no statistics, no way to stop, and an item waits until its chunk is full. It is not a peer but the price of moving
// items between goroutines at all.

const (
	floorItems  = 64
	floorBuffer = 8 // chunks
)

type floorChunk[T any] struct {
	n     int
	items [floorItems]T
}

func newFloorPool[T any]() *sync.Pool { return &sync.Pool{New: func() any { return &floorChunk[T]{} }} }

func floorSource[T any](n int, pool *sync.Pool, item func(int) T) <-chan *floorChunk[T] {
	out := make(chan *floorChunk[T], floorBuffer)
	go func() {
		for i := 0; i < n; {
			c := pool.Get().(*floorChunk[T])
			c.n = min(floorItems, n-i)
			for k := range c.items[:c.n] {
				c.items[k] = item(i)
				i++
			}
			out <- c
		}
		close(out)
	}()
	return out
}

func (c *floorChunk[T]) apply(f func(T) T) {
	for i, v := range c.items[:c.n] {
		c.items[i] = f(v)
	}
}

func floorStage[T any](in <-chan *floorChunk[T], workers int, f func(T) T) <-chan *floorChunk[T] {
	return channelStage(in, workers, floorBuffer, func(c *floorChunk[T]) *floorChunk[T] { c.apply(f); return c })
}

func floorStageInOrder[T any](in <-chan *floorChunk[T], workers int, f func(T) T) <-chan *floorChunk[T] {
	return channelStageInOrder(in, workers, floorBuffer, func(c *floorChunk[T]) *floorChunk[T] { c.apply(f); return c })
}

func floorDigest(in <-chan *floorChunk[int], pool *sync.Pool) (d digest) {
	for c := range in {
		for _, v := range c.items[:c.n] {
			d.add(v)
		}
		pool.Put(c)
	}
	return d
}

func trivialFloor(workers int) func(context.Context, int) (digest, error) {
	return func(_ context.Context, n int) (digest, error) {
		pool := newFloorPool[int]()
		c := floorSource(n, pool, same)
		for _, f := range steps() {
			c = floorStage(c, workers, f)
		}
		return floorDigest(c, pool), nil
	}
}

func trivialFloorInOrder(workers int) func(context.Context, int) (digest, error) {
	return func(_ context.Context, n int) (digest, error) {
		pool := newFloorPool[int]()
		c := floorSource(n, pool, same)
		for _, f := range steps() {
			c = floorStageInOrder(c, workers, f)
		}
		return floorDigest(c, pool), nil
	}
}

func hashFloor(_ context.Context, n int) (digest, error) {
	pool := newFloorPool[int]()
	return floorDigest(floorStage(floorSource(n, pool, same), 2, hash), pool), nil
}

// batchFloor copies every batch into memory of its own, as the receiver of a batch may keep it.
func batchFloor(_ context.Context, n int) (digest, error) {
	pool := newFloorPool[int]()
	batches := make(chan [floorItems / batchSize][]int, floorBuffer)
	in := floorSource(n, pool, same)
	go func() {
		for c := range in {
			var both [floorItems / batchSize][]int
			for k := range both {
				from, to := min(k*batchSize, c.n), min((k+1)*batchSize, c.n)
				both[k] = append(make([]int, 0, batchSize), c.items[from:to]...)
			}
			pool.Put(c)
			batches <- both
		}
		close(batches)
	}()
	out := make(chan *floorChunk[int], floorBuffer)
	go func() {
		for both := range batches {
			c := pool.Get().(*floorChunk[int])
			c.n = 0
			for _, batch := range both {
				c.n += copy(c.items[c.n:], batch)
			}
			out <- c
		}
		close(out)
	}()
	return floorDigest(out, pool), nil
}

func wideFloor(_ context.Context, n int) (d digest, _ error) {
	pool := newFloorPool[wide]()
	c := floorSource(n, pool, widen)
	for range stepCount {
		c = floorStage(c, 1, wideStep)
	}
	for chunk := range c {
		for i := range chunk.items[:chunk.n] {
			d.add(chunk.items[i].n)
		}
		pool.Put(chunk)
	}
	return d, nil
}
