package plan

// What items have to do with, told in a few words: for those who must say at any moment, in no time, what they are at.

// A Reach is items [From, To) of an epoch of a source.
type Reach struct {
	Source, Epoch int
	From, To      int64
}

// Meets reports whether the two have an item in common.
func (r *Reach) Meets(o *Reach) bool {
	return r.Source == o.Source && r.Epoch == o.Epoch && r.From < o.To && o.From < r.To
}

// fewRuns is how many runs of parents are looked at. Of longer lists it is the first and the last one, so the rest may be missing
// where their order is no order.
const fewRuns = 8

// Reaches is the smallest Reach, for each epoch of each source, of all that the items [from, to) were made of. It goes into into,
// as far as there is room, and its length is returned. The items must be alive.
func (s *IDs) Reaches(from, to int, into []Reach) (n int) {
	c := collector{into: into}
	c.ids(s, from, to)
	return c.n
}

// plain reports whether item i is all that came of an item of a source.
func (s *IDs) plain(i int) bool {
	c := s.From(i)
	return c.ids.runs[c.k].fam == nil
}

type collector struct {
	into []Reach
	n    int
}

func (c *collector) ids(s *IDs, from, to int) {
	for k := range s.runs {
		if from >= to {
			return
		}
		r := &s.runs[k]
		n := int(r.n)
		if from < n {
			m := min(n, to) - from
			c.run(r, from, m)
			from += m
		}
		from, to = from-n, to-n
	}
}

// run adds n items of r from i on.
func (c *collector) run(r *Run, i, n int) {
	f := r.fam
	switch {
	case f == nil:
		first := int64(r.index) + int64(i*r.step())
		c.add(r, first, first+int64((n-1)*r.step())+1)
	case f.split() != nil:
		first := int(r.sub) + i*r.step()
		c.ids(&f.parents, first, first+(n-1)*r.step()+1)
	case f.parents.n == 0: // made of nothing, while that item was worked on
		c.add(r, int64(r.index), int64(r.index)+1)
	case len(f.parents.runs) > fewRuns:
		first, last := &f.parents.runs[0], &f.parents.runs[len(f.parents.runs)-1]
		c.run(first, 0, int(first.n))
		c.run(last, 0, int(last.n))
	default:
		c.ids(&f.parents, 0, f.parents.n)
	}
}

func (c *collector) add(r *Run, from, to int64) {
	for k := range c.n {
		if x := &c.into[k]; x.Source == int(r.src) && x.Epoch == int(r.epoch) {
			x.From, x.To = min(x.From, from), max(x.To, to)
			return
		}
	}
	if c.n == len(c.into) {
		return
	}
	c.into[c.n] = Reach{int(r.src), int(r.epoch), from, to}
	c.n++
}

// A Name is what an item is called by those who look for it in another incarnation of the process: the inputs that it was made of,
// and its path. The items of one stage have different ones, but for those that have come by several branches.
type Name struct {
	Reach
	Path string
}

// NameOf returns the name of item i. What has gone into it from other sources, or epochs, than into its first part is not said.
func (s *IDs) NameOf(i int) Name {
	id := s.At(i)
	var some [MostReaches]Reach
	n := s.Reaches(i, i+1, some[:])
	for k := range n {
		if x := some[k]; x.Source == id.Source && x.Epoch == id.Epoch {
			return Name{x, id.Path}
		}
	}
	return Name{Reach{id.Source, id.Epoch, id.Index, id.Index + 1}, id.Path}
}
