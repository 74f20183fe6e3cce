package supervisor

import (
	"cmp"
	"slices"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// A waiting is outputs that leave together, or a row of outputs each of which was made of one input, or the end of an epoch
// behind what stands before.
type waiting struct {
	outs   []wire.FrameOutput
	first  int         // place of the first one in its chunk
	row    bool        // roots is as many inputs as there are outputs
	gone   bool        // it has left with others
	roots  []plan.Root // what they were made of
	leaves []plan.Leaf // in a region in which inputs leave by parts
	group  *siblings   // nil: it stands alone
	ends   bool
	epoch  int
}

// follows reports whether an output of one input goes on with a row.
func (w *waiting) follows(r plan.Root) bool {
	l := &w.roots[0]
	if l.Source != r.Source || l.Epoch != r.Epoch {
		return false
	}
	if l.N == 1 && r.Index > l.Index {
		l.Step = r.Index - l.Index
		return true
	}
	return r.Index == l.Index+l.N*l.Step
}

// fit is how many outputs have no more bytes than most: at least one. It is all of what leaves together.
func (w *waiting) fit(most int) int {
	if !w.row {
		return len(w.outs)
	}
	for i := range w.outs {
		if most -= len(w.outs[i].Payload.Bytes); most < 0 {
			return max(i, 1)
		}
	}
	return len(w.outs)
}

// Siblings are outputs that an aggregate has made together.
type siblings struct {
	left int // that have not come out
	last int // place in the queue of the last one that has
}

// An inputAt is one item of a source.
type inputAt struct {
	actors.EpochOf
	at int64
}

// A frameQueue is outputs that wait until what they were made of is over.
type frameQueue struct {
	list []*waiting
	wait map[actors.EpochOf]*plan.Spans // inputs of outputs in it
	of   map[inputAt][]*waiting         // nil: no input is in several of them
	all  bool                           // nothing is waited for any more
	// turns says that what comes of different inputs on different ways is in an order, too: nothing leaves ahead of its place.
	turns bool
	upto  int // of the list, that leaves together then
}

// mostTogether is how many outputs wait, where there are turns, for others of the same inputs. Beyond that they leave without them:
// those come a second time if the process dies in between.
const mostTogether = 8192

func (q *frameQueue) init(several, turns bool) {
	q.turns = turns
	if q.wait = map[actors.EpochOf]*plan.Spans{}; several {
		q.of = map[inputAt][]*waiting{}
	}
}

func (q *frameQueue) push(v waiting) {
	w := &v
	q.list = append(q.list, w)
	for _, r := range w.roots {
		at := actors.EpochOf{Source: r.Source, Epoch: r.Epoch}
		if q.wait[at] == nil {
			q.wait[at] = &plan.Spans{}
		}
		if r.Step == 1 {
			q.wait[at].Add(r.Index, r.Index+r.N)
		}
		for i := int64(0); i < r.N && (q.of != nil || r.Step != 1); i++ {
			k := r.Index + i*r.Step
			if r.Step != 1 {
				q.wait[at].Add(k, k+1)
			}
			if q.of == nil {
				continue
			}
			in := inputAt{at, k}
			if all := q.of[in]; len(all) == 0 || all[len(all)-1] != w {
				q.of[in] = append(all, w)
			}
		}
	}
}

// front returns the first that has not left, of which there is one.
func (q *frameQueue) front() *waiting {
	return q.list[0]
}

// pop removes the first one.
func (q *frameQueue) pop() {
	q.list[0] = nil
	q.list = q.list[1:]
	for len(q.list) > 0 && q.list[0].gone {
		q.list = q.list[1:]
	}
}

// popFront removes the first one, with those that have left with it.
func (q *frameQueue) popFront() {
	w := q.front()
	q.forget(w, int64(len(w.outs)))
	q.upto = max(q.upto-1, 0)
	q.pop()
}

// cut removes the first k outputs of the first one, which is a row.
func (q *frameQueue) cut(k int) {
	w := q.front()
	q.forget(w, int64(k))
	w.outs = w.outs[k:]
	w.roots[0].Index += int64(k) * w.roots[0].Step
	w.roots[0].N -= int64(k)
}

// forget notes that outputs have left.
func (q *frameQueue) forget(w *waiting, k int64) {
	for _, r := range w.roots {
		n := r.N
		if w.row {
			n = k
		}
		at := actors.EpochOf{Source: r.Source, Epoch: r.Epoch}
		q.remove(at, r.Index, n, r.Step)
	}
}

func (q *frameQueue) remove(at actors.EpochOf, index, n, step int64) {
	s := q.wait[at]
	if s == nil {
		return
	}
	if step == 1 {
		s.Remove(index, index+n)
	}
	for i := int64(0); i < n && (step != 1 || q.of != nil); i++ {
		if step != 1 {
			s.Remove(index+i*step, index+i*step+1)
		}
		if q.of != nil {
			delete(q.of, inputAt{at, index + i*step})
		}
	}
	if len(s.All()) == 0 {
		delete(q.wait, at)
	}
}

// closure returns what leaves with the first one: all outputs of which the inputs are the same, in order. It reports false if
// something of that is not complete.
//
// They leave ahead of others that stand between them. Those have come of other inputs on other ways, so no order is promised
// between them.
func (q *frameQueue) closure(f *frames) ([]*waiting, bool) {
	w := q.front()
	switch {
	case q.of == nil || q.all:
		return []*waiting{w}, true
	case q.turns:
		return []*waiting{w}, q.upto > 0 || q.inTurns(f)
	}
	set := []*waiting{w}
	for k := 0; k < len(set); k++ {
		for _, r := range set[k].roots {
			for i := range r.N {
				for _, o := range q.of[inputAt{actors.EpochOf{Source: r.Source, Epoch: r.Epoch}, r.Index + i*r.Step}] {
					if !slices.Contains(set, o) {
						set = append(set, o)
					}
				}
			}
		}
	}
	if len(set) == 1 {
		return set, true
	}
	for _, o := range set {
		if f.complete(o) < len(o.outs) {
			return nil, false
		}
	}
	place := func(w *waiting) int { return slices.Index(q.list, w) }
	slices.SortFunc(set, func(a, b *waiting) int { return place(a) - place(b) })
	for _, o := range set[1:] {
		o.gone = true
		q.forget(o, int64(len(o.outs)))
	}
	return set, true
}

// inTurns finds how much of the queue may leave in its order: outputs of which all inputs are in no other output behind them.
func (q *frameQueue) inTurns(f *frames) bool {
	last := map[*waiting]int{}
	for i, w := range q.list {
		last[w] = i
	}
	most, n := 0, 0
	for i, w := range q.list {
		if w.ends {
			if most <= i {
				break
			}
			continue
		}
		if f.complete(w) < len(w.outs) {
			return false
		}
		for _, r := range w.roots {
			for k := range r.N {
				all := q.of[inputAt{actors.EpochOf{Source: r.Source, Epoch: r.Epoch}, r.Index + k*r.Step}]
				if len(all) > 0 {
					most = max(most, last[all[len(all)-1]])
				}
			}
		}
		n += len(w.outs)
		if most <= i || n >= mostTogether {
			q.upto = i + 1
			return true
		}
	}
	return false
}

// together returns how much of the queue may leave: of outputs that were made together, all or none.
func (f *frames) together() int {
	all := f.queue.list
	if !f.t.region.Parts || f.queue.all {
		return len(all)
	}
	n := 0
	for n < len(all) && (all[n].ends || f.complete(all[n]) > 0) {
		n++
	}
	for i, w := range all {
		if w.group != nil {
			w.group.last = i
		}
	}
	for i := 0; i < n; i++ {
		if g := all[i].group; g != nil && g.last >= n {
			n, i = i, -1 // it waits, and with it what comes behind it
		}
	}
	return n
}

// members says what outputs were made of.
func (w *waiting) members() (all []wire.Member) {
	if w.leaves == nil {
		return members(w.roots)
	}
	for _, l := range w.leaves {
		all = append(all, wire.Member{Source: l.Source, Epoch: l.Epoch, Index: l.Index, N: l.N, Path: l.Path})
	}
	return all
}

// complete returns how many outputs of w are complete: everything that they were made of is over. It is all or none if it is not a
// row.
func (f *frames) complete(w *waiting) int {
	if f.queue.all || f.t.region.Parts && (w.group == nil || w.group.left == 0) {
		return len(w.outs)
	}
	if f.t.region.Parts {
		return 0
	}
	for _, r := range w.roots {
		at := actors.EpochOf{Source: r.Source, Epoch: r.Epoch}
		p, last, behind := f.epochs[at], f.last[at], f.behind[at]
		if p == nil {
			return 0
		}
		n := r.N
		if r.Step == 1 && last == nil && behind == nil {
			n = p.over.From(r.Index, r.N)
		} else {
			for i := range r.N {
				if k := r.Index + i*r.Step; !p.over.Has(k) || last.Has(k) || behind.Has(k) {
					n = i
					break
				}
			}
		}
		switch {
		case w.row:
			return int(n)
		case n < r.N:
			return 0
		}
	}
	return len(w.outs)
}

// takeOver returns what is done: what is over, and of which no output waits.
func (f *frames) takeOver() (all []wire.Span) {
	for at, set := range f.over {
		wait, last, behind := f.queue.wait[at], f.last[at], f.behind[at]
		var keep *overSet
		for fate := range set {
			for _, s := range set[fate].All() {
				for from := s.From; from < s.To; {
					to, held := s.To, false
					if wait != nil || last != nil || behind != nil {
						to = min(to, wait.Border(from), last.Border(from), behind.Border(from))
						held = wait.Has(from) || last.Has(from) || behind.Has(from)
					}
					if !held {
						all = append(all, wire.Span{Source: at.Source, Epoch: at.Epoch, From: from, To: to, Fate: uint8(fate)})
					} else {
						if keep == nil {
							keep = &overSet{}
						}
						keep[fate].Add(from, to)
					}
					from = to
				}
			}
		}
		if delete(f.over, at); keep != nil {
			f.over[at] = keep
		}
	}
	slices.SortFunc(all, func(a, b wire.Span) int {
		return cmp.Or(a.Source-b.Source, a.Epoch-b.Epoch, cmp.Compare(a.From, b.From))
	})
	return all
}

// members says what an output was made of.
func members(roots []plan.Root) (all []wire.Member) {
	for _, r := range roots {
		for i := range r.N {
			at := r.Index + i*r.Step
			n := len(all)
			if n > 0 {
				l := &all[n-1]
				if l.Source == r.Source && l.Epoch == r.Epoch {
					switch {
					case l.Index+l.N == at:
						l.N++
						continue
					case at >= l.Index && at < l.Index+l.N:
						continue // siblings of one input
					}
				}
			}
			all = append(all, wire.Member{Source: r.Source, Epoch: r.Epoch, Index: at, N: 1})
		}
	}
	return all
}
