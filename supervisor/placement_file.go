package supervisor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isPlacementFile reports whether s is the name of a file: it ends like one, and has nothing that only other forms have.
func isPlacementFile(s string) bool {
	ext := strings.ToLower(filepath.Ext(s))
	digits, _, pool := strings.Cut(s, "*")
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ext) &&
		!strings.ContainsAny(s, "=?") && !strings.Contains(s, "://") && !(pool && isNumber(digits))
}

// readPlacementFile reads a file of the form that docs/placement.md has.
func readPlacementFile(path string) (Placement, error) {
	r := &fileReader{path: path}
	text, _, err := readSmallFile(path)
	if err != nil {
		return nil, &PlacementError{Placement: path, File: path, Reason: "not read", Err: err}
	}
	tree := yamlTree
	if strings.EqualFold(filepath.Ext(path), ".json") {
		tree = jsonTree
	}
	root, line, reason := tree(text)
	if reason != "" {
		return nil, &PlacementError{Placement: path, File: path, Line: line, Reason: reason}
	}
	at := r.placement(root, "")
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	return at, nil
}

// A node is a value in a file.
type node struct {
	kind   nodeKind
	line   int
	text   string // of a scalar
	items  []node // of a list
	fields []nodeField
}

type nodeField struct {
	name  string
	line  int
	value node
}

type nodeKind uint8

const (
	nullNode nodeKind = iota
	scalarNode
	listNode
	objectNode
)

func (k nodeKind) String() string { return [...]string{"nothing", "a value", "a list", "fields"}[k] }

// A fileReader makes a placement of nodes, and gathers what is wrong.
type fileReader struct {
	path   string
	faults []error
}

func (r *fileReader) fail(line int, format string, args ...any) {
	r.failed(line, fmt.Sprintf(format, args...), nil)
}

func (r *fileReader) failed(line int, reason string, err error) {
	r.faults = append(r.faults, &PlacementError{Placement: r.path, File: r.path, Line: line, Reason: reason, Err: err})
}

// placement reads n, the part of a file that holder names, "" for all of it. It is nil if there is a fault.
func (r *fileReader) placement(n node, holder string) Placement {
	switch n.kind {
	case scalarNode:
		return r.short(n, holder)
	case listNode:
		return r.regions(n, holder)
	case nullNode:
		r.fail(n.line, "want a placement")
		return nil
	}
	if len(n.fields) != 1 {
		names := make([]string, len(n.fields))
		for i, f := range n.fields {
			names[i] = f.name
		}
		r.fail(n.line, "%q: want one of inprocess, subprocess, remote, pool and regions", strings.Join(names, ", "))
		return nil
	}
	f := n.fields[0]
	switch strings.ToLower(f.name) {
	case "inprocess":
		r.object(f.value, "inprocess", nil)
		return InProcess{}
	case "subprocess":
		var s Subprocess
		r.target(f.value, s.target())
		return s
	case "remote":
		return r.remote(f.value)
	case "pool":
		return r.pool(f, holder)
	case "regions":
		return r.regions(f.value, holder)
	}
	r.fail(f.line, "unknown field %q: want one of inprocess, subprocess, remote, pool and regions", f.name)
	return nil
}

// short reads a placement written as for a flag.
func (r *fileReader) short(n node, holder string) Placement {
	at, err := parsing{text: n.text, file: r.path, line: n.line, dir: filepath.Dir(r.path)}.placement()
	if err != nil {
		r.faults = append(r.faults, err)
		return nil
	}
	if _, ok := at.(Regions); ok && holder != "" {
		return r.regions(n, holder)
	}
	return at
}

func (r *fileReader) remote(n node) Placement {
	var p Remote
	before := len(r.faults)
	t := p.target(filepath.Dir(r.path))
	t.kind = "remote"
	t.params = append([]param{{name: "addr", set: func(value string) (reason string, err error) {
		p.Addr = value
		_, reason = splitAddr(value)
		return reason, nil
	}}}, t.params...)
	r.target(n, t)
	if len(r.faults) > before {
		return nil
	}
	if reason, err := p.finish(); reason != "" {
		r.failed(n.line, reason, err)
		return nil
	}
	return p
}

func (r *fileReader) pool(f nodeField, holder string) Placement {
	if holder == "pool" {
		r.fail(f.line, "%s", notInPool(Pool{}))
		return nil
	}
	p := Pool{}
	sized := false
	r.object(f.value, "pool", []fileField{
		{"size", func(n node) {
			size, err := strconv.Atoi(n.text)
			if n.kind != scalarNode || err != nil || size < 1 || size > mostCopies {
				r.fail(n.line, "size: want a number, 1 to %d", mostCopies)
			}
			p.Size, sized = size, true
		}},
		{"of", func(n node) {
			p.Of = r.placement(n, "pool")
			if reason := notInPool(p.Of); reason != "" {
				r.fail(n.line, "%s", reason)
			}
		}},
	})
	if !sized {
		r.fail(f.line, "a pool without size")
	}
	if !f.value.has("of") {
		r.fail(f.line, "a pool without of")
	}
	return p
}

func (r *fileReader) regions(n node, holder string) Placement {
	switch {
	case holder == "pool":
		r.fail(n.line, "%s", notInPool(Regions{}))
		return nil
	case holder != "":
		r.fail(n.line, "Regions within a region")
		return nil
	case n.kind != listNode:
		r.fail(n.line, "regions: want a list")
		return nil
	}
	all := Regions{}
	taken := map[string]int{}
	for i, item := range n.items {
		all = append(all, r.region(item))
		if reason := all[i].overlaps(i+1, taken); reason != "" {
			r.fail(item.line, "region %s: %s", all[i].name(), reason)
		}
	}
	return all
}

func (r *fileReader) region(n node) (region Region) {
	stage := func(into *string) func(node) {
		return func(n node) {
			none := n.kind == nullNode || n.kind == scalarNode && n.text == ""
			if *into = n.text; n.kind != scalarNode && !none || none && into == &region.From {
				r.fail(n.line, "want the name of a stage")
			}
		}
	}
	r.object(n, "a region", []fileField{
		{"from", stage(&region.From)},
		{"to", stage(&region.To)},
		{"on", func(n node) { region.On = r.placement(n, "region") }},
	})
	for _, name := range []string{"from", "on"} {
		if n.kind == objectNode && !n.has(name) {
			r.fail(n.line, "a region without %s", name)
		}
	}
	return region
}

// has reports whether n has a field.
func (n node) has(name string) bool {
	return slices.ContainsFunc(n.fields, func(f nodeField) bool { return strings.EqualFold(f.name, name) })
}
