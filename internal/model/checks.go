package model

import "slices"

// stateLimit is where a search is given up: about twice what the largest check needs.
const stateLimit = 6_000_000

// Checks returns every check that cost at most so much, long ones first.
func Checks(most Cost) []Check {
	all := slices.Concat(poolChecks(), hubChecks(), nodeChecks(), heldChecks(), entryChecks(), epochChecks())
	all = slices.DeleteFunc(all, func(c Check) bool { return c.Cost > most })
	slices.SortStableFunc(all, byCost)
	return all
}
