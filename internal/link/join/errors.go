package join

import (
	"fmt"
	"strings"
	"unicode"
)

// A Reason is what was wrong with a peer.
type Reason uint8

// Reasons.
const (
	Malformed     Reason = iota // neither side could make sense of what the other one sent
	WrongToken                  // the secrets of the two sides differ
	WrongPin                    // the node's key is not the one that the join token was made with
	WrongMethod                 // one side has a join token, the other one certificates
	Plaintext                   // one side speaks TLS, the other one does not
	OldTLS                      // the peer speaks no TLS 1.3
	TimedOut                    // it took too long
	Closed                      // the peer closed the connection before the handshake was over
	Oversized                   // the peer sent too much before it had proved itself
	Crowded                     // too many peers shook hands at once, and this one had been at it for longest
	WrongCA                     // the certificate is signed by an authority that is not trusted here
	Expired                     // the certificate is not valid any more, or not yet
	WrongName                   // the certificate is for another name
	NoCertificate               // the program showed no certificate
	Rejected                    // the certificate was not accepted, for some other reason or for one that was not told
	NotLoopback                 // without credentials both ends must be on one machine
	reasons                     // how many there are
)

// String returns the reason in a few words.
func (r Reason) String() string {
	switch r {
	case Malformed:
		return "not understood"
	case WrongToken:
		return "wrong join token"
	case WrongPin:
		return "wrong key"
	case WrongMethod:
		return "join token against certificates"
	case Plaintext:
		return "no TLS"
	case OldTLS:
		return "no TLS 1.3"
	case TimedOut:
		return "timed out"
	case Closed:
		return "connection closed"
	case Oversized:
		return "too many bytes"
	case Crowded:
		return "too many at once"
	case WrongCA:
		return "unknown certificate authority"
	case Expired:
		return "certificate out of date"
	case WrongName:
		return "certificate for another name"
	case NoCertificate:
		return "no certificate"
	case Rejected:
		return "certificate not accepted"
	case NotLoopback:
		return "not on this machine"
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// An AuthError says why a peer and this side did not come together.
type AuthError struct {
	Peer   string // the peer's address
	Reason Reason
	Detail string // what to look at, in a sentence; what comes from the peer is escaped and limited in it
	Err    error  // what TLS or the network said; nil if they said nothing
}

// Error tells all of it. It has no secrets in it.
func (e *AuthError) Error() string {
	text := fmt.Sprintf("authentication with %s: %s", printable(e.Peer), e.Reason)
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
func (e *AuthError) Temporary() bool {
	return e.Reason == TimedOut || e.Reason == Closed || e.Reason == Crowded
}

// maxTextBytes of foreign text stand in an error: certificates have names of any length.
const maxTextBytes = 512

// printable makes foreign text safe for logs and terminals.
func printable(s string) string {
	cut := ""
	if len(s) > maxTextBytes {
		s, cut = strings.ToValidUTF8(s[:maxTextBytes], ""), "..."
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String() + cut
}

// A TokenError says what is wrong with a join token or its file.
type TokenError struct {
	Path   string // "" if the token is not from a file
	Reason string
	Err    error // what the operating system said; nil if it said nothing
}

// Error names the file.
func (e *TokenError) Error() string {
	text := "join token"
	if e.Path != "" {
		text = fmt.Sprintf("join token %q", e.Path)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *TokenError) Unwrap() error { return e.Err }

// A ConfigError is one mistake in a tls.Config.
type ConfigError struct {
	Field  string // of tls.Config
	Reason string
}

// Error names the field.
func (e *ConfigError) Error() string { return fmt.Sprintf("tls.Config.%s: %s", e.Field, e.Reason) }
