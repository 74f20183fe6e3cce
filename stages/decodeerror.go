package stages

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/weirflow/weir/internal/plan"
)

// DecodeError is the inverse of EncodeError: the error that it returns says the same, and errors.Is and As find the same in
// it, as far as Graph.Errors and ErrorType say. It is never nil, and survives any bytes: those that are no error become one
// that says so, and control characters are escaped. It runs user code: that of types given to ErrorType. For the packages of
// this module.
func DecodeError(g *plan.Graph, b []byte) error {
	err := errors.New("an error has come from another process that cannot be decoded: its methods do not return")
	plan.Apart(func() {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("an error has come from another process that cannot be decoded: panic: %v", r)
			}
		}()
		if decoded, cannot := decodeError(g, b); cannot == nil {
			err = decoded
		} else {
			err = fmt.Errorf("an error has come from another process that cannot be decoded: %w", cannot)
		}
	})
	return err
}

func decodeError(g *plan.Graph, b []byte) (error, error) {
	if len(b) > maxErrorBytes {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(b), maxErrorBytes)
	}
	var t errorTree
	if err := errorCodec(g).Decode(b, &t); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	d := decoder{g: g, known: knownErrors(), alike: t.System == runtime.GOOS}
	inner := make([][]error, len(t.Nodes)) // of each, last one first
	for i := len(t.Nodes) - 1; ; i-- {
		slices.Reverse(inner[i])
		err := d.build(&t.Nodes[i], inner[i])
		if i == 0 {
			return err, nil
		}
		at := t.Nodes[i].Parent
		inner[at] = append(inner[at], err)
	}
}

// check refuses what is no tree, or too large for one of EncodeError's.
func (t *errorTree) check() error {
	most := errorTries()[0]
	if len(t.Nodes) == 0 || len(t.Nodes) > most.nodes {
		return fmt.Errorf("%d errors in it, want 1 to %d", len(t.Nodes), most.nodes)
	}
	depth := make([]int, len(t.Nodes))
	for i, n := range t.Nodes {
		switch {
		case i == 0 && n.Parent == -1:
			continue
		case n.Parent < 0 || n.Parent >= i:
			return fmt.Errorf("error %d is wrapped by %d", i, n.Parent)
		}
		if depth[i] = depth[n.Parent] + 1; depth[i] > most.depth {
			return fmt.Errorf("errors nested deeper than %d", most.depth)
		}
	}
	return nil
}

// A decoder makes one error again.
type decoder struct {
	g     *plan.Graph
	known []error
	alike bool // it comes from a system of the same kind
}

// build makes an error of a node, and of the errors that it wraps.
func (d *decoder) build(n *errorNode, inner []error) error {
	is := chosen(chosen(nil, d.known, n.Known), d.g.Errors, n.Named)
	if (n.Form == knownForm || n.Form == namedForm) && len(is) == 1 {
		return is[0]
	}
	f := foreign{text: plan.Printable(n.Text), is: is, values: d.values(n)}
	v := together(n.Form, &fields{n.Texts, n.Counts}, inner, d.alike)
	if v == nil && len(f.values) == 1 && len(inner) == 0 {
		v = f.values[0]
	} else if v != nil {
		f.values = slices.Insert(f.values, 0, v)
	}
	if v != nil && len(f.values) == 1 && f.fits(v) {
		return v
	}
	if n.Net&isNet != 0 && v == nil {
		f.values = append(f.values, netFault{f.text, n.Net})
	}
	switch {
	case n.Many:
		return &foreignMany{f, inner}
	case len(inner) > 0:
		return &foreignOne{f, inner[0]}
	}
	return &f
}

// fits reports whether v says what the error has said, and is what it was, so that it can stand for it. It runs user code.
func (e *foreign) fits(v error) bool {
	return plan.Said(v) == e.text && !slices.ContainsFunc(e.is, func(s error) bool { return !isItself(v, s) })
}

// chosen appends to is the sentinels that are named by their places; there may be none at a place of a stranger's.
func chosen(is, sentinels []error, places []uint16) []error {
	for _, i := range places {
		if int(i) < len(sentinels) {
			is = append(is, sentinels[i])
		}
	}
	return is
}

func (d *decoder) values(n *errorNode) (values []error) {
	for _, v := range n.Values {
		if int(v.Type) >= len(d.g.ErrorTypes) {
			continue
		}
		if err, ok := d.g.ErrorTypes[v.Type].Decode(v.Data); ok {
			values = append(values, err)
		}
	}
	return values
}
