package msgpack

import (
	"encoding/binary"
	"fmt"
)

// MaxDepth is how many arrays and maps may stand inside each other, 64. It bounds the stack of encoder and decoder.
const MaxDepth = 64

// What the validator finds. The errors carry no offsets: the peer that sent the bytes is the one at fault.
var (
	errShort    = fmt.Errorf("%w: a value or a length goes beyond the end", ErrMalformed)
	errNesting  = fmt.Errorf("%w: nested deeper than %d", ErrMalformed, MaxDepth)
	errValues   = fmt.Errorf("%w: more values than the type has", ErrMalformed)
	errTag      = fmt.Errorf("%w: 0xc1 begins no value", ErrMalformed)
	errExt      = fmt.Errorf("%w: extension types are not used", ErrMalformed)
	errTrailing = fmt.Errorf("%w: bytes after the value", ErrMalformed)
)

// Classes of a first byte. Below len8 the class is the number of bytes that follow.
const (
	len8   = 0x40 + iota // a length of 1 byte, then as many bytes
	len16                // a length of 2 bytes
	len32                // a length of 4 bytes
	fixArr               // an array, its length in the low 4 bits
	fixMap               // a map likewise
	arr16
	arr32
	map16
	map32
	ext
	bad
)

// classes is indexed by a value's first byte, 16 of them a line; msgpack.org/spec "formats" is the source.
const classes = alone + alone + alone + alone + alone + alone + alone + alone + // 0x00: positive fixint
	"DDDDDDDDDDDDDDDD" + // 0x80: fixmap
	"CCCCCCCCCCCCCCCC" + // 0x90: fixarray
	"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f" + // 0xa0: fixstr
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" +
	"\x00J\x00\x00@ABIII\x04\x08\x01\x02\x04\x08" + // 0xc0: nil, never used, false, true, bin, ext, float, uint
	"\x01\x02\x04\x08IIIII@ABEFGH" + // 0xd0: int, fixext, str, array, map
	alone + alone // 0xe0: negative fixint

const alone = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// validate checks, without recursion and without allocation, that b is exactly one well-formed value of at most
// maxValues values in all, itself and keys included. What passes cannot make a reader recurse deeper than MaxDepth,
// or expect more elements than b has bytes:
//
// A container of n is refused unless n bytes remain for it besides those its parents still expect. So a false count
// is refused where it stands, and no sum here exceeds len(b). Extensions are refused one and all, because the library
// looks into them: it takes their payload for a map header, and 10 well-formed bytes make it allocate 1.3 GB.
//
// HOT PATH: it runs for every item that arrives.
func validate(b []byte, maxValues int) error {
	var (
		stack [MaxDepth]int // values that the enclosing containers still expect, outermost first
		depth = 0
		left  = 1 // values that the innermost container still expects
		owed  = 1 // values that all of them still expect
		room  = maxValues - 1
		i     = 0
	)
	for owed > 0 {
		for left == 0 {
			depth--
			left = stack[depth]
		}
		if i >= len(b) {
			return errShort
		}
		tag := b[i]
		i++
		left--
		owed--
		class := classes[tag]
		if class < len8 {
			i += int(class)
			if i > len(b) {
				return errShort
			}
			continue
		}
		n, ok := 0, true // length of a string, or values in a container
		switch class {
		case fixArr:
			n = int(tag & 0x0f)
		case fixMap:
			n = 2 * int(tag&0x0f)
		case len8:
			n, i, ok = length(b, i, 1)
		case len16, arr16, map16:
			n, i, ok = length(b, i, 2)
		case len32, arr32, map32:
			n, i, ok = length(b, i, 4)
		case ext:
			return errExt
		default:
			return errTag
		}
		if !ok || n > len(b)-i {
			return errShort
		}
		if class <= len32 {
			i += n
			continue
		}
		if class == map16 || class == map32 {
			if n > len(b)/2 {
				return errShort // and n would overflow where an int has 32 bits
			}
			n *= 2
		}
		if n > len(b)-i-owed {
			return errShort
		}
		if n > room {
			return errValues
		}
		if depth == MaxDepth {
			return errNesting
		}
		stack[depth] = left
		depth++
		left = n
		owed += n
		room -= n
	}
	if i != len(b) {
		return errTrailing
	}
	return nil
}

// length reads the size bytes at i and returns them with the index after them. A length beyond what an int of 32 bits
// holds is none: no slice is that long there.
func length(b []byte, i, size int) (n, next int, ok bool) {
	next = i + size
	if next > len(b) {
		return 0, i, false
	}
	switch size {
	case 1:
		n = int(b[i])
	case 2:
		n = int(binary.BigEndian.Uint16(b[i:]))
	default:
		n = int(binary.BigEndian.Uint32(b[i:]))
	}
	return n, next, n >= 0
}
