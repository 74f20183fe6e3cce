// Package msgpack is the default codec: plain Go values as msgpack, safe to decode whoever sent it. No input can
// exhaust memory or the stack, or panic out of Decode.
//
// # Usage
//
// The zero value of [Codec] is ready; make one and keep it, since it remembers the types it has seen. What travels:
//
//	bool, numbers, strings      as msgpack has them; complex numbers as an array of two
//	[]byte, [n]byte             bin; the named types of them too
//	slices, arrays              array; a nil slice is nil, so nil and empty stay apart
//	maps                        map, sorted by encoded key, so equal maps have equal encodings
//	structs                     array of the fields in order, without names; struct tags change nothing
//	pointers                    nil, or what they point to (in an array of one where that may be nil itself)
//	time.Time                   array of seconds since 1970, nanoseconds, seconds east of UTC (nil for UTC itself)
//	encoding.BinaryAppender     (or BinaryMarshaler) with BinaryUnmarshaler: bin, the bytes they make
//	codecs.Bulk                 array of two bin, head and block
//
// A time keeps its instant and its offset; its monotonic reading and the zone's name stay behind. One with the local
// zone's offset is Local again where it arrives. Strings are bytes, as in Go: they need not be UTF-8.
//
// What does not travel is refused by Check, with the path to it: interfaces (any, error), chan, func,
// unsafe.Pointer, uintptr, structs with unexported fields, and map keys that are time.Time or hold pointers, because
// such keys are found again by identity and that stays behind. A field named _ or without size carries nothing and is
// passed over. Pointers come back as copies: two that were equal are not any more, and cyclic values are an error.
//
// Both sides must have the same fields in the same order; codecs.Type.Shape says whether they do, and a graph's
// fingerprint contains it. Decode never guesses: another number of fields, another kind, a number out of range, a
// repeated key is an error.
//
// # Concurrency
//
// A Codec is used by many goroutines at once, and must not be copied after its first use.
//
// # Failure
//
// Check returns errors that wrap codecs.ErrNotEncodable. Append returns [ErrDepth] for values that nest deeper than
// [MaxDepth], which cyclic ones do. Decode returns [ErrMalformed] for bytes that are not one well-formed value within
// the limits, [ErrMismatch] for one of another type, and [ErrMemory] for one that would reserve more than 1 MiB and 64
// bytes per byte received. Append refuses what Decode would refuse for its memory. A panic in a method of a value that
// encodes itself becomes an error; the bytes such a method gets are its own.
//
// # Testing
//
// The package keeps codectest.Run, and its fuzz targets compare the validator with a plain reading of the
// specification and the encoding with another implementation.
package msgpack
