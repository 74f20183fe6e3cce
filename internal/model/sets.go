package model

import "math/bits"

// Small sets: bit i is element i. Inputs are numbered from 1, so bit 0 of a set of inputs is unused.

func bit[N ~uint8 | ~int](i N) uint8 { return 1 << i }

// upTo is the set 1 to n.
func upTo[N ~uint8 | ~int](n N) uint8 { return 1<<(n+1) - 2 }

// prefix is the largest n for which the set has 1 to n.
func prefix(set uint8) (n uint8) {
	for set&bit(n+1) != 0 {
		n++
	}
	return n
}

// highest is the largest element, 0 of an empty set.
func highest(set uint8) uint8 {
	if set == 0 {
		return 0
	}
	return uint8(bits.Len8(set)) - 1
}

func size(set uint8) int { return bits.OnesCount8(set) }

func number(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
