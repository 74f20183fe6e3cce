package headspace

import (
	"math"
	"slices"
)

// The interval of a median by order statistics needs no assumption about how steps are distributed, only that rounds do not
// depend on each other: that k or fewer of n rounds lie below the true median is as likely as k or fewer heads in n tosses (the sign test).
// It is exact with few rounds, and a round that something else disturbed moves it by one place, not by how much was lost.

// interval returns the narrowest pair of order statistics of x that has its median in between with this confidence; ok is false
// if not even the smallest and the largest do.
func interval(x []float64, confidence float64) (low, high float64, ok bool) {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	at := -1
	tail, ways := 0.0, 1.0 // of at heads or fewer; of at heads, out of 2^n
	for k := 0; 2*k < n-1; k++ {
		if tail += ways / math.Exp2(float64(n)); 2*tail > 1-confidence {
			break
		}
		at = k
		ways *= float64(n-k) / float64(k+1)
	}
	if at < 0 {
		return 0, 0, false
	}
	return x[at], x[n-1-at], true
}

// rounds is how many values give an interval of this confidence at all.
func rounds(confidence float64) int {
	return max(2, int(math.Ceil(1-math.Log2(1-confidence))))
}

// median returns the median of x, 0 if it is empty.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	if len(x) == 0 {
		return 0
	}
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
