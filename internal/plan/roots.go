package plan

import (
	"slices"
	"strconv"
)

// What items were made of, for those who must say so in another process.

// A Root is items of a source: N of them, each Step behind the one before.
type Root struct {
	Source, Epoch  int
	Index, N, Step int64
}

// Plain returns the item of a source that the item of r, a run of one, is all of, and whether it is that.
func (r Run) Plain() (Root, bool) {
	return Root{int(r.src), int(r.epoch), int64(r.index), int64(r.n), 1}, r.fam == nil
}

// Sibling reports whether two items, runs of one, were made together: of the same items, as one result.
func (r Run) Sibling(o Run) bool {
	return r.fam != nil && r.fam == o.fam && r.fam.split() == nil && (r.fam.special == nil || r.fam.special.name == nil)
}

// Follows is Sibling for the one that was made next behind o.
func (r Run) Follows(o Run) bool {
	return r.fam != nil && r.fam == o.fam && r.fam.special == nil && r.kids && o.kids && r.sub == o.sub+1
}

// A Leaf is N siblings, from Path on, that came of one item of a source; or N of those items in a row, if there is no Path.
//
// The path is a number for each stage that has made several of one: which of them, or by which branch it has gone. So it names
// one thing in a process, and the same one in the next process; the paths in IDs, which are for people, have no branches.
type Leaf struct {
	Source, Epoch int
	Index, N      int64
	Path          string
}

// Leaves appends what the item of r, a run of one, was made of: as far as it is known which of several that came of one item. The
// item must be alive.
func (r Run) Leaves(all []Leaf) []Leaf {
	if r.Pure() {
		return append(all, r.leaf())
	}
	f := r.fam
	if !f.merges() {
		return r.up().Leaves(all)
	}
	for _, p := range f.parents.runs {
		switch first := p.from(0, 1); {
		case p.fam == nil && p.gap == 0:
			all = append(all, Leaf{int(p.src), int(p.epoch), int64(p.index), int64(p.n), ""})
		case p.kids && p.gap == 0 && p.fam.special == nil && first.Pure():
			l := first.leaf()
			l.N = int64(p.n)
			all = append(all, l)
		default:
			for i := range int(p.n) {
				all = p.from(i, 1).Leaves(all)
			}
		}
	}
	return all
}

// Pure reports whether nothing but one item of a source has gone into the item of r, a run of one: it is a leaf itself.
func (r Run) Pure() bool {
	for r.fam != nil {
		if r.fam.merges() {
			return false
		}
		r = r.up()
	}
	return true
}

// leaf names the item of r, a run of one that is pure.
func (r Run) leaf() Leaf {
	f := r.fam
	if f == nil {
		return Leaf{int(r.src), int(r.epoch), int64(r.index), 1, ""}
	}
	l := r.up().leaf()
	switch x := f.special; {
	case x != nil && x.split != nil:
		if x.split.slots != nil {
			l.Path += "." + strconv.FormatUint(r.index, 10)
		}
	case x != nil && x.paths != nil:
		l.Path += x.paths[r.sub]
	case r.kids:
		l.Path += "." + strconv.FormatUint(uint64(r.sub), 10)
	}
	return l
}

// Groups appends what items have become together first, on the way to the item of r, a run of one: what else comes of the same
// has come of some of the same leaves, too. There is nothing if the item is pure. The item must be alive.
func (r Run) Groups(all []*Family) []*Family {
	if r.Pure() {
		return all
	}
	f := r.fam
	if !f.merges() {
		return r.up().Groups(all)
	}
	first := false
	for _, p := range f.parents.runs {
		if p.fam == nil || p.fam.split() == nil && p.Pure() {
			first = true
			continue
		}
		for i := range int(p.n) {
			one := p.from(i, 1)
			first = first || one.Pure()
			all = one.Groups(all)
		}
	}
	if first && !slices.Contains(all, f) {
		all = append(all, f)
	}
	return all
}

// Inputs returns how many items of the source it is of.
func (l *Leaf) Inputs() int64 {
	if l.Path == "" {
		return l.N
	}
	return 1
}

// From returns l without its first n, which are fewer than there are.
func (l Leaf) From(n int64) Leaf {
	l.N -= n
	if before, last, ok := cutPath(l.Path); ok {
		l.Path = before + "." + strconv.FormatInt(last+n, 10)
	} else {
		l.Index += n
	}
	return l
}
