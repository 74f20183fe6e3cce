package history

import (
	"cmp"
	"fmt"
)

// An Item is one item in the whole of a run: which item of a source it is or was made of, and how. Items that are made
// together of several, such as batches, are lists of those.
type Item struct {
	Source int
	Epoch  int
	Index  int
	// Path is 0 for an item that is still the source's. A child's is that of its parent, followed by a digit to base 8 that
	// is never 0.
	Path uint64
}

// Child returns the i-th item that it became, 0 <= i <= 6. It may have 21 ancestors.
func (it Item) Child(i int) Item {
	it.Path = it.Path<<3 | uint64(i+1)
	return it
}

// Root returns the source's item.
func (it Item) Root() Item {
	it.Path = 0
	return it
}

// Parent returns what it was made of, and false if it is the source's.
func (it Item) Parent() (Item, bool) {
	if it.Path == 0 {
		return it, false
	}
	it.Path >>= 3
	return it, true
}

// Compare orders items of one source that were made in the same way as their source has yielded them.
func (it Item) Compare(o Item) int {
	return cmp.Or(cmp.Compare(it.Epoch, o.Epoch), cmp.Compare(it.Index, o.Index), cmp.Compare(it.Path, o.Path))
}

// String returns "0/1/12.31": source, epoch, index and path, the digits of which count from 1.
func (it Item) String() string {
	s := fmt.Sprintf("%d/%d/%d", it.Source, it.Epoch, it.Index)
	if it.Path != 0 {
		s += fmt.Sprintf(".%o", it.Path)
	}
	return s
}

// A set is items, with all that they were made of.
type set map[Item]bool

func (s set) add(items ...Item) {
	for _, it := range items {
		for more := true; more && !s[it]; it, more = it.Parent() {
			s[it] = true
		}
	}
}

// covers reports whether it, or what it was made of, is one of s itself.
func covers(s map[Item]bool, it Item) bool {
	for more := true; more; it, more = it.Parent() {
		if s[it] {
			return true
		}
	}
	return false
}
