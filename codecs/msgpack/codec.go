package msgpack

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/weirflow/weir/codecs"
)

// Errors of Append and Decode, wrapped with what is known about the place. Which of the first three a peer's bytes
// meet says nothing about the peer: all mean that it runs other code, or is hostile.
var (
	// ErrMalformed says that the bytes are not exactly one well-formed msgpack value within the limits.
	ErrMalformed = errors.New("msgpack: malformed")
	// ErrMismatch says that the bytes are a value of another type than the one asked for.
	ErrMismatch = errors.New("msgpack: not a value of this type")
	// ErrMemory says that a value takes more memory than the length of its encoding justifies.
	ErrMemory = errors.New("msgpack: too much memory for so few bytes")
	// ErrDepth says that a value to be encoded nests deeper than MaxDepth, as every cyclic one does.
	ErrDepth = errors.New("msgpack: nested too deep, or cyclic")
)

// Codec is the msgpack codec. The zero value is ready to use, by any number of goroutines. It must not be copied
// after first use.
type Codec struct {
	plans    sync.Map // reflect.Type -> planned; as many entries as the program has types in it
	encoders sync.Pool
	decoders sync.Pool
}

var _ codecs.Codec = (*Codec)(nil)

// planned is the answer about one type, kept whichever it is.
type planned struct {
	plan *plan
	err  error
}

// Name returns "msgpack".
func (c *Codec) Name() string { return "msgpack" }

// Check implements codecs.Codec. Its answer for a type never changes.
func (c *Codec) Check(t reflect.Type) error {
	_, err := c.plan(t)
	return err
}

// Append implements codecs.Codec. Equal values have equal encodings. With an error it returns dst as it was.
func (c *Codec) Append(dst []byte, v any) ([]byte, error) { return c.append(dst, reflect.ValueOf(v)) }

// AppendPointer is Append of what p points to, which may not be nil and stays as it is. It saves the allocation that it takes to make
// an interface of a struct.
func (c *Codec) AppendPointer(dst []byte, p any) ([]byte, error) {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return dst, fmt.Errorf("msgpack: encode what %T points to: not a pointer to a value", p)
	}
	return c.append(dst, v.Elem())
}

func (c *Codec) append(dst []byte, v reflect.Value) ([]byte, error) {
	var t reflect.Type
	if v.IsValid() {
		t = v.Type()
	}
	e, ok := c.encoders.Get().(*encoder)
	if !ok {
		e = newEncoder()
	}
	p, err := c.again(&e.last, t)
	if err != nil {
		return dst, err
	}
	out, err := e.run(p, dst, v)
	c.encoders.Put(e)
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", t, err)
	}
	return out, nil
}

// Decode implements codecs.Codec. Whatever *into held is overwritten, not merged and not reused.
func (c *Codec) Decode(src []byte, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("msgpack: decode into %T: not a pointer to a value", into)
	}
	v = v.Elem()
	d, ok := c.decoders.Get().(*decoder)
	if !ok {
		d = newDecoder()
	}
	p, err := c.again(&d.last, v.Type())
	if err != nil {
		return err
	}
	if err = validate(src, p.limit()); err == nil {
		err = d.run(p, src, v)
	}
	c.decoders.Put(d)
	if err != nil {
		return fmt.Errorf("decode %s: %w", v.Type(), err)
	}
	return nil
}

// A lastPlan is that of the type which an encoder or decoder met last, which is mostly the next one, too.
type lastPlan struct {
	of   reflect.Type
	plan *plan
}

// again is plan, remembered in last.
func (c *Codec) again(last *lastPlan, t reflect.Type) (*plan, error) {
	if last.of == t && t != nil {
		return last.plan, nil
	}
	p, err := c.plan(t)
	if err == nil {
		*last = lastPlan{t, p}
	}
	return p, err
}

func (c *Codec) plan(t reflect.Type) (*plan, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: nil is of no type", codecs.ErrNotEncodable)
	}
	if known, ok := c.plans.Load(t); ok {
		return known.(planned).plan, known.(planned).err
	}
	p, err := compile(t)
	c.plans.Store(t, planned{p, err})
	return p, err
}
