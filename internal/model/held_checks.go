package model

// heldChecks are the configurations of what a batch takes in part.
func heldChecks() (all []Check) {
	add := func(name, without, breaks string, cost Cost, c heldConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"held", name, without, breaks, meets, cost, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	const (
		suppressed = "accepted paths suppressed"
		holes      = "restart with a hole in what is done"
		inFirst    = "node killed with something in the first aggregate"
		inSecond   = "node killed with something in the second aggregate"
		inPart     = "resume with an input finished in part"
		kept       = "a batch took a part: residue kept"
		restored   = "restart with residue"
	)
	timed := func(c heldConfig) heldConfig { c.timer = true; return c }
	kills := func(c heldConfig, nodes, programs int) heldConfig {
		c.nodeKills, c.programKills = nodes, programs
		return c
	}
	batch := heldConfig{inputs: 4, first: 2, ordered: true, credit: 2, suppress: true, nodeKills: 3}
	failing := timed(batch)
	failing.fails = true
	leaving := batch // each part leaves at once: there is no aggregate
	leaving.first = 1
	leavingTee := heldConfig{inputs: 3, first: 1, tee: true, credit: 2, suppress: true, nodeKills: 3}
	two := batch
	two.second = 2
	twoFailing := kills(timed(two), 1, 1)
	twoFailing.fails = true
	shuffled := batch
	shuffled.shuffle, shuffled.ordered = true, false
	twoShuffled := shuffled
	twoShuffled.second = 2
	tee := heldConfig{inputs: 3, first: 2, tee: true, credit: 2, suppress: true, nodeKills: 3}
	pieces := heldConfig{inputs: 4, first: 2, second: 3, split: true, credit: 2, suppress: true, nodeKills: 3}
	alone := pieces
	alone.second = 1
	varying := batch
	varying.varies = true

	add("suppression, batch", "", "", Small, batch, suppressed, inFirst)
	add("suppression, timer batch", "", "", Small, timed(batch), suppressed, inFirst)
	add("suppression, batch, program killed", "", "", Small, kills(batch, 2, 2), suppressed, inPart)
	add("suppression, timer batch, failures", "", "", Small, failing, suppressed)
	add("suppression, batch of batches", "", "", Small, two, inSecond)
	add("suppression, timer batch of batches", "", "", Large, timed(two), suppressed, inSecond, holes)
	add("suppression, timer batch of batches, failures, program killed", "", "", Large, twoFailing, suppressed, inSecond, holes, inPart)
	add("suppression, shuffle, batch", "", "", Small, shuffled, suppressed, holes)
	add("suppression, shuffle, batch of batches", "", "", Large, twoShuffled, inSecond, holes)
	add("suppression, shuffle, timer batch of batches", "", "", Full, timed(twoShuffled), suppressed, inSecond, holes)
	add("suppression, parts that leave at once", "", "", Small, leaving, suppressed)
	add("suppression, parts that leave at once, program killed", "", "", Small, kills(leaving, 2, 2), suppressed, inPart)
	add("suppression, branches that leave at once", "", "", Small, leavingTee, suppressed)
	add("suppression, tee into batches", "", "", Small, tee, suppressed)
	add("suppression, tee into timer batches", "", "", Small, timed(tee), suppressed)
	add("suppression, pieces of batches in batches", "", "", Small, pieces, "accepted pieces suppressed", suppressed)
	add("suppression, pieces of batches", "", "", Small, alone, "accepted pieces suppressed", suppressed)

	add("suppression, batch", "a one-to-many stage that is a function", "lost", Small, varying)
	add("suppression, timer batch", "a one-to-many stage that is a function", "repeated", Small, timed(varying))
	add("suppression, batch", "suppression", "repeated", Small, batch)
	add("suppression, timer batch", "paths, but a count", "repeated", Small, timed(batch))
	add("suppression, shuffle, batch", "paths, but a count", "repeated", Small, shuffled)
	add("suppression, shuffle, batch", "paths, but the highest", "lost", Small, shuffled)
	add("suppression, batch", "waiting for what is held", "done while something is held", Small, batch)
	add("suppression, timer batch, failures", "paths of failures", "2 failures counted", Small, failing)
	add("suppression, timer batch", "what was accepted before", "counted wrongly", Small, timed(batch))
	add("suppression, batch, program killed", "what is finished", "", Small, kills(batch, 2, 2))
	add("suppression, tee into batches", "the branch", "lost", Small, tee)
	add("suppression, parts that leave at once", "suppression", "repeated", Small, leaving)
	add("suppression, branches that leave at once", "the branch", "lost", Small, leavingTee)
	add("suppression, pieces of batches in batches", "waiting for the other piece", "lost", Small, pieces)
	// The pieces of a batch can be told apart only if the same batch is made again: these graphs need residue, or are
	// refused.
	add("suppression, pieces of timer batches in batches", "batches that depend on their input only", "repeated", Small, timed(pieces))
	mixed := pieces
	mixed.shuffle = true
	add("suppression, pieces of shuffled batches in batches", "batches that depend on their input only", "repeated", Small, mixed)
	add("suppression, pieces of timer batches", "batches that depend on their input only", "repeated", Small, timed(alone))

	residue := func(c heldConfig) heldConfig {
		c.suppress, c.varies = false, !c.split && c.programKills == 0
		return c
	}
	poisoned := func(c heldConfig, input uint8) heldConfig {
		c.poison, c.nodeKills = input, 2
		return c
	}
	add("residue, batch", "", "", Small, residue(batch), kept, restored, inFirst)
	add("residue, timer batch", "", "", Small, residue(timed(batch)), kept, restored, inFirst)
	add("residue, timer batch, program killed", "", "", Small, residue(kills(timed(batch), 2, 1)), kept, restored, inPart)
	add("residue, batch of batches", "", "", Small, residue(two), kept, restored, inSecond)
	add("residue, timer batch of batches", "", "", Large, residue(timed(two)), kept, restored, holes)
	add("residue, shuffle, batch of batches", "", "", Small, residue(twoShuffled), kept, restored, holes)
	add("residue, pieces of batches in batches", "", "", Small, residue(pieces), kept, restored)
	add("residue, pieces of timer batches in batches", "", "", Full, residue(timed(pieces)), kept, restored)
	add("residue, timer batch, poison", "", "", Small, poisoned(residue(timed(batch)), 2), "poison kills a node with something in the first aggregate")
	add("suppression, batch, poison, program killed", "", "", Small, poisoned(kills(batch, 2, 1), 4), "poison kills a node with something in the first aggregate")
	add("residue, batch", "residue", "", Small, residue(batch))
	add("residue, pieces of timer batches in batches", "residue of frames without outputs", "never acknowledged", Large, residue(timed(pieces)))
	add("residue, timer batch, poison", "the coordinator's verdict", "more than three", Small, poisoned(residue(timed(batch)), 2))
	return all
}
