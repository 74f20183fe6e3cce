package stages

import (
	"context"
	"reflect"

	"github.com/weirflow/weir/internal/plan"
)

// An Aggregator folds many items into few. Process takes one item, and may emit what is complete. Flush emits the rest:
// at the end of each epoch, when [MaxWait] is up and when [MaxHeld] items are held. Held says how many of the latest
// items still wait to be in an output: those are given, in order, to the aggregator that replaces this one after a panic;
// anything older is gone, and must not be needed. If it is an io.Closer it is closed in the end.
//
// What is held is the end of the input, without gaps. Groups that become complete at different times are therefore one
// aggregator each: [AggregateByKey].
type Aggregator[In, Out any] interface {
	Worker[In, Out]
	Flusher[Out]
}

// Aggregate folds items with an aggregator of the user's. It sees one item at a time, in input order. open is called
// once per run, and again when a panic has cost the aggregator; its error is a failed start, as for [MapWith]. An error
// of Process concerns its item, which must not be held then; one of Flush fails the run.
func Aggregate[In, Out any, A Aggregator[In, Out]](in Stream[In], name string, open func(ctx context.Context) (A, error), opts ...SerialOption) Stream[Out] {
	k := SerialKind[In, Out]{Name: "aggregate", Holds: true}
	if open != nil {
		k.Open = func(ctx context.Context) (Worker[In, Out], error) { return open(ctx) }
	}
	return AttachSerial(in, name, k, opts...)
}

// AggregateByKey is Aggregate with one aggregator per key: batches by length, windows per user. An aggregator is opened
// with its key's first item and closed, if it is an io.Closer, when it holds nothing any more: after the Flush that
// follows its last item, or after a Process that lets go of everything. So its state does not outlast what it holds: a
// running total belongs elsewhere. Held and Flush are about the items of its key.
//
// At most [Groups] are open at once; the one that has waited longest, which is the one that holds the oldest item, is
// flushed and closed to make room for another. So it is when [MaxHeld] items are held in all groups together. With
// [MaxWait], those are flushed of which an item has waited that long. At the end of an epoch all are, in the order of
// their oldest items; with [DropLast] what they emit then is dropped.
//
// key must depend on the item only. A key that is not equal to itself, as a NaN is, makes a group of its own each
// time: what such a group holds is flushed without another item, and until then it takes one of the Groups.
// An error of open fails the item that the aggregator was opened for, which [ItemID] names there; a [Hook] around items is
// around Process and does not see it. One of Close is an event.
// A panic, also in key, open and Close, costs all groups: what they held is given to new ones, in input order.
func AggregateByKey[K comparable, In, Out any, A Aggregator[In, Out]](
	in Stream[In], name string, key func(v In) K, open func(ctx context.Context, key K) (A, error), opts ...SerialOption,
) Stream[Out] {
	d := newDraft(name, "aggregate by key", reflect.TypeFor[Out]())
	d.Groups = defaultGroups
	d.constructor("", key == nil || open == nil)
	return attachSerial(in, d, SerialKind[In, Out]{Holds: true}, opts, func(ctx context.Context, g *Graph, s *plan.Stage) (plan.Kernel, error) {
		k := newKeyedKernel(key, open, s)
		if len(g.aroundItems) > 0 {
			k.worker = withHooks[In, Out](ctx, g, s, k, k.tooMany)
		}
		return k, nil
	})
}

// defaultGroups is how many groups may be open where nothing else is said.
const defaultGroups = 1024
