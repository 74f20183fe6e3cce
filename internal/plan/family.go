package plan

import "sync/atomic"

// A Fate is what became of an item. Fates of the members of a family combine by or.
type Fate uint32

// A source item is Failed if anything made of it failed for good, else Delivered if anything reached the consumer, else
// Filtered.
const (
	Filtered  Fate = 0
	Delivered Fate = 1
	Failed    Fate = 2
)

// An Account counts the items of all sources by their fate. What is neither is in flight.
//
// It may be read at any time. Tallies are added to it by several goroutines. What was yielded is known by the gates of
// the sources, but for the items that failed there.
type Account struct{ delivered, filtered, failed, lost atomic.Int64 }

// Lose counts n items that a source yielded as failures: they have no place in its gate.
func (a *Account) Lose(n int64) {
	a.lost.Add(n)
	a.failed.Add(n)
}

// Lost returns how many items were counted by Lose.
func (a *Account) Lost() int64 { return a.lost.Load() }

// Settled returns the number of items whose fate is decided. To find what is in flight, read what was yielded
// afterwards.
func (a *Account) Settled() (delivered, filtered, failed int64) {
	return a.delivered.Load(), a.filtered.Load(), a.failed.Load()
}

// A Tally collects fates in one goroutine, to be added to an Account now and then. Families are made there too.
type Tally struct {
	delivered, filtered, failed int64

	slab    []Family // not used yet
	watched bool     // Ends is wanted
	ends    []End
}

// An End is items of a source of which nothing is alive any more, and what has become of them: N of them, each Step behind
// the one before.
type End struct {
	Source, Epoch  int
	Index, N, Step int64
	Fate           Fate
	// Of is what several items have become together, if that is what has ended: N is 0, and the items follow.
	Of *Family
}

// Watch has the tally note which items of the sources end, for TakeEnds.
func (t *Tally) Watch() { t.watched = true }

// TakeEnds returns what has ended since the last call. It is valid until the tally is used again.
func (t *Tally) TakeEnds() []End {
	e := t.ends
	t.ends = t.ends[:0]
	return e
}

// slabSize is how many families are allocated at once. A slab lives as long as one of them.
const slabSize = 16

func (t *Tally) family() *Family {
	if len(t.slab) == 0 {
		t.slab = make([]Family, slabSize)
	}
	f := &t.slab[0]
	t.slab = t.slab[1:]
	return f
}

// Add adds t to the account and empties it. It reports whether something has failed.
func (a *Account) Add(t *Tally) (failed bool) {
	if t.delivered > 0 {
		a.delivered.Add(t.delivered)
	}
	if t.filtered > 0 {
		a.filtered.Add(t.filtered)
	}
	if t.failed > 0 {
		a.failed.Add(t.failed)
	}
	failed = t.failed > 0
	t.delivered, t.filtered, t.failed = 0, 0, 0
	return failed
}

// FilterDelivered counts what was filtered as delivered: see package weak.
func (t *Tally) FilterDelivered() { t.delivered, t.filtered = t.delivered+t.filtered, 0 }

func (t *Tally) count(f Fate, n int64) {
	switch {
	case f&Failed != 0:
		t.failed += n
	case f&Delivered != 0:
		t.delivered += n
	default:
		t.filtered += n
	}
}

// Settle says what became of the items [from, to) of ids.
func (t *Tally) Settle(ids *IDs, from, to int, f Fate) {
	for k := range ids.runs {
		if from >= to {
			return
		}
		r := &ids.runs[k]
		n := int(r.n)
		if from < n {
			m := min(n, to) - from
			t.settle(r, from, int64(m), f)
			from += m
		}
		from, to = from-n, to-n
	}
}

// SettleOne is Settle for a single item.
func (t *Tally) SettleOne(r Run, f Fate) { t.settle(&r, 0, 1, f) }

// settle says what became of n items of r from i on.
func (t *Tally) settle(r *Run, i int, n int64, f Fate) {
	switch fam := r.fam; {
	case fam == nil:
		t.count(f, n)
		if t.watched {
			t.ends = append(t.ends, End{int(r.src), int(r.epoch), int64(r.index) + int64(i*r.step()), n, int64(r.step()), f, nil})
		}
	case fam.split() != nil:
		t.settleMembers(fam, r.from(i, int(n)), f)
	default:
		t.settleAll(fam, n, f)
	}
}

