package actors

import "github.com/weirflow/weir/internal/plan"

// How many items a stage of a region has finished is what a fraction of failures is a fraction of, and only its node knows: behind
// a filter they are fewer than the region's inputs.

// Tolerant returns the stages of a region of which some items may fail, in the order of the graph. of is the graph's stages by
// index.
func Tolerant(of func(int) *plan.Stage, r *plan.Region) (all []int) {
	for _, i := range r.Stages {
		if !of(i).Policy.Strict() {
			all = append(all, i)
		}
	}
	return all
}

// Finished returns how many items stages have finished so far, those that have failed included.
func (r *Run) Finished(stages []int) []int64 {
	if len(stages) == 0 {
		return nil
	}
	all := make([]int64, len(stages))
	for k, i := range stages {
		all[k] = r.stats[i].finished.Load()
	}
	return all
}

// A Counted is told by a session whose node has counted: what the Tolerant stages have finished in this session.
type Counted struct{ Finished []int64 }

// counted is what is known of what the tolerant stages of a region have finished, in the session at hand.
type counted struct {
	stages []int
	known  []int64 // has been added to the counts of the run
	told   []int64 // by the node of a stream, last
}

func newCounted(r *Run, of *plan.Region) counted {
	c := counted{stages: Tolerant(r.spec, of)}
	c.known = make([]int64, len(c.stages))
	return c
}

// renew begins with another session, which counts from 0.
func (c *counted) renew() {
	clear(c.known)
	c.told = nil
}

// add adds what is new of the counts of a node.
func (c *counted) add(r *Run, finished []int64) {
	if len(finished) != len(c.stages) {
		return
	}
	for k, n := range finished {
		r.stats[c.stages[k]].finished.Add(c.upTo(k, n))
	}
}

// rest returns how much is new of what the node has told last.
func (c *counted) rest() (more []int64) {
	if len(c.told) != len(c.stages) {
		return nil
	}
	for k, n := range c.told {
		more = append(more, c.upTo(k, n))
	}
	return more
}

// until returns how much is new of what a stage had finished when something failed there.
func (c *counted) until(stage int, finished int64) int64 {
	for k, i := range c.stages {
		if i == stage {
			return c.upTo(k, finished)
		}
	}
	return 0
}

func (c *counted) upTo(k int, n int64) int64 {
	more := max(n-c.known[k], 0)
	c.known[k] += more
	return more
}

// addCounted adds what is new of the tolerant stages of a region.
func (r *Run) addCounted(of *plan.Region, more []int64) {
	for k, i := range Tolerant(r.spec, of) {
		if k < len(more) {
			r.stats[i].finished.Add(more[k])
		}
	}
}

// countInputs counts inputs of a region as finished at each of its stages that does not say so by itself.
func (r *Run) countInputs(of *plan.Region, n int64) {
	for _, i := range of.Stages {
		if r.spec(i).Policy.Strict() {
			r.stats[i].finished.Add(n)
		}
	}
}
