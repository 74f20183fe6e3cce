package msgpack_test

import (
	"fmt"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
)

func Example() {
	type Thumb struct {
		Path   string
		Width  int
		Pixels []byte
	}
	c := new(msgpack.Codec)

	src, err := c.Append(nil, Thumb{"a.jpg", 2, []byte{0, 255}})
	fmt.Printf("% x %v\n", src, err)

	var t Thumb
	fmt.Println(c.Decode(src, &t), t)
	// Output:
	// 93 a5 61 2e 6a 70 67 02 c4 02 00 ff <nil>
	// <nil> {a.jpg 2 [0 255]}
}

func ExampleCodec_Check() {
	type Filter struct{ Match func(string) bool }
	type Config struct {
		Dir    string
		Filter Filter
	}
	fmt.Println(codecs.Of[Config]().Check(new(msgpack.Codec)))
	// Output:
	// codecs: type cannot be encoded: Config.Filter.Match: func(string) bool
}

// Five bytes that promise an array of 268 million.
func ExampleCodec_Decode_hostile() {
	var numbers []int
	fmt.Println(new(msgpack.Codec).Decode([]byte{0xdd, 0x0f, 0xff, 0xff, 0xff}, &numbers))
	// Output:
	// decode []int: msgpack: malformed: a value or a length goes beyond the end
}
