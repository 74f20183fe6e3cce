package supervisor

import "strings"

// nearest returns the name among those given that somebody may have meant by word: the one with the fewest letters
// different, if they are few for its length.
func nearest(word string, among []string) (near string, ok bool) {
	const longest = 100 // nobody means anything by more
	if len(word) > longest {
		return "", false
	}
	w := []rune(strings.ToLower(word))
	least := max(1, len(w)/3) + 1
	for _, name := range among {
		if len(name) > longest {
			continue
		}
		if d := distance(w, []rune(strings.ToLower(name))); d < least && d < len(name) {
			near, least = name, d
		}
	}
	return near, near != ""
}

// distance is how many letters must be put in, taken out, replaced or swapped with their neighbour to make b of a (optimal
// string alignment).
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
