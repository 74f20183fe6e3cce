package supervisor_test

import "math/rand/v2"

// inTurn takes from inputs, of which the order is known, as the merge v does in an epoch. left is what it throws away.
func inTurn(v *vertex, epoch int, in [][]*thing) (taken, left []*thing) {
	var next func() int // the input that gives the next item; an input that has ended, if that ends the epoch
	switch v.how {
	case "roundrobin":
		next = takeTurns(in)
	case "byvalue":
		next = func() int { return chooseHead(v, in) }
	case "weighted":
		next = draw(v, epoch, in)
	}
	rest := 0
	for _, items := range in {
		rest += len(items)
	}
	for ; rest > 0; rest-- {
		i := next()
		if len(in[i]) == 0 {
			break
		}
		taken = append(taken, in[i][0])
		in[i] = in[i][1:]
	}
	for _, items := range in {
		left = append(left, items...)
	}
	return taken, left
}

// takeTurns passes over inputs that have ended.
func takeTurns(in [][]*thing) func() int {
	turn := -1
	return func() int {
		for {
			if turn = (turn + 1) % len(in); len(in[turn]) > 0 {
				return turn
			}
		}
	}
}

func chooseHead(v *vertex, in [][]*thing) int {
	var heads []*parcel
	for _, items := range in {
		if len(items) == 0 {
			heads = append(heads, nil)
		} else {
			heads = append(heads, &items[0].parcel)
		}
	}
	return choose(v, heads)
}

// draw draws at random, in proportion to the weights of the inputs that have not been found to be at their end. Seed and
// epoch begin the numbers.
func draw(v *vertex, epoch int, in [][]*thing) func() int {
	random := rand.NewPCG(v.salt, uint64(epoch))
	total := 0.0
	for _, w := range v.weights {
		total += w
	}
	var weights []uint64 // as parts of 1<<32
	for _, w := range v.weights {
		weights = append(weights, max(uint64(w/total*(1<<32)), 1))
	}
	return func() int {
		for {
			sum := uint64(0)
			for _, w := range weights {
				sum += w
			}
			x, i := (random.Uint64()>>32)*sum>>32, 0
			for ; x >= weights[i]; i++ {
				x -= weights[i]
			}
			if len(in[i]) > 0 || v.firstEnd {
				return i
			}
			weights[i] = 0
		}
	}
}
