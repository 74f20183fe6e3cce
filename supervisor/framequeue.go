package supervisor

import (
	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// What has come out and waits to leave.
//
// An output is known by its leaves (plan.Leaf): what it was made of, as far as that came of one item of a source each. The next
// node makes again what has not been accepted: inputs that are not done are yielded again, and leaves that were accepted are dropped
// where they are made (stages/suppress.go). So whatever has come of one leaf leaves in one frame, and a leaf that is a whole input
// is done in that frame, too. It is the only rule, and it asks for a wait only where an aggregate's output became several.

// A waiting is an output, or a row of them that need not leave together; outputs that do; something that has failed; or the end of an
// epoch behind what stands before.
type waiting struct {
	outs   []wire.FrameOutput
	first  int            // place of the first one in its chunk
	row    bool           // root is as many inputs as there are outputs, and nothing else has come of those
	root   plan.Root      // of a row
	leaves []plan.Leaf    // of all others: what they were made of
	single bool           // there is one leaf, of as many siblings as there are outputs
	groups []*plan.Family // what items became together first, on the way to them
	rec    *failure       // how it has failed; nil: it has not
	ends   bool
	epoch  int
	at     int // place in the queue, of all that have been in it
}

// follows reports whether an output of one input goes on with a row.
func (w *waiting) follows(r plan.Root) bool {
	l := &w.root
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
	if !w.row && !w.single {
		return len(w.outs)
	}
	for i := range w.outs {
		if most -= len(w.outs[i].Payload.Bytes); most < 0 {
			return max(i, 1)
		}
	}
	return len(w.outs)
}

// inputs tells which inputs the next k outputs were made of.
func (w *waiting) inputs(k int, tell func(at actors.EpochOf, index, n, step int64)) {
	if w.row {
		r := &w.root
		tell(actors.EpochOf{Source: r.Source, Epoch: r.Epoch}, r.Index, int64(k), r.Step)
	}
	for i := range w.leaves {
		l := &w.leaves[i]
		tell(actors.EpochOf{Source: l.Source, Epoch: l.Epoch}, l.Index, l.Inputs(), 1)
	}
}

// members says what outputs were made of.
func (w *waiting) members() []wire.Member {
	all := make([]wire.Member, len(w.leaves))
	for i, l := range w.leaves {
		all[i] = wire.Member{Source: l.Source, Epoch: l.Epoch, Index: l.Index, N: l.N, Path: l.Path}
	}
	return all
}

// A together is the outputs in the queue that have something of a group, and the failures.
type together struct {
	over bool // nothing of it is alive
	last int  // place of the last one
	n    int
}

// An inputAt is one item of a source.
type inputAt struct {
	actors.EpochOf
	at int64
}

// A frameQueue is outputs that wait.
type frameQueue struct {
	list   []*waiting
	put    int                            // how many have ever been in it
	wait   map[actors.EpochOf]*plan.Spans // inputs of outputs in it
	more   map[inputAt]int                // in how many more than one, of the same inputs
	groups map[*plan.Family]*together     // of outputs in it
	all    bool                           // nothing is waited for any more
}

func (q *frameQueue) init() {
	q.wait, q.more, q.groups = map[actors.EpochOf]*plan.Spans{}, map[inputAt]int{}, map[*plan.Family]*together{}
}

func (q *frameQueue) push(v waiting) {
	w := &v
	w.at = q.put
	q.put++
	q.list = append(q.list, w)
	w.inputs(len(w.outs), q.hold)
	for _, g := range w.groups {
		t := q.groups[g]
		if t == nil {
			t = &together{}
			q.groups[g] = t
		}
		t.n++
		t.last = w.at
	}
}

// hold notes that an output was made of inputs.
func (q *frameQueue) hold(at actors.EpochOf, index, n, step int64) {
	s := q.wait[at]
	if s == nil {
		s = &plan.Spans{}
		q.wait[at] = s
	}
	if step == 1 && !s.Has(index) && s.Border(index) >= index+n {
		s.Add(index, index+n)
		return
	}
	for k := index; k < index+n*step; k += step {
		if s.Has(k) {
			q.more[inputAt{at, k}]++
		} else {
			s.Add(k, k+1)
		}
	}
}

// let notes that such an output has left.
func (q *frameQueue) let(at actors.EpochOf, index, n, step int64) {
	s := q.wait[at]
	if step == 1 && len(q.more) == 0 {
		s.Remove(index, index+n)
	} else {
		for k := index; k < index+n*step; k += step {
			switch in := (inputAt{at, k}); q.more[in] {
			case 0:
				s.Remove(k, k+1)
			case 1:
				delete(q.more, in)
			default:
				q.more[in]--
			}
		}
	}
	if len(s.All()) == 0 {
		delete(q.wait, at)
	}
}

// pop removes the first k outputs of the first one, and that with the last of them.
func (q *frameQueue) pop(k int) {
	w := q.list[0]
	if w.row || k == len(w.outs) {
		w.inputs(k, q.let)
	}
	if k < len(w.outs) {
		w.outs = w.outs[k:]
		w.root.Index += int64(k) * w.root.Step
		w.root.N -= int64(k)
		if w.single {
			w.leaves[0] = w.leaves[0].From(int64(k))
		}
		return
	}
	for _, g := range w.groups {
		if t := q.groups[g]; t.n > 1 {
			t.n--
		} else {
			delete(q.groups, g)
		}
	}
	q.list[0] = nil
	q.list = q.list[1:]
}

// ready returns how many of the queue may leave, in its order: of what must leave together, all or none.
func (f *frames) ready() (n int) {
	q := &f.queue
	if q.all || len(q.list) == 0 {
		return len(q.list)
	}
	base := q.list[0].at
	upto := 0
	for i, w := range q.list {
		k := f.complete(w)
		if k == 0 && !w.ends {
			break
		}
		for _, g := range w.groups {
			upto = max(upto, q.groups[g].last-base+1)
		}
		if upto <= i+1 {
			n = i + 1
		}
		if k < len(w.outs) {
			break
		}
	}
	return n
}

// complete returns how many outputs of w may leave, but for what must leave with them: nothing else will come of what their leaves
// have become. It is all or none if it is not a row.
func (f *frames) complete(w *waiting) int {
	switch {
	case f.queue.all:
		return len(w.outs)
	case w.row:
		return int(f.overInRow(&w.root))
	case w.rec != nil && f.untimely(w.rec):
		return 0
	}
	for _, g := range w.groups {
		if !f.queue.groups[g].over {
			return 0
		}
	}
	for _, l := range w.leaves {
		if l.Path == "" && f.overInRow(&plan.Root{Source: l.Source, Epoch: l.Epoch, Index: l.Index, N: l.N, Step: 1}) < l.N {
			return 0
		}
	}
	return len(w.outs)
}

// overInRow returns how many of the inputs of r are over and may be told to be, without a gap.
func (f *frames) overInRow(r *plan.Root) int64 {
	at := actors.EpochOf{Source: r.Source, Epoch: r.Epoch}
	p, last, behind := f.epochs[at], f.last[at], f.behind[at]
	if p == nil {
		return 0
	}
	if r.Step == 1 && last == nil && behind == nil {
		return p.over.From(r.Index, r.N)
	}
	for i := range r.N {
		if k := r.Index + i*r.Step; !p.over.Has(k) || last.Has(k) || behind.Has(k) {
			return i
		}
	}
	return r.N
}
