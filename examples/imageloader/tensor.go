package main

import (
	"encoding/binary"
	"fmt"
)

// A tensor is an image as networks take it.
type tensor struct {
	Path string
	CHW  []float32 // 3 x 224 x 224, red plane first, then green, blue; each value 0 to 1
}

const values = 3 * side * side // of a tensor

// Split and Join make a tensor a codecs.Bulk: to another process it goes as one block of memory, and not number by number.
// A pipeline that stays in one process never calls them.

// Split implements codecs.Bulk.
func (t *tensor) Split() (head, block []byte, err error) {
	block, err = binary.Append(make([]byte, 0, 4*len(t.CHW)), binary.LittleEndian, t.CHW)
	return []byte(t.Path), block, err
}

// Join implements codecs.Bulk.
func (t *tensor) Join(head, block []byte) error {
	if len(block) != 4*values {
		return fmt.Errorf("a tensor has %d bytes, not %d", 4*values, len(block))
	}
	t.Path, t.CHW = string(head), make([]float32, values)
	_, err := binary.Decode(block, binary.LittleEndian, t.CHW)
	return err
}
