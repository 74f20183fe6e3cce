package codecs

import (
	"errors"
	"reflect"
)

// ErrNotEncodable says that values of some type cannot be encoded: to cross a process boundary, or to be kept as a dead
// letter. Errors that wrap it name the path to the offending part, as in "Config.Filter.Match: func(string) bool".
var ErrNotEncodable = errors.New("codecs: type cannot be encoded")

// ErrTooLarge says that a value is too large to cross a process boundary: more than 64 MiB, or between processes of one
// machine more than the memory which they share, if that is more.
var ErrTooLarge = errors.New("codecs: value is too large to travel")

// A Codec encodes values. Implementations must be safe for concurrent use, and must survive any input: a decoder that
// panics or allocates out of proportion on bytes from a peer fails codectest.Run.
type Codec interface {
	// Name identifies the format to the other side of a link, as in "msgpack". Both sides must agree. It is the same
	// at every call.
	Name() string

	// Append appends v's encoding to dst and returns the extended slice; the type of v is the one that Check was
	// asked about, not a pointer to it. It keeps neither v nor anything v points to, and writes nothing below
	// len(dst). With an error the slice it returns is dst, or undefined beyond len(dst).
	Append(dst []byte, v any) ([]byte, error)

	// Decode reads src, which is one value and nothing more, into the value that into points to, which is its type's
	// zero value. It must not keep src, or alias it in *into: src is reused as soon as Decode returns. With an error
	// *into is undefined.
	Decode(src []byte, into any) error

	// Check says whether values of type t survive the round trip; if not, the error wraps ErrNotEncodable. A struct
	// with an unexported field does not, unless it encodes itself: its value would be lost without a word. A nil
	// slice or map may come back empty, and an empty one nil.
	Check(t reflect.Type) error
}
