package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Settled is what has been accepted of items of the sources that are not done: descendants by their paths, as in Leaf. A node that begins
// where another one has died makes them again, and drops them where they are made. The zero value is empty.
type Settled struct {
	of map[ID]map[string]*Spans // by item of a source, and by path without its last number
}

// Len returns the number of items of sources that it speaks of. It may be asked of nil.
func (s *Settled) Len() int {
	if s == nil {
		return 0
	}
	return len(s.of)
}

// Add notes n siblings of an item of a source, from path on: ".3.0" is the first child of its fourth child.
func (s *Settled) Add(source, epoch int, index int64, path string, n int64) {
	before, last, ok := cutPath(path)
	if !ok {
		return
	}
	key := ID{Source: source, Epoch: epoch, Index: index}
	if s.of == nil {
		s.of = map[ID]map[string]*Spans{}
	}
	paths := s.of[key]
	if paths == nil {
		paths = map[string]*Spans{}
		s.of[key] = paths
	}
	if paths[before] == nil {
		paths[before] = &Spans{}
	}
	paths[before].Add(last, last+n)
}

// cutPath takes the last number off a path.
func cutPath(path string) (before string, last int64, ok bool) {
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 {
		return "", 0, false
	}
	last, err := strconv.ParseInt(path[dot+1:], 10, 64)
	return path[:dot], last, err == nil
}

// Under returns which are settled of those that a stage makes of the item of r, a run of one, or of the branches by which it goes;
// or nil. It costs nothing where nothing is settled.
func (s *Settled) Under(r Run) *Spans {
	if s.Len() == 0 || !r.Pure() {
		return nil
	}
	l := r.leaf()
	return s.of[ID{Source: l.Source, Epoch: l.Epoch, Index: l.Index}][l.Path]
}

// Drop forgets an item of a source: it is done.
func (s *Settled) Drop(source, epoch int, index int64) {
	delete(s.of, ID{Source: source, Epoch: epoch, Index: index})
}

// DropEpochs forgets the items of epochs before epoch.
func (s *Settled) DropEpochs(epoch int) {
	for id := range s.of {
		if id.Epoch < epoch {
			delete(s.of, id)
		}
	}
}

// Each tells all of it, in order.
func (s *Settled) Each(tell func(item ID, path string, n int64)) {
	items := slices.SortedFunc(maps.Keys(s.of), func(a, b ID) int {
		return cmp.Or(a.Source-b.Source, a.Epoch-b.Epoch, cmp.Compare(a.Index, b.Index))
	})
	for _, id := range items {
		for _, p := range slices.Sorted(maps.Keys(s.of[id])) {
			for _, x := range s.of[id][p].All() {
				tell(id, p+"."+strconv.FormatInt(x.From, 10), x.To-x.From)
			}
		}
	}
}
