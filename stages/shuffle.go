package stages

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/weirflow/weir/internal/plan"
)

// Shuffled yields the elements of s, which must not change any more, in an order drawn from seed and epoch: another one
// each epoch, the same one on every machine. Shuffle small things (paths, indices) at the source rather than large ones
// in a buffer: it takes 8 bytes per element, for as long as an epoch lasts.
//
// The order is that of Fisher and Yates. The i-th element, counted from 0, is swapped with the one at i + u*(n-i)/2^64,
// where n is the number of elements and u the i-th output of rand.NewPCG(seed, uint64(epoch)) of math/rand/v2. No
// version of this package will draw another one.
func Shuffled[T any](s []T, seed uint64) Origin[T] {
	from := FromFunc(func(_ context.Context, from Position) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			o := newOrder(len(s), seed, from.Epoch)
			for i := range s {
				if at := o.next(i); int64(i) >= from.Index && !yield(s[at], nil) {
					return
				}
			}
		}
	})
	from.content = func() string { return fmt.Sprintf("shuffled by seed %d: %s", seed, contentOf(s)) }
	return from
}

// An order is a permutation, of which as much is drawn as has been asked for: the first item of a large source need not
// wait for the last.
type order struct {
	at  []int
	pcg *rand.PCG
}

func newOrder(n int, seed uint64, epoch int) *order {
	o := &order{make([]int, n), rand.NewPCG(seed, uint64(epoch))}
	for i := range o.at {
		o.at[i] = i
	}
	return o
}

// next returns what stands at place i. The places are asked for in turn.
//
// It is written out, because that of rand.Shuffle is not promised to stay.
func (o *order) next(i int) int {
	far, _ := bits.Mul64(o.pcg.Uint64(), uint64(len(o.at)-i))
	j := i + int(far)
	o.at[i], o.at[j] = o.at[j], o.at[i]
	return o.at[i]
}

// Shard takes every world-th item of from, beginning with the rank-th, counted from 0: the share of one of world equal
// consumers. Ranks get equally many items; the up to world-1 that are left over are dropped, as training loops need it.
// So an item comes out when the world-1 behind those of the other ranks have been seen: from is read to its end by every
// rank, and one that can seek is entered where the rank begins.
//
// An item that failed has its place in the count and is that of one rank, whose OnError decides; the others do not see
// it. It is never dropped, not even among those left over: a source that breaks off is not taken for one that has ended.
// An error that is [Fatal] concerns the source, and comes out at every rank.
func Shard[T any](from Origin[T], rank, world int) Origin[T] {
	if fault := shardFault(rank, world); fault != "" {
		if from.fault != "" {
			fault = from.fault + "; " + fault
		}
		return Origin[T]{fault: fault}
	}
	if from.open == nil {
		return from
	}
	if content := from.content; content != nil {
		from.content = func() string { return fmt.Sprintf("shard %d of %d of %s", rank, world, content()) }
	} else {
		from.content = func() string { return fmt.Sprintf("shard %d of %d of a function", rank, world) }
	}
	whole := from.open
	from.open = func(ctx context.Context, at Position) iter.Seq2[T, error] {
		first := at.Index * int64(world)
		if at.Index > math.MaxInt64/int64(world) {
			first = math.MaxInt64 // no source reaches as far
		}
		all := whole(ctx, Position{at.Epoch, first})
		return func(yield func(T, error) bool) { everyNth(all, rank, world, yield) }
	}
	return from
}

// shardFault says what is wrong with a rank, or nothing.
func shardFault(rank, world int) string {
	switch {
	case world < 1:
		return fmt.Sprintf("a shard of %d, want at least 1", world)
	case rank < 0 || rank >= world:
		return fmt.Sprintf("shard %d of %d, want 0 to %d", rank, world, world-1)
	}
	return ""
}

// everyNth yields one item of each round of world. It holds the item until the round is full.
func everyNth[T any](all iter.Seq2[T, error], rank, world int, yield func(T, error) bool) {
	var mine, none T
	place, held := 0, false
	for v, err := range all {
		what := plan.Examine(err, nil)
		err = what.Err
		switch {
		case what.Fatal:
			yield(v, err)
			return
		case place == rank && err != nil:
			if !yield(v, err) {
				return
			}
		case place == rank:
			mine, held = v, true
		}
		if place++; place < world {
			continue
		}
		v, full := mine, held
		place, mine, held = 0, none, false // what the caller has is not kept here
		if full && !yield(v, nil) {
			return
		}
	}
}