// settleAll settles n members of a family whose members share their fate.
func (t *Tally) settleAll(fam *Family, n int64, f Fate) {
	fam.fate.Or(uint32(f))
	if fam.alive.Add(-n) == 0 {
		if t.watched && fam.merges() {
			t.ends = append(t.ends, End{Of: fam})
		}
		t.Settle(&fam.parents, 0, fam.parents.n, Fate(fam.fate.Load()))
		fam.parents, fam.one[0] = IDs{}, Run{} // those that live on in its slab must not hold its ancestors'
	}
}

// A Family is what was made of some items together: the outputs of one input, or the batch of many. The fate of its
// parents is decided when none of its members is alive. Its members may be settled in any goroutine.
type Family struct {
	alive   atomic.Int64
	fate    atomic.Uint32
	parents IDs      // immutable once members exist
	one     [1]Run   // memory for a single run of parents
	special *special // nil: its members share their fate, and are called after their parents
}

// merges reports whether its members are what items have become together.
func (f *Family) merges() bool {
	return f.split() == nil && (f.parents.n != 1 || f.special != nil && f.special.name != nil)
}

// special is what only some families are.
type special struct {
	split *Split // its members are items that parted, each with a fate of its own
	deal  *Deal  // its members are parts of a batch
	name  *Run   // its only member is a batch that was joined, and goes by its old name
	kept  []int  // the elements of that batch that are still there; nil: all
	path  string // of members without parents: of the item at which they were made
	// paths are, by member, what stands behind the first parent's path: of members that were made in another process.
	paths []string
	spots []spot // where its members stand in the order of forks; nil: where the last of their parents does
}

// split returns where the members of f parted, or nil. f may be nil.
func (f *Family) split() *Split {
	if f == nil || f.special == nil {
		return nil
	}
	return f.special.split
}

// Kids appends the identities of the n outputs of parent to s. A single output goes on under the identity of its
// parent. Families come from t.
func (s *IDs) Kids(t *Tally, parent Run, n int) {
	if n == 1 {
		s.add(parent)
		return
	}
	f := NewFamily(t, parent, int64(n))
	s.Members(f, 0, n)
}

// NewFamily returns a family of alive members with one parent.
func NewFamily(t *Tally, parent Run, alive int64) *Family {
	f := t.family()
	f.one[0] = parent
	f.parents = IDs{f.one[:], 1}
	f.alive.Store(alive)
	return f
}

// Grow adds n members to a family of which at least one is alive.
func (f *Family) Grow(n int) { f.alive.Add(int64(n)) }

// Settle says what became of one member that has no identity of its own: a parent that is still being worked on.
func (f *Family) Settle(t *Tally, fate Fate) { t.settleAll(f, 1, fate) }

// Members appends members [from, from+n) of f to s.
func (s *IDs) Members(f *Family, from, n int) {
	p := f.parents.runs[0]
	s.add(Run{index: p.index, fam: f, sub: uint32(from), n: uint32(n), epoch: p.epoch, src: p.src, kids: true})
}

// Merged appends the identities of n outputs that the items in parents have become together, and empties parents. A
// single output has the identity of the first parent. at is the item during which they were made; it names outputs
// that have no parents, and they stand where it stands.
func (s *IDs) Merged(t *Tally, parents *IDs, at Run, n int) {
	spots := at.spots()
	if spots != nil && parents.n > 0 && parents.last() == at {
		spots = nil // it is known from the parents
	}
	if parents.n == 1 && spots == nil {
		s.Kids(t, parents.runs[0], n)
		parents.Reset()
		return
	}
	f := t.family()
	f.alive.Store(int64(n))
	first, kids := at, true // an output without parents is named as a child of at
	if parents.n > 0 {
		first, kids = parents.runs[0], n > 1
	}
	if spots != nil || parents.n == 0 {
		f.special = &special{spots: spots}
	}
	switch len(parents.runs) {
	case 0:
		id := at.id(0) // now: the item may be gone before they are
		f.special.path, first.index = id.Path, uint64(id.Index)
	case 1:
		f.one[0] = parents.runs[0]
		f.parents = IDs{f.one[:], parents.n}
		parents.Reset()
	default:
		f.parents, *parents = *parents, IDs{}
	}
	s.add(Run{index: first.index, fam: f, n: uint32(n), epoch: first.epoch, src: first.src, kids: kids})
}
