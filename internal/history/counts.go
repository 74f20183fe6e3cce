package history

import "slices"

// What is wrong with the numbers.

// flight counts the items of the sources that are surely in flight: from when their source knows that they were taken to
// when something is last seen of what became of them, or to the end, if nothing is seen of that.
func (c *checker) flight() {
	if c.Bound <= 0 {
		return
	}
	if c.n.MostSeen > c.Bound {
		c.say(OverBound, "%d items are in flight, by the runtime's own count, want at most %d", c.n.MostSeen, c.Bound)
	}
	from, to := map[Item]int{}, map[Item]int{}
	for i, e := range c.events {
		if e.What == Yielded {
			from[e.Items[0]] = i
		}
		if e.What == Ended {
			e = c.events[e.Call]
		}
		for _, it := range e.Items {
			to[it.Root()] = i
		}
	}
	c.ways(func(w Way) {
		if c.delivered[place{w.Item, w.Exit}] == 0 && !covers(c.failed, w.Item) {
			to[w.Item.Root()] = len(c.events) // it still is
		}
	})
	steps := make([]int64, len(c.events)+1)
	for root, i := range from {
		steps[i]++
		steps[to[root]]--
	}
	most, now := int64(0), int64(0)
	for _, n := range steps {
		now += n
		most = max(most, now)
	}
	if most > c.Bound {
		c.say(OverBound, "%d items of the sources are in flight, want at most %d", most, c.Bound)
	}
}

// counts compares what the runtime has counted with the history.
func (c *checker) counts() {
	n := c.n
	if n.Yielded != n.Delivered+n.Filtered+n.Failed+n.InFlight || n.InFlight < 0 {
		c.say(Miscounted, "yielded %d, but delivered %d, filtered %d, failed %d, in flight %d", n.Yielded, n.Delivered, n.Filtered, n.Failed, n.InFlight)
	}
	out := map[Item]bool{}
	for p := range c.delivered {
		out[p.item] = true
	}
	failed, delivered := c.spread(c.failed), c.spread(out)
	var f, d, rest int64
	for _, root := range c.yielded {
		switch {
		case failed[root]:
			f++
		case delivered[root]:
			d++
		default:
			rest++
		}
	}
	least, most := int64(len(c.yielded)), int64(len(c.yielded)+c.unsure)
	if c.end == Complete {
		most = least // of what was taken, something was seen
		c.equal("delivered", n.Delivered, d)
		c.equal("filtered", n.Filtered, rest)
		c.equal("failed", n.Failed, f)
		c.equal("in flight", n.InFlight, 0)
	} else {
		c.between("delivered", n.Delivered, 0, d)
		c.between("filtered", n.Filtered, 0, rest)
		c.between("failed", n.Failed, 0, f)
	}
	c.between("yielded", n.Yielded, least, most)
	c.stageCounts()
}

func (c *checker) stageCounts() {
	if c.n.StageFailed == nil {
		return
	}
	failed := make([]int64, len(c.Stages))
	for _, e := range c.events {
		if e.What == Failed {
			failed[e.Stage]++
		}
	}
	for i, s := range c.Stages {
		c.equal("failed at stage "+s.Name, c.n.StageFailed[i], failed[i])
	}
}

func (c *checker) equal(what string, got, want int64) {
	if got != want {
		c.say(Miscounted, "%s: %d, want %d", what, got, want)
	}
}

func (c *checker) between(what string, got, least, most int64) {
	if got < least || got > most {
		c.say(Miscounted, "%s: %d, want %d to %d", what, got, least, most)
	}
}

// spread returns all that has a part in what became of items: what they were made of, and all that was once one with
// that. A batch is of all its items, and so is each element that it is undone into later.
func (c *checker) spread(items map[Item]bool) set {
	s := set{}
	for it := range items {
		s.add(it)
	}
	for _, e := range c.groups() {
		if slices.ContainsFunc(e.Items, func(it Item) bool { return s[it] }) {
			s.add(e.Items...)
		}
	}
	return s
}

// groups are the calls for several items that were one to the runtime, the last stage's first.
func (c *checker) groups() (g []Event) {
	for _, e := range c.events {
		if e.What == Began && len(e.Items) > 1 {
			g = append(g, e)
		}
	}
	slices.SortStableFunc(g, func(a, b Event) int { return b.Stage - a.Stage })
	return g
}
