package plan

import (
	"slices"
	"strconv"
)

// What has been made of items in another process, where a part of the graph runs: only the paths of its outputs behind
// those of their inputs come back, and here they are tied to the inputs that have waited for them.

// NewForeign returns a family of len(paths) members, at least one, all alive, that were made in another process of the
// items in parents, at least one, which it empties. The name of member i is that of the first parent with paths[i] behind
// its path: ".3.0", say, or "" if a part of the graph has not changed it. Several members may be called the same, as
// behind a Tee. Members appends them to lists, as many as there are outputs of that part of the graph. Members stand in
// the order of a fork where the last parent does.
func NewForeign(parents *IDs, paths []string) *Family {
	x := &struct {
		Family
		special
	}{special: special{paths: slices.Clone(paths)}} // in no slab: it is not to be kept by its neighbours
	f := &x.Family
	f.special = &x.special
	f.alive.Store(int64(len(paths)))
	if len(parents.runs) == 1 {
		f.one[0] = parents.runs[0]
		f.parents = IDs{f.one[:], parents.n}
		parents.Reset()
	} else {
		f.parents, *parents = *parents, IDs{}
	}
	return f
}

// Foreign appends the identities of the outputs of parent that were made in another process, all of which leave by one
// port: see NewForeign. There is at least one. A single output whose path is "" goes on under the identity of its parent,
// and children that are all there are as Kids makes them. Families come from t.
func (s *IDs) Foreign(t *Tally, parent Run, paths []string) {
	switch {
	case len(paths) == 1 && paths[0] == "":
		s.add(parent)
		return
	case len(paths) > 1 && numbered(paths):
		s.Kids(t, parent, len(paths))
		return
	}
	s.Members(NewForeign(&IDs{[]Run{parent}, 1}, paths), 0, len(paths))
}

// numbered reports whether paths are ".0", ".1" and so on.
func numbered(paths []string) bool {
	for i, p := range paths {
		if len(p) < 2 || p[0] != '.' || p[1:] != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// Named appends an item under a name that another process has given it: in the process to which it was sent, where it
// counts as an item of its source.
func (s *IDs) Named(id ID) {
	var source IDs
	source.Source(id.Source, id.Epoch, id.Index, 1)
	if id.Path == "" {
		s.add(source.runs[0])
		return
	}
	s.Members(NewForeign(&source, []string{id.Path}), 0, 1)
}
