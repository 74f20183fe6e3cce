package plan

import (
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs"
)

// Decode appends the item that src is the encoding of.
func (c *Of[T]) Decode(codec codecs.Codec, src []byte) (err error) {
	n := len(c.Items)
	var zero T
	c.Items = append(c.Items, zero)
	defer func() {
		if r := recover(); r != nil {
			value, stack := Panicked(r)
			err = fmt.Errorf("decoding a %v panicked: %v\n%s", reflect.TypeFor[T](), value, stack)
		}
		if err != nil {
			c.Items[n] = zero
			c.Items = c.Items[:n]
		}
	}()
	return codec.Decode(src, &c.Items[n])
}
