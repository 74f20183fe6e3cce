package history

import "slices"

// What is wrong with calls, and with what the runtime says has failed.

// work looks at how many calls of a stage there are at once, and at calls that should not be.
func (c *checker) work() {
	busy := make([]int, len(c.Stages))
	over := make([]bool, len(c.Stages))
	at := map[sort]bool{}   // calls are at it
	done := map[sort]bool{} // a call has made something of it
	for i, e := range c.events {
		switch e.What {
		case Began:
			s, k := c.Stages[e.Stage], sort{e.Stage, e.Key}
			busy[e.Stage]++
			if busy[e.Stage] > s.Mailbox && !over[e.Stage] {
				over[e.Stage] = true
				c.say(OverBound, "stage %q works on %d items at once, want at most %d", s.Name, busy[e.Stage], s.Mailbox)
			}
			switch {
			case at[k]:
				c.say(Repeated, "stage %q works on %v twice at the same time", s.Name, e.Items)
			case done[k] && !s.Holds:
				c.say(Repeated, "stage %q works on %v again, which was done", s.Name, e.Items)
			}
			at[k] = true
			if before := c.calls[k][0]; !same(c.events[before].Items, e.Items) {
				c.say(Invented, "stage %q was given %v as %v, and then %v", s.Name, c.events[before].Items, e.Key, e.Items)
			}
			if !c.Stages[e.Stage].Holds && i != c.calls[k][0] {
				c.retried(k, i)
			}
		case Ended:
			b := c.events[e.Call]
			k := sort{b.Stage, b.Key}
			busy[b.Stage]--
			at[k] = false
			done[k] = done[k] || e.Outcome.good()
		}
	}
}

// retried looks at a call that is not the first one: what came before must be worth it.
func (c *checker) retried(k sort, began int) {
	s, items := c.Stages[k.stage], c.events[began].Items
	nth := slices.Index(c.calls[k], began)
	switch o, ok := c.outcome(c.calls[k][nth-1]); {
	case ok && (o == Errored || o == Abandoned):
		c.say(Repeated, "stage %q works on %v again, although it has failed for good", s.Name, items)
	case ok && o == Canceled:
		c.say(Repeated, "stage %q works on %v again, although it was told to end", s.Name, items)
	case nth == s.Attempts:
		c.say(Repeated, "stage %q works on %v for the %dth time, want %d at most", s.Name, items, nth+1, s.Attempts)
	}
}

func same(a, b []Item) bool { return slices.Equal(a, b) }

// failures looks at what is said to have failed.
func (c *checker) failures() {
	seen := map[sort]bool{}
	for _, e := range c.events {
		if e.What != Failed {
			continue
		}
		k, s := sort{e.Stage, e.Key}, c.Stages[e.Stage]
		if seen[k] {
			c.say(Duplicated, "item %v failed twice at stage %q", e.Key, s.Name)
			continue
		}
		seen[k] = true
		calls := c.calls[k]
		if len(calls) == 0 {
			c.say(Invented, "item %v failed at stage %q, which never worked on it", e.Key, s.Name)
			continue
		}
		for _, it := range c.events[calls[0]].Items {
			c.failed[it] = true
		}
		last, bad := Finished, 0
		for _, b := range calls {
			if o, ok := c.outcome(b); ok && o.Bad() {
				bad++
				last = o
			}
		}
		o, ok := c.outcome(calls[len(calls)-1])
		switch {
		case !ok || o.good():
			c.say(Invented, "item %v failed at stage %q, the last call of which did not", e.Key, s.Name)
		case last != Errored && last != Abandoned && bad < s.Attempts:
			c.say(Invented, "item %v failed at stage %q after %d attempts, want %d", e.Key, s.Name, bad, s.Attempts)
		}
	}
}
