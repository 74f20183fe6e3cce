package model

// entryChecks are the configurations of entries with outputs and failures.
func entryChecks() (all []Check) {
	add := func(name, without, breaks string, cost Cost, c entryConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"entry", name, without, breaks, meets, cost, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	const (
		both   = "outputs and a failure in one entry"
		dying  = "copy killed with a failure on its way"
		inPart = "token with an input of which a part has failed"
		known  = "failure that the token knows"
		given  = "output that the token knows"
	)
	letters := entryConfig{copies: 1, window: 2, slots: 2, policy: entryLetters, copyKills: 1, programKills: 1}
	flaky := letters
	flaky.flaky = true
	twice := flaky
	twice.programKills = 2
	skip := entryConfig{copies: 2, window: 1, slots: 3, policy: entrySkips, flaky: true, copyKills: 2}
	skipToken := skip
	skipToken.copyKills, skipToken.programKills = 1, 1
	stop := skipToken
	stop.policy = entryStops

	add("dead letters", "", "", Small, letters, both, dying, inPart, known, given)
	add("dead letters, flaky", "", "", Small, flaky, both, dying, inPart, given)
	add("dead letters, flaky, program killed twice", "", "", Large, twice, both, dying, inPart, given)
	add("skip in a pool", "", "", Small, skip, both, dying)
	add("skip in a pool, program killed", "", "", Large, skipToken, both, dying, inPart, given)
	add("fail in a pool", "", "", Large, stop, both, dying)

	add("dead letters", "one entry", "twice", Small, letters)
	add("dead letters", "paths of the token", "twice", Small, letters)
	add("dead letters", "failures of the token", "lost or repeated", Small, letters)
	add("dead letters, flaky", "failures of the token", "lost or repeated", Small, flaky)
	add("dead letters", "the sync", "lost or repeated", Small, letters)
	add("dead letters", "the length of the letters", "lost or repeated", Small, letters)
	add("dead letters", "what is finished", "", Small, letters)
	add("skip in a pool, program killed", "failures of the token", "counted", Large, skipToken)
	add("skip in a pool, program killed", "the counts of the token", "counted", Large, skipToken)
	add("skip in a pool", "counting at the coordinator", "counted", Small, skip)
	return all
}
