package child

import "bytes"

const (
	// tailBytes of stderr are kept.
	tailBytes = 64 << 10
	// headBytes are kept of what a crash says first: the stacks of many goroutines may follow.
	headBytes = 4 << 10
)

// A tail is the end of what was written to it, and the beginning of the last crash in it.
type tail struct {
	last   []byte // the end of it, and up to as much before
	cut    bool   // there was more than last
	head   []byte
	inHead bool
}

func (t *tail) write(b []byte) {
	if t.last = append(t.last, b...); len(t.last) > 2*tailBytes {
		t.last, t.cut = t.last[:copy(t.last, t.last[len(t.last)-tailBytes:])], true
	}
}

// line is told each line of what was written, after it was written.
func (t *tail) line(line []byte) {
	if crashes(line) && !t.inHead {
		t.head, t.inHead = t.head[:0], true
	}
	if t.inHead {
		t.head = append(append(t.head, line...), '\n')
		t.inHead = len(t.head) < headBytes
	}
}

// crashes reports whether the Go runtime writes such a line when it ends the process.
func crashes(line []byte) bool {
	return bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: "))
}

// bytes returns at most tailBytes: all of it, or its end, or the beginning of the last crash and the end.
func (t *tail) bytes() []byte {
	if len(t.last) <= tailBytes && !t.cut {
		return bytes.Clone(t.last)
	}
	last := t.last[len(t.last)-tailBytes:]
	if bytes.Contains(last, t.head) {
		return bytes.Clone(last)
	}
	head := append(bytes.Clone(t.head), "[...]\n"...)
	return append(head, last[len(head):]...)
}
