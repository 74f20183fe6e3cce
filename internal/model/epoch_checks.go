package model

// epochChecks are the configurations of epochs.
func epochChecks() (all []Check) {
	stream := func(name, without, breaks string, cost Cost, c epochStreamConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"epoch", name, without, breaks, meets, cost, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	keyed := func(name, without, breaks string, c epochKeyedConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"epoch", name, without, breaks, meets, Small, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	const (
		parked  = "node killed with results of the next epoch parked"
		inside  = "node killed with an end inside the unordered stage"
		onWay   = "node killed with an end on its way"
		between = "node killed between two epochs"
		early   = "result of the next epoch before the end"
		lastOne = "copy died with the last of an epoch, the next one begun"
	)
	source := epochStreamConfig{size: 2, credit: 2, nodeKills: 3}
	timer := source
	timer.timer = true
	program := timer
	program.nodeKills, program.programKills = 2, 1
	twice := program
	twice.programKills = 2
	fed := source
	fed.fed = 2
	paced := fed
	paced.paced = true
	pool := epochKeyedConfig{slots: 3, window: 1, kills: 2}
	ordered := pool
	ordered.ordered, ordered.window = true, 2

	stream("source, batch", "", "", Small, source, parked, inside, onWay, between, early)
	stream("source, timer batch", "", "", Small, timer, parked, inside, onWay, between, early)
	stream("source, timer batch, program killed", "", "", Large, program, parked, inside, onWay, between, early)
	stream("source, timer batch, program killed twice", "", "", Full, twice, parked, inside, onWay, between, early)
	stream("fed, batch", "", "", Small, fed, parked, inside, onWay, between)
	stream("fed when the consumer is through, batch", "", "", Small, paced, inside, onWay, between)
	keyed("keyed, unordered", "", "", pool, early, lastOne)
	keyed("keyed, ordered", "", "", ordered, early, lastOne)

	stream("source, batch", "parking", "two epochs", Small, source)
	stream("source, timer batch", "parking", "out of its place", Small, timer)
	stream("source, batch", "the flush at an end", "out of its place", Small, source)
	stream("source, batch", "ends in OPEN", "out of its place", Small, source)
	stream("fed, batch", "ends in OPEN", "out of its place", Small, fed)
	// Nobody can tell from the inputs that are done whether the end behind them was accepted.
	stream("source, batch", "ends in OPEN, but what is done", "out of its place", Small, source)
	stream("source, batch", "frames for ends alone", "deadlock", Small, source)
	stream("fed when the consumer is through, batch", "end messages", "deadlock", Small, paced)
	keyed("keyed, unordered", "parking", "out of its place", pool)
	keyed("keyed, unordered", "waiting for the last of an epoch", "out of its place", pool)
	return all
}
