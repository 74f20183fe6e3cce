package model

// nodeChecks are the configurations of a graph in a node.
func nodeChecks() (all []Check) {
	add := func(name, without, breaks string, cost Cost, c nodeConfig, meets ...string) {
		c.without = without
		all = append(all, Check{"node", name, without, breaks, meets, cost, func() Result {
			c.Tally = Tally{}
			return Explore(c.machine(), stateLimit)
		}})
	}
	const (
		inBody  = "program killed inside the consumer's loop"
		unread  = "program killed with accepted frames unconsumed"
		half    = "node killed with a batch half full"
		hole    = "node killed with a hole in what is accepted"
		resumed = "resume from a token with a hole"
	)
	batch := nodeConfig{inputs: 5, batch: 2, credit: 2, nodeKills: 2, programKills: 1}
	timer := batch
	timer.timer, timer.inputs = true, 4
	automatic := nodeConfig{inputs: 4, batch: 2, credit: 1, timer: true, automatic: true, nodeKills: 1, programKills: 2}
	dropped := automatic
	dropped.drops = 1
	large := nodeConfig{inputs: 5, batch: 2, credit: 2, timer: true, nodeKills: 2, programKills: 2, drops: 1}
	drain := nodeConfig{inputs: 5, batch: 2, credit: 1, timer: true, drain: true, nodeKills: 2}
	drainDropped := drain
	drainDropped.drops = 1

	add("token of the consumer, batch", "", "", Small, batch, inBody, unread, half, hole, resumed)
	add("token of the consumer, timer batch", "", "", Small, timer, inBody, unread, half, hole, resumed)
	add("token of the consumer, timer batch, link dropped", "", "", Full, large, inBody, unread, half, hole, resumed)
	add("automatic token, timer batch", "", "", Small, automatic, inBody, unread, "program killed while it saves", "resume that will repeat", "output repeated since the last save")
	add("automatic token, timer batch, link dropped", "", "", Large, dropped, inBody, unread, half, "program killed while it saves", "resume that will repeat")
	add("drain", "", "", Small, drain, "drained with a hole", "node killed while it drains", "the position of the drain kept")
	add("drain, link dropped", "", "", Large, drainDropped, "drained with a hole", "node killed while it drains", "the position of the drain kept")

	add("drain", "the position of the drain", "lost", Small, drain)
	add("token of the consumer, batch", "what is finished", "lost", Small, batch)
	add("token of the consumer, batch", "what is accepted", "repeated", Small, batch)
	add("token of the consumer, batch", "holes", "lost", Small, batch)
	add("automatic token, timer batch", "the end of the loop", "lost", Small, automatic)
	add("token of the consumer, timer batch", "the fence", "", Small, timer)
	return all
}
