package plan

import (
	"math"
	"slices"
)

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
	if s == nil {
		return false
	}
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

// Remove takes [from, to) out.
func (s *Spans) Remove(from, to int64) {
	if from >= to {
		return
	}
	i := s.find(from)
	if i < len(s.list) && s.list[i].From < from {
		if end := s.list[i].To; end > to { // a hole
			s.list[i].To = from
			s.list = slices.Insert(s.list, i+1, Span{to, end})
			return
		}
		s.list[i].To = from
		i++
	}
	k := i
	for k < len(s.list) && s.list[k].To <= to {
		k++
	}
	if k < len(s.list) && s.list[k].From < to {
		s.list[k].From = to
	}
	s.list = slices.Delete(s.list, i, k)
}

// find returns the place of the first span that ends behind i.
func (s *Spans) find(i int64) int {
	k, _ := slices.BinarySearchFunc(s.list, i, func(a Span, i int64) int {
		if a.To <= i {
			return -1
		}
		return 1
	})
	return k
}

// From returns how many of the n indices from i on are in the set, without a gap.
func (s *Spans) From(i, n int64) int64 {
	k := s.find(i)
	if k == len(s.list) || s.list[k].From > i {
		return 0
	}
	return min(n, s.list[k].To-i)
}

// Border returns the next place behind i where the set begins or ends; MaxInt64 if there is none. It may be asked of nil.
func (s *Spans) Border(i int64) int64 {
	if s == nil {
		return math.MaxInt64
	}
	k := s.find(i)
	switch {
	case k == len(s.list):
		return math.MaxInt64
	case s.list[k].From > i:
		return s.list[k].From
	}
	return s.list[k].To
}
