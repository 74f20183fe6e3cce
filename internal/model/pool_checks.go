package model

// poolChecks are the configurations of pools.
func poolChecks() (all []Check) {
	add := func(name, without, breaks string, cost Cost, c poolConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"pool", name, without, breaks, meets, cost, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	const (
		working = "killed while working"
		fenced  = "fence discarded a result on its way"
		beside  = "redispatch beside a working copy"
		suspect = "suspect isolated"
		held    = "result held for order"
		early   = "slot freed out of order"
		verdict = "poison verdict"
		inGroup = "killed in the middle of a group"
	)
	inOrder := func(c poolConfig) poolConfig { c.ordered = true; return c }
	base := poolConfig{inputs: 3, copies: 2, window: 1, slots: 3, credit: 1, kills: 2, drops: 1}
	wide := base
	wide.window, wide.credit, wide.drops = 2, 2, 0
	slot := inOrder(base)
	slot.slots, slot.window, slot.kills = 1, 2, 3
	four := poolConfig{inputs: 4, copies: 2, window: 2, slots: 4, credit: 2, kills: 2}
	dropped := inOrder(four)
	dropped.drops = 1
	poison := poolConfig{inputs: 3, copies: 2, window: 2, slots: 3, credit: 1, kills: 1, poison: 2}
	boxed := inOrder(poison)
	boxed.blackBox, boxed.kills = true, 2
	single := inOrder(poison)
	single.copies = 1
	less := base
	less.kills, less.drops, less.unreplaced, less.window, less.inputs, less.slots = 1, 0, true, 2, 4, 4
	parts := poolConfig{inputs: 3, copies: 2, window: 1, slots: 3, credit: 1, kills: 2, streaming: true}
	onePart := inOrder(parts)
	onePart.copies, onePart.window, onePart.kills, onePart.drops, onePart.fifo = 1, 2, 3, 1, true

	add("unordered", "", "", Small, base, working, fenced, beside, suspect, early)
	add("ordered", "", "", Small, inOrder(base), working, fenced, beside, suspect, held)
	add("unordered, window 2", "", "", Large, wide, working, fenced, beside, suspect, early)
	add("ordered, window 2", "", "", Large, inOrder(wide), working, fenced, beside, suspect, held)
	add("ordered, one slot", "", "", Small, slot, working, fenced, suspect)
	add("ordered, 4 inputs, link dropped", "", "", Full, dropped, working, fenced, beside, suspect, held, "link dropped while working")
	add("unordered, 4 inputs", "", "", Full, four, working, fenced, beside, suspect, early)
	add("ordered, poison", "", "", Small, inOrder(poison), working, verdict, suspect, held)
	add("unordered, poison", "", "", Small, poison, working, verdict, suspect, early)
	add("ordered, poison, black box", "", "", Large, boxed, working, verdict, suspect, "bystander not charged")
	add("one copy, poison", "", "", Small, single, working, verdict, suspect)
	add("ordered, a copy is not replaced", "", "", Small, inOrder(less), working, held)
	add("unordered, a copy is not replaced", "", "", Small, less, working, early)
	add("streaming, unordered", "", "", Large, parts, inGroup, "session ended in the middle of a group")
	add("streaming, ordered, one copy", "", "", Large, onePart, inGroup, verdict)

	add("unordered", "the look-up", "repeated", Small, base)
	add("ordered, window 2", "the look-up", "repeated", Small, inOrder(wide))
	add("unordered", "the fence", "more than its window", Small, base)
	add("unordered", "waiting for the result", "lost", Small, base)
	add("ordered", "waiting for the head", "order", Small, inOrder(base))
	add("ordered", "one result", "mixed", Small, inOrder(base))
	add("ordered, window 2", "reading on", "deadlock", Small, inOrder(wide))
	add("ordered, poison", "isolation", "innocent", Small, inOrder(poison))
	add("ordered, poison", "deaths of the input", "more than three", Small, inOrder(poison))
	add("streaming, unordered", "a function of the input", "mixed", Small, parts)
	// Streaming and ordered in more than one copy is refused: another input occupies the worker that the head needs.
	refused := inOrder(parts)
	refused.window = 2
	add("streaming, ordered, two copies", "refusing it", "deadlock", Small, refused)
	refused.window, refused.unreplaced, refused.kills, refused.fifo = 1, true, 1, true
	add("streaming, ordered, a copy is not replaced", "refusing it", "deadlock", Small, refused)
	return all
}
