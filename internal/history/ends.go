package history

// What is wrong with what came out.

// ways returns those of the items that were yielded.
func (c *checker) ways(visit func(Way)) {
	for _, root := range c.yielded {
		for _, w := range c.Ways(root) {
			visit(w)
		}
	}
}

// A line is what comes out in one order.
type line struct {
	exit, source int
	lane         uint64
}

func (w Way) line() line { return line{w.Exit, w.Item.Source, w.Lane} }

// deliveries looks at what came out.
func (c *checker) deliveries() {
	want := map[place]Way{}
	c.ways(func(w Way) { want[place{w.Item, w.Exit}] = w })
	last := map[line]Item{}
	epoch := make([]int, len(c.Exits))
	told := map[place]bool{}
	for _, e := range c.events {
		if e.What != Delivered {
			continue
		}
		x := c.Exits[e.Stage]
		for _, it := range e.Items {
			p := place{it, e.Stage}
			w, ok := want[p]
			switch {
			case !ok:
				c.say(Invented, "%v came out at %s, where nobody expects it", it, x.Name)
				continue
			case c.delivered[p] > 1 && !told[p]:
				c.say(Duplicated, "%v came out %d times at %s", it, c.delivered[p], x.Name)
			case covers(c.failed, it) && !told[p]:
				c.say(Duplicated, "%v came out at %s, although it, or what it was made of, failed", it, x.Name)
			}
			if told[p] {
				continue
			}
			told[p] = true
			if before, ok := last[w.line()]; ok && w.Ordered && before.Compare(it) > 0 {
				c.say(Reordered, "%v came out behind %v at %s", it, before, x.Name)
			} else {
				last[w.line()] = it
			}
			if x.Epochs && it.Epoch < epoch[e.Stage] {
				c.say(Reordered, "%v came out behind items of epoch %d at %s", it, epoch[e.Stage], x.Name)
			}
			epoch[e.Stage] = max(epoch[e.Stage], it.Epoch)
		}
	}
}

// losses looks for what did not come out: all of it, if the run is complete, and else what lies before something that did.
func (c *checker) losses() {
	furthest := map[line]Item{}
	c.ways(func(w Way) {
		if f, ok := furthest[w.line()]; c.delivered[place{w.Item, w.Exit}] > 0 && (!ok || f.Compare(w.Item) < 0) {
			furthest[w.line()] = w.Item
		}
	})
	c.ways(func(w Way) {
		if c.delivered[place{w.Item, w.Exit}] > 0 || covers(c.failed, w.Item) {
			return
		}
		x := c.Exits[w.Exit]
		f, any := furthest[w.line()]
		switch {
		case c.end == Complete:
			c.say(Lost, "%v did not come out at %s", w.Item, x.Name)
		case any && w.Ordered && x.Gapless && w.Item.Compare(f) < 0:
			c.say(Lost, "%v did not come out at %s, but %v did, which comes behind it", w.Item, x.Name, f)
		}
	})
}
