package main

import (
	"context"
	"sync"
)

// Hand-written channels: what somebody would write who needs this pipeline once. Every step is a function over
// channels, and the consumer ranges over the last one. They neither stop early nor survive a panic.

func channelSource[T any](n, buffer int, item func(int) T) <-chan T {
	out := make(chan T, buffer)
	go func() {
		for i := range n {
			out <- item(i)
		}
		close(out)
	}()
	return out
}

func channelStage[In, Out any](in <-chan In, workers, buffer int, f func(In) Out) <-chan Out {
	out := make(chan Out, buffer)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for v := range in {
				out <- f(v)
			}
		})
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	return out
}

// channelStageInOrder keeps the order with a ticket per item: it is queued for the workers and for the collector at
// once, and its result waits in it.
func channelStageInOrder[In, Out any](in <-chan In, workers, buffer int, f func(In) Out) <-chan Out {
	type ticket struct {
		v      In
		result chan Out
	}
	out := make(chan Out, buffer)
	order, work := make(chan *ticket, workers), make(chan *ticket, workers)
	pool := sync.Pool{New: func() any { return &ticket{result: make(chan Out, 1)} }}
	go func() {
		for v := range in {
			t := pool.Get().(*ticket)
			t.v = v
			order <- t
			work <- t
		}
		close(order)
		close(work)
	}()
	for range workers {
		go func() {
			for t := range work {
				t.result <- f(t.v)
			}
		}()
	}
	go func() {
		for t := range order {
			out <- <-t.result
			pool.Put(t)
		}
		close(out)
	}()
	return out
}

func channelBatch(in <-chan int, size, buffer int) <-chan []int {
	out := make(chan []int, buffer)
	go func() {
		batch := make([]int, 0, size)
		for v := range in {
			if batch = append(batch, v); len(batch) == size {
				out <- batch
				batch = make([]int, 0, size)
			}
		}
		if len(batch) > 0 {
			out <- batch
		}
		close(out)
	}()
	return out
}

func channelUnbatch(in <-chan []int, buffer int) <-chan int {
	out := make(chan int, buffer)
	go func() {
		for batch := range in {
			for _, v := range batch {
				out <- v
			}
		}
		close(out)
	}()
	return out
}

func digestOf(in <-chan int) (d digest) {
	for v := range in {
		d.add(v)
	}
	return d
}

func trivialChannels(buffer, workers int) func(context.Context, int) (digest, error) {
	return func(_ context.Context, n int) (digest, error) {
		c := channelSource(n, buffer, same)
		for _, f := range steps() {
			c = channelStage(c, workers, buffer, f)
		}
		return digestOf(c), nil
	}
}

func trivialChannelsInOrder(buffer, workers int) func(context.Context, int) (digest, error) {
	return func(_ context.Context, n int) (digest, error) {
		c := channelSource(n, buffer, same)
		for _, f := range steps() {
			c = channelStageInOrder(c, workers, buffer, f)
		}
		return digestOf(c), nil
	}
}

func hashChannels(buffer int) func(context.Context, int) (digest, error) {
	return func(_ context.Context, n int) (digest, error) {
		return digestOf(channelStage(channelSource(n, buffer, same), 2, buffer, hash)), nil
	}
}

// hashIdeal is two goroutines that share the work and say nothing to each other.
func hashIdeal(_ context.Context, n int) (d digest, _ error) {
	var parts [2]digest
	var wg sync.WaitGroup
	for k := range parts {
		wg.Go(func() {
			var p digest
			for i := k; i < n; i += len(parts) {
				p.add(hash(i))
			}
			parts[k] = p
		})
	}
	wg.Wait()
	for _, p := range parts {
		d.count += p.count
		d.sum += p.sum
	}
	return d, nil
}

func batchChannels(buffer int) func(context.Context, int) (digest, error) {
	return func(_ context.Context, n int) (digest, error) {
		return digestOf(channelUnbatch(channelBatch(channelSource(n, buffer, same), batchSize, buffer), buffer)), nil
	}
}

func wideChannels(buffer int) func(context.Context, int) (digest, error) {
	return func(_ context.Context, n int) (d digest, _ error) {
		c := channelSource(n, buffer, widen)
		for range stepCount {
			c = channelStage(c, 1, buffer, wideStep)
		}
		for v := range c {
			d.add(v.n)
		}
		return d, nil
	}
}
