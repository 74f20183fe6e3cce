package stages

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
)

// An errorTree is an error on its way between processes: itself and what it wraps, each behind what wraps it.
type errorTree struct {
	System string // of the process that it comes from: numbers of syscall mean something there
	Nodes  []errorNode
}

// An errorNode is one error of a tree.
type errorNode struct {
	Parent int // index of what wraps it; -1 for the first
	Form   form
	Text   string // what it says
	Many   bool   // it can wrap several
	Net    uint8  // bits of what it says as a net.Error
	Known  []uint16
	Named  []uint16 // sentinels that it is, in knownErrors and Graph.Errors
	Values []errorValue
	Texts  []string // fields
	Counts []int64
}

// An errorValue is the error, or what its method As makes of it, as a value of a type that was given to ErrorType.
type errorValue struct {
	Type uint16
	Data []byte
}

// maxErrorBytes is how much of an error travels.
const maxErrorBytes = 64 << 10

// errorLimits bound a tree. What errors do is user code: some unwrap to themselves.
type errorLimits struct{ nodes, depth, text, value int }

// Of an error that is too large for the first limits the second ones are tried, and the last ones are always kept.
func errorTries() []errorLimits {
	return []errorLimits{{256, 64, 16 << 10, 16 << 10}, {64, 32, 1 << 10, 1 << 10}, {8, 8, 512, 0}}
}

// mostAbsorbed is how many errors beyond the limits of a tree are asked for sentinels.
const mostAbsorbed = 4096

// EncodeError returns err, of a function of g, for DecodeError in another process; at most 64 KiB, so that long texts are
// cut, as are errors that wrap very many; of nil it is nothing. It runs user code: the methods of err, which may panic, or end their goroutine. For
// the packages of this module.
func EncodeError(g *plan.Graph, err error) []byte {
	if err == nil {
		return nil
	}
	text := fmt.Sprintf("a %T whose methods do not return", err)
	var b []byte
	plan.Apart(func() {
		defer func() { _ = recover() }() // each method is guarded: this is for what nobody has thought of
		for _, l := range errorTries() {
			e := encoder{g: g, known: knownErrors(), errorLimits: l}
			e.add(err, -1, 0)
			if whole := e.encode(); len(whole) <= maxErrorBytes {
				b = whole
				return
			}
		}
	})
	if b == nil {
		e := encoder{g: g, nodes: []errorNode{{Parent: -1, Text: text}}}
		b = e.encode()
	}
	return b
}

// An encoder takes one error apart.
type encoder struct {
	g     *plan.Graph
	known []error
	errorLimits
	nodes    []errorNode
	absorbed int
}

func (e *encoder) encode() []byte {
	b, err := errorCodec(e.g).Append(nil, errorTree{runtime.GOOS, e.nodes})
	if err != nil {
		return nil // its types are known, and shallow
	}
	return b
}

// errorCodec is that of the errors of g.
func errorCodec(g *plan.Graph) *msgpack.Codec {
	if g.ErrorCodec == nil {
		return &msgpack.Codec{}
	}
	return g.ErrorCodec
}

// add appends err, and what it wraps, below the error at parent.
func (e *encoder) add(err error, parent, depth int) {
	if len(e.nodes) >= e.errorLimits.nodes || depth > e.depth {
		e.absorb(err, parent)
		return
	}
	at := len(e.nodes)
	n := errorNode{Parent: parent, Text: e.cut(plan.Said(err))}
	if e.itself(&n, err) {
		e.nodes = append(e.nodes, n)
		return
	}
	e.describe(&n, err)
	var inner []error
	inner, n.Many = wrapped(err)
	e.nodes = append(e.nodes, n)
	e.flag(at, err)
	for _, i := range inner {
		e.add(i, at, depth+1)
	}
}

// itself reports whether err is a sentinel that the other side has: that is used there, then.
func (e *encoder) itself(n *errorNode, err error) bool {
	if numbered(err) {
		return false // it may be another one there
	}
	for i, s := range e.known {
		if same(err, s) {
			n.Form, n.Known = knownForm, []uint16{uint16(i)}
			return true
		}
	}
	for i, s := range e.g.Errors {
		if same(err, s) {
			n.Form, n.Named = namedForm, []uint16{uint16(i)}
			return true
		}
	}
	return false
}

// describe notes the fields of err, if every process knows its type.
func (e *encoder) describe(n *errorNode, err error) {
	defer func() {
		if recover() != nil { // a nil pointer, or an address of the user's
			n.Form, n.Texts, n.Counts, n.Net = plainForm, nil, nil, 0
		}
	}()
	kind, f := apartOf(err)
	if x, ok := err.(interface{ stands() error }); ok && kind == plainForm {
		kind, f = apartOf(x.stands())
	}
	for i, s := range f.strings {
		f.strings[i] = e.cut(s)
	}
	n.Form, n.Texts, n.Counts = kind, f.strings, f.numbers
	if kind == plainForm || kind == errnoForm {
		n.Net = netBits(err)
	}
}

// flag notes at the node at which sentinels err is, and the values that errors.As finds in it.
func (e *encoder) flag(at int, err error) {
	n := &e.nodes[at]
	n.Known, n.Named = flagged(n.Known, e.known, err), flagged(n.Named, e.g.Errors, err)
	for i, t := range e.g.ErrorTypes {
		if t.Encode == nil || e.value == 0 || slices.ContainsFunc(n.Values, func(v errorValue) bool { return int(v.Type) == i }) {
			continue
		}
		if b, ok := t.Encode(err); ok && len(b) <= e.value {
			n.Values = append(n.Values, errorValue{uint16(i), b})
		}
	}
}

func flagged(flags []uint16, sentinels []error, err error) []uint16 {
	for i, s := range sentinels {
		if isItself(err, s) && !slices.Contains(flags, uint16(i)) {
			flags = append(flags, uint16(i))
		}
	}
	return flags
}

// absorb has the node at stand for err, and what that wraps, which have no room in the tree.
func (e *encoder) absorb(err error, at int) {
	if e.absorbed++; e.absorbed > mostAbsorbed || at < 0 {
		return
	}
	e.flag(at, err)
	inner, _ := wrapped(err)
	for _, i := range inner {
		e.absorb(i, at)
	}
}

// cut shortens what is too long.
func (e *encoder) cut(s string) string {
	if len(s) <= e.text {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(s[:e.text], ""), len(s)-e.text)
}
