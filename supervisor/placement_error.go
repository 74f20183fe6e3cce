package supervisor

import (
	"fmt"
	"strconv"
	"strings"
)

// A PlacementError is one mistake in a placement. Where there are several, they are joined.
type PlacementError struct {
	// Placement is the placement as it was written, or what its String returns; in a file, the text at Line if that is the
	// mistake, otherwise the file's path.
	Placement string
	Column    int    // of the mistake, in bytes of Placement, from 1; 0: it is not at one place
	File      string // that the placement was read from; "": from none
	Line      int    // of the mistake in File, from 1; 0: it is not at one line
	Reason    string
	Err       error // why a file cannot be read or used, or nil
}

// Error says all of it, in one line.
func (e *PlacementError) Error() string {
	var b strings.Builder
	b.WriteString("placement ")
	if e.File == "" {
		b.WriteString(strconv.Quote(e.Placement))
	} else {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		if e.Placement != e.File && e.Placement != "" {
			b.WriteString(": " + strconv.Quote(e.Placement))
		}
	}
	if e.Column > 1 {
		fmt.Fprintf(&b, ": column %d, %s", e.Column, e.rest())
	}
	b.WriteString(": " + e.Reason)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// rest is what is written at Column.
func (e *PlacementError) rest() string {
	const enough = 40
	switch {
	case e.Column > len(e.Placement):
		return "the end"
	case len(e.Placement)-e.Column >= enough:
		return strconv.Quote(e.Placement[e.Column-1:][:enough]) + "..."
	}
	return strconv.Quote(e.Placement[e.Column-1:])
}

// Unwrap returns Err.
func (e *PlacementError) Unwrap() error { return e.Err }
