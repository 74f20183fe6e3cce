package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/join"
	"github.com/weirflow/weir/internal/wire"
)

// A Refusal is why a node does not run what it is asked to.
type Refusal string

// Refusals.
const (
	OtherVersion    Refusal = "other version"    // of the link: the two programs were built with too different versions of weir
	OtherPipeline   Refusal = "other pipeline"   // what it builds from the configuration is not what the program has built
	UnknownPipeline Refusal = "unknown pipeline" // it was not compiled with it
	BadConfig       Refusal = "bad configuration"
	NodeFull        Refusal = "full" // for now: tried again, unlike the others
	BadRequest      Refusal = "bad request"
)

// A RefusedError says that a node does not run a region. It is in the *NodeError that the run fails with; but for NodeFull, no
// other attempt is made.
type RefusedError struct {
	Refusal Refusal
	Text    string // by the node
}

// Error says both.
func (e *RefusedError) Error() string { return fmt.Sprintf("refused: %s: %s", e.Refusal, e.Text) }

func refusalOf(c wire.Code) Refusal {
	switch c {
	case wire.OtherVersion:
		return OtherVersion
	case wire.OtherGraph:
		return OtherPipeline
	case wire.UnknownPipeline:
		return UnknownPipeline
	case wire.BadConfig:
		return BadConfig
	case wire.Full:
		return NodeFull
	}
	return BadRequest
}

// An AuthError says why a program and a node did not come together: one of them has not proved who it is, or not in time.
// Unless it says that it may go away by itself, no other attempt is made.
type AuthError struct {
	Peer   string // the other one's address
	Reason string // in a few words: "wrong join token", "no TLS 1.3", "certificate out of date"
	Detail string // what to look at, in a sentence; "" if there is no more to say
	Err    error  // what TLS or the network said; nil if they said nothing

	temporary bool
}

// Error tells all of it. It has no secrets in it.
func (e *AuthError) Error() string {
	text := fmt.Sprintf("authentication with %s: %s", e.Peer, e.Reason)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += " (" + printable(e.Err.Error()) + ")"
	}
	return text
}

// Unwrap returns Err.
func (e *AuthError) Unwrap() error { return e.Err }

// Temporary reports whether the same attempt may succeed later without anybody changing anything: the peer was slow, or
// the connection was lost.
func (e *AuthError) Temporary() bool { return e.temporary }

// authError makes an error of package join one that users know; others it leaves as they are.
func authError(err error) error {
	if e, ok := errors.AsType[*join.AuthError](err); ok {
		return &AuthError{printable(e.Peer), e.Reason.String(), e.Detail, e.Err, e.Temporary()}
	}
	return err
}

// linkError makes an error of the link one that users know, and says whether another attempt is pointless.
func linkError(err error) (known error, final bool) {
	if e, ok := errors.AsType[*link.RefusedError](err); ok {
		refused := &RefusedError{refusalOf(e.Code), printable(e.Text)}
		return refused, refused.Refusal != NodeFull
	}
	known = authError(err)
	if e, ok := known.(*AuthError); ok {
		return e, !e.Temporary()
	}
	return err, false
}

// mostShown is how much of a foreign text is shown.
const mostShown = 4 << 10

// printable makes foreign text safe for logs and terminals.
func printable(s string) string {
	cut := ""
	if len(s) > mostShown {
		s, cut = s[:mostShown], "..."
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) < 0 {
		return s + cut
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) || r == '\n' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String() + cut
}
