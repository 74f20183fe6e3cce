package plan

// What items were made of, for those who must say so in another process.

// A Root is items of a source: N of them, each Step behind the one before.
type Root struct {
	Source, Epoch  int
	Index, N, Step int64
}

// Roots appends the items of the sources that the item of r, a run of one, was made of. Some may come twice. The item must be
// alive.
func (r Run) Roots(all []Root) []Root {
	f := r.fam
	if f == nil {
		return append(all, Root{int(r.src), int(r.epoch), int64(r.index), int64(r.n), int64(r.step())})
	}
	if f.split() != nil {
		return f.parents.at(int(r.sub)).Roots(all)
	}
	for _, p := range f.parents.runs {
		if p.fam == nil {
			all = p.Roots(all)
			continue
		}
		for i := range int(p.n) {
			all = p.from(i, 1).Roots(all)
		}
	}
	return all
}

// Sibling reports whether two items, runs of one, were made together: of the same items, as one result.
func (r Run) Sibling(o Run) bool {
	return r.fam != nil && r.fam == o.fam && r.fam.split() == nil && (r.fam.special == nil || r.fam.special.name == nil)
}

// A Leaf is N siblings, from Path on, that came of one item of a source; or N of those items in a row, if there is no Path.
type Leaf struct {
	Source, Epoch int
	Index, N      int64
	Path          string
}

// Leaves appends what the item of r, a run of one, was made of: as far as it is known which of several that came of one item. The
// item must be alive.
func (r Run) Leaves(all []Leaf) []Leaf {
	if r.pure() {
		id := r.ID()
		return append(all, Leaf{id.Source, id.Epoch, id.Index, 1, id.Path})
	}
	f := r.fam
	if f.split() != nil {
		return f.parents.at(int(r.sub)).Leaves(all)
	}
	for _, p := range f.parents.runs {
		switch first := p.from(0, 1); {
		case p.fam == nil && p.gap == 0:
			all = append(all, Leaf{int(p.src), int(p.epoch), int64(p.index), int64(p.n), ""})
		case p.kids && p.gap == 0 && p.fam.split() == nil && first.pure():
			id := first.ID()
			all = append(all, Leaf{id.Source, id.Epoch, id.Index, int64(p.n), id.Path})
		default:
			for i := range int(p.n) {
				all = p.from(i, 1).Leaves(all)
			}
		}
	}
	return all
}

// pure reports whether nothing but one item of a source has gone into the item of r, a run of one.
func (r Run) pure() bool {
	for r.fam != nil {
		f := r.fam
		if f.split() == nil && (f.parents.n != 1 || f.special != nil && f.special.name != nil) {
			return false
		}
		if r = r.up(); r.n == 0 {
			return false
		}
	}
	return true
}

// Together returns what names the outputs that the item of r, a run of one, was made together with, by an aggregate, and how many
// there are of them; nil if it stands alone.
func (r Run) Together() (group any, n int) {
	if r.fam == nil || r.fam.made < 2 {
		return nil, 1
	}
	return r.fam, int(r.fam.made)
}
