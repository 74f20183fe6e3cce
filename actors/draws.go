package actors

import "math/bits"

// draws are made in proportion to weights, which are made whole numbers, so that they are the same on every machine.
type draws struct {
	weights []uint64
	upto    []uint64    // sums of the weights, each included
	guide   [256]uint16 // of each 256th of the sum, the first number that may lie there: there are no more than 65535
}

// fill sets the weights, scaled to a sum of about 1<<32.
func (d *draws) fill(weights []float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	d.weights = d.weights[:0]
	for _, w := range weights {
		d.weights = append(d.weights, max(uint64(w/sum*(1<<32)), 1))
	}
	d.prepare()
}

// remove takes number i out: the others share its weight.
func (d *draws) remove(i int) {
	d.weights[i] = 0
	d.prepare()
}

// prepare finds, for each 256th of the sum, the first number that may lie there, so that a draw is one look-up as a rule.
func (d *draws) prepare() {
	d.upto = d.upto[:0]
	sum := uint64(0)
	for _, w := range d.weights {
		sum += w
		d.upto = append(d.upto, sum)
	}
	for k := range d.guide {
		d.guide[k] = uint16(d.find(uint64(k)<<56, 0))
	}
}

// draw returns the number for 64 random bits.
func (d *draws) draw(random uint64) int { return d.find(random, int(d.guide[random>>56])) }

// find looks from number i on.
func (d *draws) find(random uint64, i int) int {
	at, _ := bits.Mul64(random, d.upto[len(d.upto)-1])
	for d.upto[i] <= at && i < len(d.upto)-1 {
		i++
	}
	return i
}
