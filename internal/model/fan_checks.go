package model

// fanChecks are the configurations of Tee, Route and merge.
func fanChecks() (all []Check) {
	add := func(name, without, breaks string, cost Cost, c fanConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"fan", name, without, breaks, meets, cost, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	const (
		branches = "both branches dead"
		ahead    = "one branch finished, the other alive"
		teed     = "tee: one branch has it, the other not yet"
		fenced   = "fence discarded a result on its way"
		filtered = "filtered"
	)
	narrow := fanConfig{inputs: 3, slots: 1, window: 1, credit: 1, kills: 2}
	wide := fanConfig{inputs: 2, slots: 2, window: 2, credit: 2, kills: 2}
	dropped := wide
	dropped.drops = 1
	slots := narrow
	slots.slots = 2

	add("one slot", "", "", Large, narrow, branches, ahead, teed, fenced, filtered)
	add("window 2", "", "", Large, wide, branches, ahead, teed, fenced)
	add("window 2, link dropped", "", "", Full, dropped, branches, ahead, teed, fenced)
	add("two slots", "", "", Full, slots, branches, ahead, teed, fenced, filtered)

	add("one slot", "a count for each branch", "acknowledged", Small, narrow)
	add("one slot", "waiting for the result", "acknowledged", Small, narrow)
	add("window 2", "one result for all ports", "mixed", Small, wide)
	return all
}
