package main

import "math"

// A moments sums up pixels, channel by channel, in a way that does not depend on their number or order: the values of
// an image are far apart from no mean but their own, so each image has its own two passes, and images are merged by
// the formula of Chan, Golub and LeVeque (Updating Formulae and a Pairwise Algorithm, 1979). A plain sum of squares
// would cancel. The zero moments has seen nothing.
type moments struct {
	pixels float64    // per channel
	mean   [3]float64 // of them
	spread [3]float64 // the sum of the squared distances to the mean
}

// add takes the three planes of one image.
func (m *moments) add(chw []float32) {
	n := len(chw) / 3
	total := m.pixels + float64(n)
	for c := range 3 {
		mean, spread := twoPasses(chw[c*n : (c+1)*n])
		d := mean - m.mean[c]
		m.mean[c] += d * float64(n) / total
		m.spread[c] += spread + d*d*m.pixels*float64(n)/total
	}
	m.pixels = total
}

// std is the deviation of the population, not an estimate from a sample. It wants at least one pixel.
func (m *moments) std() (std [3]float64) {
	for c := range std {
		std[c] = math.Sqrt(m.spread[c] / m.pixels)
	}
	return std
}

func twoPasses(plane []float32) (mean, spread float64) {
	for _, v := range plane {
		mean += float64(v)
	}
	mean /= float64(len(plane))
	for _, v := range plane {
		d := float64(v) - mean
		spread += d * d
	}
	return mean, spread
}
