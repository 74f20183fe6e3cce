package codecs_test

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
)

func ExampleType_Check() {
	type Job struct {
		Path string
		Done chan bool
	}
	fmt.Println(codecs.Of[Job]().Check(new(msgpack.Codec)))
	// Output:
	// codecs: type cannot be encoded: Job.Done: chan bool
}

func ExampleType_Shape() {
	type Box struct{ X, Y, W, H int }
	type Detection struct {
		Label string
		Box   Box
		Parts []Box
	}
	fmt.Println(codecs.Of[Detection]().Shape())
	// Output:
	// {Label string; Box {X int; Y int; W int; H int}; Parts []#1}
}

// Tensor encodes its shape as the head, and leaves its data where it is.
type Tensor struct {
	shape []uint32
	data  []byte
}

// Split implements codecs.Bulk.
func (t *Tensor) Split() (head, block []byte, err error) {
	for _, n := range t.shape {
		head = binary.LittleEndian.AppendUint32(head, n)
	}
	return head, t.data, nil
}

// Join implements codecs.Bulk. What comes from a peer is checked before it is believed.
func (t *Tensor) Join(head, block []byte) error {
	if len(head)%4 != 0 {
		return errors.New("tensor: head cut short")
	}
	size := uint64(1)
	for ; len(head) > 0; head = head[4:] {
		n := binary.LittleEndian.Uint32(head)
		if n > 1<<20 {
			return errors.New("tensor: dimension too large")
		}
		if size *= uint64(n); size > uint64(len(block)) {
			return errors.New("tensor: block too short")
		}
		t.shape = append(t.shape, n)
	}
	if size != uint64(len(block)) {
		return errors.New("tensor: block too long")
	}
	t.data = block
	return nil
}

func ExampleBulk() {
	c := new(msgpack.Codec)
	src, err := c.Append(nil, Tensor{[]uint32{2, 3}, []byte("pixels")})
	if err != nil {
		panic(err)
	}
	v, err := codecs.Of[Tensor]().Decode(c, src)
	fmt.Println(v.(Tensor).shape, string(v.(Tensor).data), err)

	var bad Tensor
	fmt.Println(bad.Join([]byte{9, 0, 0, 0}, []byte("pixels")))
	// Output:
	// [2 3] pixels <nil>
	// tensor: block too short
}
