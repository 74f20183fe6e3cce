package msgpack

import (
	"fmt"
	"math"
	"reflect"

	wire "github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// An encoder writes one value. The library below writes the rare heads into it; which of them, for which
// Go value, is decided here. Owned by one Append at a time.
type encoder struct {
	wire  *wire.Encoder // writes to the encoder itself
	out   []byte
	depth int // containers that are open
	last  lastPlan
	budget
}

func newEncoder() *encoder {
	e := &encoder{}
	e.wire = wire.NewEncoder(e)
	return e
}

// run appends v to dst. User code runs below, in types that encode themselves: its panics end here.
func (e *encoder) run(p *plan, dst []byte, v reflect.Value) (out []byte, err error) {
	e.out, e.depth, e.budget = dst, 0, budget{limitBytes: math.MaxUint64}
	defer func() {
		e.out = nil // the pool must not keep the caller's memory
		if r := recover(); r != nil {
			err = fmt.Errorf("msgpack: panic: %v", r)
		}
	}()
	if p.addr {
		v = addressable(v)
	}
	if err := p.encode(e, v); err != nil {
		return nil, err
	}
	if n := len(e.out) - len(dst); e.spentBytes > allowance(n) {
		return nil, fmt.Errorf("%w: %d in memory, %d encoded", ErrMemory, e.spentBytes, n)
	}
	return e.out, nil
}

// addressable returns v, or a copy of it, with an address for the methods that want one.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	p := reflect.New(v.Type()).Elem()
	p.Set(v)
	return p
}

// Write implements io.Writer for the library.
func (e *encoder) Write(b []byte) (int, error) {
	e.out = append(e.out, b...)
	return len(b), nil
}

// WriteByte implements io.ByteWriter for the library, which without it would allocate for every head.
func (e *encoder) WriteByte(b byte) error {
	e.out = append(e.out, b)
	return nil
}

// array opens an array of n, to be closed. That is where a cyclic value ends: every cycle goes through a container.
func (e *encoder) array(n int) error {
	if err := e.open(); err != nil {
		return err
	}
	if n < 16 {
		e.out = append(e.out, msgpcode.FixedArrayLow|byte(n))
		return nil
	}
	return e.wire.EncodeArrayLen(n)
}

func (e *encoder) open() error {
	if e.depth == MaxDepth {
		return ErrDepth
	}
	e.depth++
	return nil
}

func (e *encoder) close() { e.depth-- }

// bin writes b, nil as an empty one.
func (e *encoder) bin(b []byte) error {
	if uint64(len(b)) > math.MaxUint32 {
		return errTooLong
	}
	e.binHead(len(b))
	e.out = append(e.out, b...)
	return nil
}

var errTooLong = fmt.Errorf("msgpack: longer than %d", uint32(math.MaxUint32))
