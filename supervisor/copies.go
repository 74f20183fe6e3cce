package supervisor

import (
	"cmp"
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// NodeStats describe one copy of a region that is in another process.
type NodeStats struct {
	Region string // "decode", "decode..resize"
	Copy   int    // from 0
	Lives  int    // processes that it has had, or connections

	// ArenaFull is how many payloads of 16 KiB or more went through the connection, in either direction, because there was no
	// room for them in the shared memory: see Subprocess.ArenaBytes. Where there is none, as between machines, it is 0.
	ArenaFull int64
	// ViewsLost is how many Views were looked at and never released: there is less shared memory by their blocks until the copy
	// has another process. ViewsDropped is how many nobody has looked at: the garbage collector has given their blocks back.
	ViewsLost, ViewsDropped int64
}

// copyKey names a copy.
type copyKey struct {
	region *plan.Region
	copy   int
}

// A copyRecord is what is known of a copy, over all its lives.
type copyRecord struct {
	lives int
	now   *shared      // of its life
	told  sharedCounts // by the node of this life
	past  sharedCounts
}

// sharedCounts are what becomes of shared memory.
type sharedCounts struct{ ArenaFull, ViewsLost, ViewsDropped int64 }

func (c *sharedCounts) add(d sharedCounts) {
	c.ArenaFull += d.ArenaFull
	c.ViewsLost += d.ViewsLost
	c.ViewsDropped += d.ViewsDropped
}

func (s *shared) counts() sharedCounts {
	if s.out == nil {
		return sharedCounts{}
	}
	return sharedCounts{s.packer.Inline(), s.unpacker.Lost(), s.unpacker.Dropped()}
}

// begin notes that a copy has a life. n.mu is held.
func (n *nodes) begin(s *session) {
	k := copyKey{s.region, s.copy}
	r := n.copies[k]
	if r == nil {
		r = &copyRecord{}
		n.copies[k] = r
	} else {
		r.past.add(r.now.counts())
		r.past.add(r.told)
	}
	r.lives++
	r.now, r.told = s.shared, sharedCounts{}
}

// all returns the statistics of all copies.
func (n *nodes) all() (all []NodeStats) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, r := range n.copies {
		sum := r.past
		sum.add(r.now.counts())
		sum.add(r.told)
		all = append(all, NodeStats{
			Region: n.run.graph.RegionName(k.region), Copy: k.copy, Lives: r.lives,
			ArenaFull: sum.ArenaFull, ViewsLost: sum.ViewsLost, ViewsDropped: sum.ViewsDropped,
		})
	}
	slices.SortFunc(all, func(a, b NodeStats) int { return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Copy, b.Copy)) })
	return all
}
