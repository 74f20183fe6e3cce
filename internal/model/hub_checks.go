package model

// hubChecks are the configurations of a region that feeds a region.
func hubChecks() (all []Check) {
	add := func(name, without, breaks string, cost Cost, c hubConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"hub", name, without, breaks, meets, cost, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	const (
		kept     = "a batch took a part: residue kept"
		restored = "restart with residue"
		dead     = "both regions dead"
		freed    = "filtered item freed behind a held one"
		inGroup  = "B killed in the middle of a group"
		ending   = "B killed after the end was sent to it"
		above    = "terminal above the first that is not"
	)
	batch := hubConfig{inputs: 3, batch: 2, slots: 2, credit: 1, slotA: 2, kills: 2, drops: 1}
	timer := batch
	timer.timer, timer.drops = true, 0
	large := hubConfig{inputs: 3, batch: 2, slots: 3, credit: 2, slotA: 2, timer: true, kills: 3, drops: 1}
	three := hubConfig{inputs: 3, batch: 3, slots: 3, credit: 2, slotA: 1, kills: 2}
	suppressing := batch
	suppressing.suppress = true
	suppressingTimer := timer
	suppressingTimer.suppress, suppressingTimer.drops = true, 1
	span := three
	span.span = 2
	few := three
	few.slots = 1

	add("batch", "", "", Large, batch, kept, restored, dead, freed, inGroup, ending, above)
	add("timer batch", "", "", Small, timer, kept, restored, dead, freed, inGroup, ending, above)
	add("timer batch, 3 slots, 3 kills", "", "", Full, large, kept, restored, dead, freed, inGroup, ending, above)
	add("batch of 3", "", "", Small, three, dead, freed, ending)
	add("batch, suppression", "", "", Small, suppressing, "accepted paths suppressed", dead, freed, inGroup, ending)
	add("timer batch, suppression", "", "", Small, suppressingTimer, "accepted paths suppressed", dead, freed, inGroup, ending)

	add("batch, suppression", "a function of its input", "lost", Small, suppressing)
	add("batch", "residue", "lost", Small, batch)
	add("timer batch", "the fence", "", Small, timer)
	add("batch", "waiting for the result", "", Small, batch)
	add("batch", "frames without outputs", "deadlock", Small, batch)
	add("batch", "sets of what is done", "deadlock", Small, batch)
	add("batch", "the end sent again", "deadlock", Small, batch)
	add("batch", "counting residue", "acknowledged", Small, batch)
	// A source that may not run ahead waits for an input that a batch holds, while all behind it are filtered.
	add("batch of 3", "a source that runs ahead", "deadlock", Small, span)
	add("batch of 3", "slots for what is held", "deadlock", Small, few)
	return all
}
