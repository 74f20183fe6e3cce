package headspace

import (
	"math/rand/v2"
	"testing"
)

// From tables of the binomial distribution: the k-th smallest and largest of n are an interval of 0.95.
func TestAnIntervalIsThatOfTheSignTest(t *testing.T) {
	for n, k := range map[int]int{6: 1, 8: 1, 9: 2, 12: 3, 15: 4, 20: 6, 25: 8, 50: 18} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(n - i)
		}
		low, high, ok := interval(x, 0.95)
		if !ok || low != float64(k) || high != float64(n+1-k) {
			t.Errorf("%d: got %v to %v, want the %d. and the %d.", n, low, high, k, n+1-k)
		}
	}
	if _, _, ok := interval([]float64{1, 2, 3, 4, 5}, 0.95); ok {
		t.Error("five values cannot give 0.95")
	}
	for c, n := range map[float64]int{0.95: 6, 0.99: 8, 0.5: 2, 0.9: 5} {
		if got := rounds(c); got != n {
			t.Errorf("confidence %v takes %d rounds, want %d", c, got, n)
		}
	}
}

// However skewed the values are, the median is in the interval as often as promised.
func TestAnIntervalHasTheMedianAsOftenAsItSays(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	hits, tries := 0, 20000
	for range tries {
		x := make([]float64, 9)
		for i := range x {
			x[i] = dice.ExpFloat64()
		}
		const median = 0.6931471805599453
		if low, high, ok := interval(x, 0.95); ok && low <= median && median <= high {
			hits++
		}
	}
	if part := float64(hits) / float64(tries); part < 0.95 || part > 0.97 {
		t.Errorf("in %.3f of all cases, want 0.961", part)
	}
}
