package plan

import (
	"errors"
	"fmt"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/wire"
)

// Decode appends the item that src is the encoding of.
func (c *Of[T]) Decode(codec codecs.Codec, src []byte) (err error) {
	n := c.grow()
	err = errEnded
	defer c.unless(&err, n)
	defer c.caught("decoding", &err)
	return codec.Decode(src, &c.Items[n])
}

// Pack makes a payload of item i, which stays as it is. What is in the payload is valid until p.Reset.
func (c *Of[T]) Pack(p *payload.Packer, i int) (made wire.Payload, err error) {
	defer c.caught("encoding", &err)
	return c.form.Pack(p, &c.Items[i])
}

// Unpack appends the item that a payload was made of, without an identity. It keeps nothing of in.Bytes.
func (c *Of[T]) Unpack(u *payload.Unpacker, in wire.Payload) (err error) {
	n := c.grow()
	err = errEnded
	defer c.unless(&err, n)
	defer c.caught("decoding", &err)
	return c.form.Unpack(u, in, &c.Items[n])
}

// errEnded is what is wrong with an item of which the methods have ended their goroutine: it is taken out again, and nobody is
// left to be told.
var errEnded = errors.New("its goroutine has ended")

// Lent returns what item i has in shared memory.
func (c *Of[T]) Lent(i int) payload.Ref { return c.form.Lent(&c.Items[i]) }

// grow appends a zero value, and returns its place.
func (c *Of[T]) grow() int {
	var zero T
	c.Items = append(c.Items, zero)
	return len(c.Items) - 1
}

// unless takes the last item out again, which is at n, if there was an error.
func (c *Of[T]) unless(err *error, n int) {
	if *err != nil {
		clear(c.Items[n:])
		c.Items = c.Items[:n]
	}
}

// caught makes an error of the panic of a method of T.
func (c *Of[T]) caught(doing string, err *error) {
	if r := recover(); r != nil {
		value, stack := Panicked(r)
		*err = fmt.Errorf("%s a %v panicked: %v\n%s", doing, c.form, value, stack)
	}
}
