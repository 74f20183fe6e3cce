package actors

import (
	"fmt"
	"slices"
	"sort"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A stream region that is fed from here. Its inputs stay with the framer until they are done: a set of them, not the
// first ones, since what an aggregate holds back may be older than what was filtered behind it. What is not done is sent again
// to the next node.

// A fed is what the framer of such a region has besides.
type fed struct {
	lots  []*fedLot
	count uint64 // inputs ever; the id of the next one
	ended bool   // no more come
}

// A fedLot is a chunk of inputs.
type fedLot struct {
	chunk plan.Chunk
	first uint64 // id
	epoch int    // by ends that have come before it
	done  plan.Spans
	left  int  // inputs that are not done
	last  bool // an epoch ends behind it, and that has not come back
}

type (
	// fedInput is inputs for a framer.
	fedInput struct {
		quiet
		chunk plan.Chunk
	}
	// fedEnd says to a framer that no more inputs come: behind them, so it is no control message.
	fedEnd struct{ quiet }
	// fedDone is told by a framer: so many places of its input have left.
	fedDone struct {
		quiet
		places int
	}
)

func (*fedDone) control() {}

// take takes inputs into custody.
func (a *framer) take(c plan.Chunk) {
	h, n := c.Head(), c.Len()
	if h.Round.Fork != 0 {
		h.Round = plan.Round{} // nobody asks for the order behind an aggregate
		a.tell(&fedDone{places: 1})
	}
	if n == 0 && !h.Last {
		c.Free()
		return
	}
	l := &fedLot{chunk: c, first: a.fed.count, left: n, last: h.Last, epoch: h.Epoch}
	a.fed.count += uint64(n)
	a.fed.lots = append(a.fed.lots, l)
	if a.ready {
		a.send(l)
	}
}

// sendAll sends what is not done to a new node.
func (a *framer) sendAll() {
	for _, l := range slices.Clone(a.fed.lots) {
		a.send(l)
	}
	if a.fed.ended {
		a.session.Send(&wire.End{Last: a.fed.count})
	}
}

// send sends what is not done of a lot.
func (a *framer) send(l *fedLot) {
	var t wire.Task
	var refused []step
	var ids plan.IDs
	at := l.chunk.Head().IDs.From(0)
	size := 0
	for i := range l.chunk.Len() {
		run := at.Next()
		if l.done.Has(int64(i)) {
			continue
		}
		id := run.ID()
		p, err := a.session.Pack(l.chunk, i)
		if err != nil {
			spec := a.s.run.spec(a.s.spec.Far.Region.From)
			refused = append(refused, step{fault: &fault{spec: spec, item: &stages.ItemError{Stage: spec.Name, Item: stages.IDOf(a.s.run.graph, id), Attempts: 1, Err: err}}})
			ids.Append(run)
			l.done.Add(int64(i), int64(i)+1)
			l.left--
			continue
		}
		if size += len(p.Bytes); size > messageBytes && len(t.Items) > 0 {
			a.session.Send(&t)
			t.Items, size = t.Items[:0], len(p.Bytes)
		}
		t.Items = append(t.Items, wire.Item{
			ID: l.first + uint64(i), Payload: p,
			Identity: wire.Identity{Source: id.Source, Epoch: id.Epoch, Index: id.Index, Path: id.Path},
		})
	}
	if l.last {
		t.Ends = []wire.EpochEnd{{Epoch: l.epoch, After: len(t.Items)}}
	}
	if len(t.Items) > 0 || l.last {
		a.session.Send(&t)
	}
	a.session.Packed()
	if len(refused) > 0 {
		f := &framed{steps: refused, failed: ids}
		a.tell(f)
		a.tell(&fedDone{places: len(refused)})
		a.tidy()
	}
}

// lot returns the lot with the input of an id, if that is not done, or nil.
func (f *fed) lot(id int64) *fedLot {
	if id < 0 || uint64(id) >= f.count {
		return nil
	}
	k := sort.Search(len(f.lots), func(k int) bool { return f.lots[k].first+uint64(f.lots[k].chunk.Len()) > uint64(id) })
	if k == len(f.lots) || f.lots[k].first > uint64(id) || f.lots[k].done.Has(id-int64(f.lots[k].first)) {
		return nil
	}
	return f.lots[k]
}

// check refuses a frame that speaks of what is not there.
func (f *fed) check(m *wire.Frame) error {
	for _, s := range m.Done {
		for i := s.From; i < s.To; i++ {
			if f.lot(i) == nil {
				return fmt.Errorf("the node speaks of input %d, which is not there", i)
			}
		}
	}
	for i := range m.Outputs {
		for _, k := range m.Outputs[i].Members {
			n := k.N
			if k.Path != "" {
				n = 1
			}
			for x := range n {
				if f.lot(k.Index+x) == nil {
					return fmt.Errorf("the node speaks of input %d, which is not there", k.Index+x)
				}
			}
		}
	}
	for i := range m.Failed {
		if at := m.Failed[i].Identity.Index; f.lot(at) == nil {
			return fmt.Errorf("the node speaks of input %d, which is not there", at)
		}
	}
	return nil
}

// over lets go of the inputs that a frame says are done, and of the ends of epochs that have come back.
func (a *framer) over(m *wire.Frame) {
	places := 0
	for _, s := range m.Done {
		for i := s.From; i < s.To; i++ {
			l := a.fed.lot(i)
			at := i - int64(l.first)
			l.done.Add(at, at+1)
			l.left--
			places++
		}
	}
	for range m.Epochs {
		for _, l := range a.fed.lots {
			if l.last {
				l.last = false
				places++
				break
			}
		}
	}
	a.tidy()
	if places > 0 {
		a.tell(&fedDone{places: places})
	}
}

// tidy forgets the lots of which nothing is left.
func (a *framer) tidy() {
	a.fed.lots = slices.DeleteFunc(a.fed.lots, func(l *fedLot) bool {
		if l.left > 0 || l.last {
			return false
		}
		l.chunk.Free()
		return true
	})
}

// sources appends the names of n items of a source from index on: those of inputs, where the region is fed from here.
func (a *framer) sources(ids *plan.IDs, at EpochOf, index, n int64) {
	if a.fed == nil {
		ids.Source(at.Source, at.Epoch, index, int(n))
		return
	}
	for i := range n {
		l := a.fed.lot(index + i)
		c := l.chunk.Head().IDs.From(int(index + i - int64(l.first)))
		ids.Append(c.Peek())
	}
}

// named is the name, in the run, of an item that the node speaks of.
func (a *framer) named(id plan.ID) plan.ID {
	if a.fed == nil {
		return id
	}
	var one plan.IDs
	a.sources(&one, EpochOf{}, id.Index, 1)
	was := one.At(0)
	was.Path += id.Path
	return was
}
