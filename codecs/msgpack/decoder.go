package msgpack

import (
	"fmt"
	"io"
	"reflect"
	"time"

	wire "github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// A decoder reads one validated value. The library below reads the heads and the numbers out of it; strings, bytes
// and everything that reserves memory are read here. Owned by one Decode at a time.
type decoder struct {
	wire *wire.Decoder // reads from the decoder itself
	src  []byte
	pos  int
	last lastPlan
	budget

	zone   *time.Location // the last that was made, since one message seldom has two
	offset int            // of zone, in seconds
}

func newDecoder() *decoder {
	d := &decoder{}
	d.wire = wire.NewDecoder(d)
	return d
}

// run reads src into v. User code runs below, in types that decode themselves: its panics end here, and so would one
// of the library's.
func (d *decoder) run(p *plan, src []byte, v reflect.Value) (err error) {
	d.src, d.pos, d.budget = src, 0, budget{limitBytes: allowance(len(src))}
	defer func() {
		d.src = nil // the pool must not keep the caller's memory
		if r := recover(); r != nil {
			err = fmt.Errorf("msgpack: panic: %v", r)
		}
	}()
	if err := p.decode(d, v); err != nil {
		return err
	}
	if d.pos != len(src) {
		return fmt.Errorf("%w: %d bytes too many", ErrMismatch, len(src)-d.pos)
	}
	return nil
}

// ReadByte implements io.ByteScanner for the library.
func (d *decoder) ReadByte() (byte, error) {
	if d.pos >= len(d.src) {
		return 0, io.ErrUnexpectedEOF
	}
	d.pos++
	return d.src[d.pos-1], nil
}

// UnreadByte implements io.ByteScanner for the library.
func (d *decoder) UnreadByte() error {
	if d.pos == 0 {
		return io.ErrUnexpectedEOF
	}
	d.pos--
	return nil
}

// Read implements io.Reader for the library.
func (d *decoder) Read(b []byte) (int, error) {
	if d.pos >= len(d.src) {
		return 0, io.EOF
	}
	n := copy(b, d.src[d.pos:])
	d.pos += n
	return n, nil
}

// peek returns the head of the next value. After the last it returns the one byte that begins no value.
func (d *decoder) peek() byte {
	if d.pos >= len(d.src) {
		return 0xc1
	}
	return d.src[d.pos]
}

// null reads a nil if one is next.
func (d *decoder) null() bool {
	if d.peek() != msgpcode.Nil {
		return false
	}
	d.pos++
	return true
}

// array reads the head of an array of exactly n.
func (d *decoder) array(n int) error {
	got, err := d.arrayLen()
	if err == nil && got != n {
		return fmt.Errorf("%w: array of %d, want %d", ErrMismatch, got, n)
	}
	return err
}

func (d *decoder) arrayLen() (int, error) {
	switch c := d.peek(); {
	case msgpcode.IsFixedArray(c):
		d.pos++
		return int(c &^ msgpcode.FixedArrayLow), nil
	case c != msgpcode.Array16 && c != msgpcode.Array32:
		return 0, d.mismatch("an array")
	}
	return d.wire.DecodeArrayLen()
}

func (d *decoder) mapLen() (int, error) {
	if c := d.peek(); !msgpcode.IsFixedMap(c) && c != msgpcode.Map16 && c != msgpcode.Map32 {
		return 0, d.mismatch("a map")
	}
	return d.wire.DecodeMapLen()
}

// bin reads a bin without copying it: the result lies in src.
func (d *decoder) bin() ([]byte, error) {
	if c := d.peek(); c < msgpcode.Bin8 || c > msgpcode.Bin32 {
		return nil, d.mismatch("bytes")
	}
	return d.body()
}

// body reads a string or bin of any length without copying it.
func (d *decoder) body() ([]byte, error) {
	n, err := d.bodyLen()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > len(d.src)-d.pos {
		return nil, io.ErrUnexpectedEOF
	}
	d.pos += n
	return d.src[d.pos-n : d.pos : d.pos], nil
}

// room refuses n elements of at least minBytes each where the rest of the message has no room for them.
func (d *decoder) room(n int, minBytes uint64) error {
	if uint64(n) > uint64(len(d.src)-d.pos)/max(minBytes, 1) {
		return fmt.Errorf("%w: %d elements of at least %d bytes in %d", ErrMismatch, n, minBytes, len(d.src)-d.pos)
	}
	return nil
}

func (d *decoder) mismatch(want string) error {
	return fmt.Errorf("%w: want %s, got 0x%02x", ErrMismatch, want, d.peek())
}
