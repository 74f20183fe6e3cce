package plan

// What becomes of a batch that is split over branches, and of its parts when they meet again.

// Shares are the smaller batches that one batch was split into.
type Shares struct {
	batch Run   // what was split
	To    []int // the branch of each of its elements
	fork  int
}

// Split appends to ids, one per branch, the identities of the n parts that the batch under parent was split into; part
// i, ".i" in the path, goes down branch branches[i]. to says where each element went, and is kept.
func (p *Shares) Split(ids []*IDs, parent Run, fork int, branches, to []int) {
	p.batch, p.To, p.fork = parent, to, fork
	f := NewFamily(parent, int64(len(branches)))
	f.shares = p
	for i, b := range branches {
		ids[b].Members(f, i, 1)
	}
}

// ShareOf returns what the item under the cursor is a share of, at fork, or nil.
func (c *Cursor) ShareOf(fork int) *Shares {
	r := c.Peek()
	for r.fam != nil {
		f := r.fam
		switch {
		case f.shares != nil && f.shares.fork == fork:
			return f.shares
		case f.split != nil:
			c := f.parents.From(int(r.sub))
			r = c.Peek()
		default:
			r = f.last()
		}
	}
	return nil
}

// Join appends the identity of the batch that the items in parts have become together: that of the batch that was
// split. It empties parts.
func (p *Shares) Join(s, parts *IDs) {
	f := &Family{name: &p.batch}
	f.alive.Store(1)
	f.parents, *parts = *parts, IDs{}
	b := p.batch
	s.add(Run{index: b.index, fam: f, n: 1, epoch: b.epoch, src: b.src, kids: true})
}
