package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/weirflow/weir/supervisor"
)

// A work is something to be done with each of n items, and those who do it.
type work struct {
	name, about string
	items       int // in a full run
	want        func(n int) digest
	contenders  []contender
}

// A contender is one way of doing a work.
type contender struct {
	name    string
	ordered bool // it promises to keep the items in order
	run     func(ctx context.Context, n int) (digest, error)
}

// baseline is the contender that all others are compared with: one channel of buffer 128 per step.
const baseline = "channels"

// A digest is what the consumer keeps of what comes out, at the same price for every contender: about a nanosecond.
// Equal counts and sums mean that the same items came, and equal chains that they came in the same order.
type digest struct {
	count int
	sum   int
	chain uint64
}

func (d *digest) add(v int) {
	d.count++
	d.sum += v
	d.chain = d.chain*31 + uint64(v)
}

// check says what is wrong with what came out of c, if anything.
func (c *contender) check(got, want digest) error {
	switch {
	case got.count != want.count:
		return fmt.Errorf("%d items came out, want %d", got.count, want.count)
	case got.sum != want.sum:
		return fmt.Errorf("the sum is %d, want %d", got.sum, want.sum)
	case c.ordered && got.chain != want.chain:
		return errors.New("all items came out, but not in order")
	}
	return nil
}

// works are all works that are measured by throughput.
func works(s *supervisor.Supervisor) []work {
	return []work{
		{"a", "source, 3 trivial stages of one worker, sum", 1_000_000, expect(trivial), []contender{
			{"weir", true, trivialWeir(s)},
			{baseline, true, trivialChannels(128, 1)},
			{"channels0", true, trivialChannels(0, 1)},
			{"floor", true, trivialFloor(1)},
		}},
		{"b", "the same with 4 workers, unordered", 1_000_000, expect(trivial), []contender{
			{"weir", false, trivialWeir(s, unordered(4)...)},
			{baseline, false, trivialChannels(128, 4)},
			{"channels0", false, trivialChannels(0, 4)},
			{"floor", false, trivialFloor(4)},
		}},
		{"c", "the same with 4 workers, ordered", 1_000_000, expect(trivial), []contender{
			{"weir", true, trivialWeir(s, ordered(4)...)},
			{baseline, true, trivialChannelsInOrder(128, 4)},
			{"channels0", true, trivialChannelsInOrder(0, 4)},
			{"floor", true, trivialFloorInOrder(4)},
		}},
		{"d", "about 20 us of hashing per item, 2 workers", 20_000, expect(hash), []contender{
			{"weir", false, hashWeir(s)},
			{baseline, false, hashChannels(128)},
			{"channels0", false, hashChannels(0)},
			{"floor", false, hashFloor},
			{"ideal", false, hashIdeal},
		}},
		{"e", "batches of 32, and out of them", 1_000_000, expect(same), []contender{
			{"weir", true, batchWeir(s)},
			{baseline, true, batchChannels(128)},
			{"channels0", true, batchChannels(0)},
			{"floor", true, batchFloor},
		}},
		{"wide", "work a with structs of 128 bytes, by value", 500_000, expect(wideTrivial), []contender{
			{"weir", true, wideWeir(s)},
			{baseline, true, wideChannels(128)},
			{"channels0", true, wideChannels(0)},
			{"floor", true, wideFloor},
		}},
	}
}

// expect makes a digest the plain way, to compare with.
func expect(f func(int) int) func(n int) digest {
	return func(n int) (d digest) {
		for i := range n {
			d.add(f(i))
		}
		return d
	}
}

func same(x int) int { return x }

func addOne(x int) int     { return x + 1 }
func timesThree(x int) int { return x * 3 }
func flip(x int) int       { return x ^ 0x55 }

// stepCount is how many stages there are between source and consumer.
const stepCount = 3

// steps returns the trivial stages.
func steps() [stepCount]func(int) int { return [3]func(int) int{addOne, timesThree, flip} }

func trivial(x int) int { return flip(timesThree(addOne(x))) }

// batchSize is that of work e.
const batchSize = 32

// hashedBytes makes hash take about 20 µs on the machines of 2020.
const hashedBytes = 15 << 10

// hash is real work without memory traffic.
func hash(x int) int {
	h := fnv.New64a()
	var block [1024]byte
	for i := range block {
		block[i] = byte(i)
	}
	for range hashedBytes / len(block) {
		h.Write(block[:])
	}
	return x ^ int(h.Sum64()&1)
}

// A wide is an item of 128 bytes.
type wide struct {
	n   int
	pad [15]int
}

func widen(i int) wide      { return wide{i, [15]int{i}} }
func wideStep(w wide) wide  { w.n++; return w }
func wideTrivial(x int) int { return x + 3 }
