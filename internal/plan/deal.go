package plan

// What becomes of a batch that is split over branches, and of its parts when they meet again.

// A Deal is how one batch was split into parts.
type Deal struct {
	batch Run   // what was split
	To    []int // the branch of each of its elements
	fork  int
}

// Parts appends to ids, one per branch, the identities of the n parts that the batch under parent was split into; part
// i, ".i" in the path, goes down branch branches[i], or nowhere if that is None, but not all of them. to says where each element went, and is kept.
func (d *Deal) Parts(t *Tally, ids []*IDs, parent Run, fork int, branches, to []int) {
	d.batch, d.To, d.fork = parent, to, fork
	f := NewFamily(t, parent, 0)
	f.special = &special{deal: d}
	for i, b := range branches {
		if b != None {
			f.Grow(1)
			ids[b].Members(f, i, 1)
		}
	}
}

// DealOf returns how the batch was split, at fork, of which the item under the cursor is a part, or nil; and which of the
// part's elements are still there, nil for all of them: it may itself have been split, and joined without what failed.
func (c *Cursor) DealOf(fork int) (d *Deal, kept []int) {
	for r := c.Peek(); r.fam != nil && r.n > 0; {
		x := r.fam.special
		switch {
		case x == nil:
		case x.deal != nil && x.deal.fork == fork:
			return x.deal, kept
		case x.name != nil: // a batch that has been joined: it goes on where it was split
			if x.kept != nil {
				kept = within(x.kept, kept)
			}
			r = *x.name
			continue
		}
		r = r.up()
	}
	return nil, nil
}

// within returns the elements kept, nil for all, of those that of names.
func within(of, kept []int) []int {
	if kept == nil {
		return of
	}
	all := make([]int, len(kept))
	for i, k := range kept {
		all[i] = of[k]
	}
	return all
}

// Join appends the identity of the batch that the items in parts have become together: that of the batch that was
// split. kept are the elements that are still there, nil for all of them. It empties parts.
func (d *Deal) Join(s, parts *IDs, kept []int) {
	f := &Family{special: &special{name: &d.batch, kept: kept}}
	f.alive.Store(1)
	f.parents, *parts = *parts, IDs{}
	b := d.batch
	s.add(Run{index: b.index, fam: f, n: 1, epoch: b.epoch, src: b.src, kids: true})
}
