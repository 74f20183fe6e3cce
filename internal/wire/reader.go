package wire

import "strings"

// HOT PATH: what every item is read with.

// A reader reads a message. After the first thing that is wrong it reads zeros, from the end.
type reader struct {
	b        []byte
	off      int
	reason   string // of the first thing that is wrong; "" for none
	at       int    // where that is
	elements int    // that were announced
	owed     int    // bytes that the elements announced take at least, from where they were announced
	blocks   []Block
	paths    strings.Builder // of which short strings are parts
}

func (r *reader) fail(reason string) {
	if r.reason == "" {
		r.reason, r.at = reason, r.off
	}
	r.off = len(r.b)
}

func (r *reader) byte() byte {
	if r.off >= len(r.b) {
		r.fail(early)
		return 0
	}
	c := r.b[r.off]
	r.off++
	return c
}

// bits reads a byte of bits, of which those not in known must be 0.
func (r *reader) bits(known byte) byte {
	if r.off < len(r.b) && r.b[r.off]&^known == 0 {
		r.off++
		return r.b[r.off-1]
	}
	return r.noBits()
}

func (r *reader) noBits() byte {
	if r.off < len(r.b) {
		r.fail(undefined)
	}
	r.fail(early)
	return 0
}

func (r *reader) uvarint() uint64 {
	if r.off < len(r.b) && r.b[r.off] < 0x80 {
		r.off++
		return uint64(r.b[r.off-1])
	}
	return r.long()
}

// long reads a number of more than one byte.
func (r *reader) long() (u uint64) {
	for i, c := range r.b[r.off:] {
		if i == 9 && c > 1 {
			r.fail(overflow)
			return 0
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 {
				r.fail(overlong)
				return 0
			}
			r.off += i + 1
			return u
		}
	}
	r.fail(early)
	return 0
}

// number reads a number up to limit.
func (r *reader) number(limit uint64) uint64 {
	start := r.off
	u := r.uvarint()
	if u > limit {
		r.off = start
		r.fail(tooLarge)
		return 0
	}
	return u
}

// explicit reads a number that is not usual, for the usual one is 0 and has a bit.
func (r *reader) explicit(limit uint64) uint64 {
	start := r.off
	u := r.number(limit)
	if u == 0 && r.reason == "" {
		r.off = start
		r.fail(roundabout)
	}
	return u
}

// take reads a length up to limit and as many bytes, which alias b. There is no empty slice but nil. A limit is 128 at least.
func (r *reader) take(limit uint64) []byte {
	from := r.off + 1
	if from > len(r.b) || r.b[from-1] >= 0x80 {
		return r.takeLong(limit)
	}
	end := from + int(r.b[from-1])
	if end > len(r.b) {
		r.fail(early)
		return nil
	}
	if r.off = end; end == from {
		return nil
	}
	return r.b[from:end:end]
}

// takeLong reads a length of more than one byte, and as many bytes.
func (r *reader) takeLong(limit uint64) []byte {
	start := r.off
	n := r.number(limit)
	if n > uint64(len(r.b)-r.off) {
		r.off = start
		r.fail(early)
	}
	if r.reason != "" {
		return nil
	}
	from := r.off
	r.off += int(n)
	return r.b[from:r.off:r.off]
}

func (r *reader) text(limit uint64) string { return string(r.take(limit)) }

// fixed fills dst.
func (r *reader) fixed(dst []byte) {
	if len(dst) > len(r.b)-r.off {
		r.fail(early)
		return
	}
	r.off += copy(dst, r.b[r.off:])
}

// chunk is the most bytes that paths share: one allocation for many, and not much that one of them keeps alive.
const chunk = 512

// path reads a path, which may be empty.
func (r *reader) path() string {
	start := r.off
	p := r.take(MaxPath)
	if len(p) == 0 {
		return ""
	}
	if !wellFormed(p) {
		r.off = start
		r.fail(badPath)
		return ""
	}
	if r.paths.Cap()-r.paths.Len() < len(p) {
		r.paths.Reset()
		r.paths.Grow(max(len(p), min(chunk, len(r.b)-start)))
	}
	from := r.paths.Len()
	r.paths.Write(p)
	return r.paths.String()[from:]
}

// longPath reads a path that is there.
func (r *reader) longPath() string {
	start := r.off
	p := r.path()
	if p == "" && r.reason == "" {
		r.off = start
		r.fail(roundabout)
	}
	return p
}

// wellFormed reports whether p is numbers in decimal with a dot before each.
func wellFormed(p []byte) bool {
	digits := 1
	for i, c := range p {
		switch {
		case c == '.' && digits > 0:
			digits = 0
		case c == '.' || c < '0' || c > '9' || i == 0, digits == 1 && p[i-1] == '0':
			return false
		default:
			digits++
		}
	}
	return digits > 0 && p[0] == '.'
}

// count reads how many elements of at least size bytes follow, and refuses what has no room in the rest.
func (r *reader) count(size int) int {
	n := r.number(MaxElements)
	r.announce(int(n), int(n)*size)
	if r.reason != "" {
		return 0
	}
	return int(n)
}

// announce books n elements that take at least size bytes together.
func (r *reader) announce(n, size int) {
	r.elements += n
	r.owed += size
	if r.elements > MaxElements || r.owed > len(r.b)-r.off {
		r.fail(tooMany)
	}
}

// end is called when all was read. It refuses what is left.
func (r *reader) end(left int) {
	switch {
	case r.reason != "":
	case r.off < len(r.b):
		r.fail(late)
	case left > 0 || len(r.blocks) > 0:
		r.fail(tooFew)
	}
}

// cut takes the first n elements of *from.
func cut[T any](r *reader, from *[]T, n uint64) []T {
	if n > uint64(len(*from)) {
		r.fail(unannounced)
		return nil
	}
	if n == 0 {
		return nil
	}
	s := (*from)[:n:n]
	*from = (*from)[n:]
	return s
}

// several makes room for n elements.
func several[T any](n int) []T {
	if n == 0 {
		return nil
	}
	return make([]T, n)
}
