package supervisor

import (
	"fmt"
	"slices"
	"strings"
)

// A fileField is a field that a part of a file may have.
type fileField struct {
	name string
	read func(node)
}

// object reads the fields of n, which is what; nothing is as good as no fields where nothing is needed.
func (r *fileReader) object(n node, what string, fields []fileField) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if n.kind != objectNode && n.kind != nullNode {
		r.fail(n.line, "%s: want fields, and not %s", what, n.kind)
		return
	}
	given := map[int]bool{}
	for _, f := range n.fields {
		i := slices.Index(names, strings.ToLower(f.name))
		switch {
		case i < 0 && len(names) == 0:
			r.fail(f.line, "unknown field %q: %s has none", f.name, what)
		case i < 0:
			r.fail(f.line, "unknown field %q: %s has %s", f.name, what, strings.Join(names, ", "))
		case given[i]:
			r.fail(f.line, "%s twice", f.name)
		default:
			given[i] = true
			fields[i].read(f.value)
		}
	}
}

// target reads the fields of n into t.
func (r *fileReader) target(n node, t target) {
	if n.kind != objectNode && n.kind != nullNode {
		r.fail(n.line, "%s: want fields, and not %s", t.kind, n.kind)
		return
	}
	given, told := map[*param]bool{}, map[string]bool{}
	for _, f := range n.fields {
		into := t.find(strings.ToLower(f.name))
		if into == nil {
			into = t.byField(strings.ToLower(f.name))
		}
		switch {
		case into == nil:
			r.fail(f.line, "unknown field: %s", t.unknown(f.name))
			continue
		case given[into]:
			r.fail(f.line, "%s twice", into.name)
			continue
		}
		given[into] = true
		values, reason := valuesOf(f.value, into)
		if reason != "" {
			r.fail(f.line, "%s: %s", into.name, reason)
			continue
		}
		for _, v := range values {
			if reason, err := into.set(v.text); reason != "" {
				r.failed(v.line, into.name+": "+reason, err)
			}
			for _, reason := range t.faults() {
				if !told[reason] {
					r.fail(v.line, "%s", reason)
				}
				told[reason] = true
			}
		}
	}
}

// byField finds a param by the name of the type's field.
func (t target) byField(name string) *param {
	for i := range t.params {
		if t.params[i].field != "" && t.params[i].field == name {
			return &t.params[i]
		}
	}
	return nil
}

// valuesOf returns what a field sets, one after the other. Fields of env are its entries; one that is null is taken from this
// process.
func valuesOf(n node, into *param) (values []node, reason string) {
	switch {
	case n.kind == scalarNode:
		return []node{n}, ""
	case n.kind == listNode && into.list:
		for _, item := range n.items {
			if item.kind != scalarNode {
				return nil, fmt.Sprintf("want a list of values, and not of %s", item.kind)
			}
		}
		return n.items, ""
	case n.kind == objectNode && into.repeat:
		for _, f := range n.fields {
			switch {
			case f.value.kind == nullNode:
				values = append(values, node{kind: scalarNode, line: f.line, text: f.name})
			case f.value.kind != scalarNode:
				return nil, fmt.Sprintf("%s: want a value, and not %s", f.name, f.value.kind)
			case f.name == "" || strings.Contains(f.name, "="):
				return nil, fmt.Sprintf("%q is no key", f.name)
			default:
				values = append(values, node{kind: scalarNode, line: f.line, text: f.name + "=" + f.value.text})
			}
		}
		return values, ""
	}
	return nil, fmt.Sprintf("want a value, and not %s", n.kind)
}
