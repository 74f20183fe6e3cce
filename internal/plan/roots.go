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
