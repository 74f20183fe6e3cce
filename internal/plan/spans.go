package plan

import "slices"

// A Spans is a set of indices: spans in order, apart from each other. The zero value is empty.
type Spans struct{ list []Span }

// A Span is the indices [From, To).
type Span struct{ From, To int64 }

// All returns the spans, which the caller only reads.
func (s *Spans) All() []Span { return s.list }

// Add adds [from, to).
func (s *Spans) Add(from, to int64) {
	if from >= to {
		return
	}
	n := len(s.list)
	if n > 0 && s.list[n-1].To == from { // the usual case
		s.list[n-1].To = to
		return
	}
	i, _ := slices.BinarySearchFunc(s.list, from, func(a Span, from int64) int {
		if a.To < from {
			return -1
		}
		return 1
	})
	k := i
	for ; k < n && s.list[k].From <= to; k++ {
		from, to = min(from, s.list[k].From), max(to, s.list[k].To)
	}
	s.list = slices.Replace(s.list, i, k, Span{from, to})
}

// Has reports whether i is in the set.
func (s *Spans) Has(i int64) bool {
	k, found := slices.BinarySearchFunc(s.list, i, func(a Span, i int64) int {
		switch {
		case a.To <= i:
			return -1
		case a.From > i:
			return 1
		}
		return 0
	})
	return found && k < len(s.list)
}

// First returns the smallest index from 0 on that is not in the set.
func (s *Spans) First() int64 {
	if len(s.list) > 0 && s.list[0].From == 0 {
		return s.list[0].To
	}
	return 0
}
