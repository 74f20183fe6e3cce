package plan

import (
	"fmt"
	"strconv"
)

// An ErrorType is a type of errors whose values travel between processes.
type ErrorType struct {
	Shape string // as in codecs.Type
	// Encode returns the encoding of err, or of what its method As makes of it, if it is of the type. It runs user code.
	// nil: values of the type cannot be encoded.
	Encode func(err error) ([]byte, bool)
	// Decode is the inverse of Encode. It survives any bytes, and runs user code.
	Decode func(b []byte) (error, bool)
}

// errors writes what both sides of a link must have in the same order.
func (t *text) errors(g *Graph) {
	t.line("", "errors", strconv.Itoa(len(g.Errors)))
	for _, err := range g.Errors {
		t.line("", "error", strconv.Quote(Said(err)))
	}
	t.line("", "error types", strconv.Itoa(len(g.ErrorTypes)))
	for _, e := range g.ErrorTypes {
		t.line("", "error type", shapeText(e.Shape))
	}
}

// Said is what an error says. Its methods are user code: of one that panics it is said that it does.
func Said(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("a %T whose methods panic: %s", err, said(r))
		}
	}()
	return err.Error()
}
