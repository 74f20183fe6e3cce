package msgpack

import (
	"fmt"
	"math/bits"
)

// What a message may make Decode reserve: freeBytes, and bytesPerByte for each of its own. No plain type comes near
// it (the worst, a nil slice, is 24 bytes for one), so it is felt only by types whose encoding hides their size: those
// that encode themselves, and structs with large _ fields. Strings and bytes are as long as what they are copied from, and
// are not counted.
const (
	freeBytes    = 1 << 20
	bytesPerByte = 64
)

// A budget counts the memory that decoding reserves for slices, maps and pointers, or would reserve for what is being
// encoded.
type budget struct {
	spentBytes uint64
	limitBytes uint64 // of the decoder; the encoder learns the length, and with it the limit, at the end
}

// take counts n values of size bytes each.
func (b *budget) take(n, size uint64) error {
	over, sum := bits.Mul64(n, size)
	sum, carry := bits.Add64(b.spentBytes, sum, 0)
	if over != 0 || carry != 0 || sum > b.limitBytes {
		return fmt.Errorf("%w: more than %d bytes", ErrMemory, b.limitBytes)
	}
	b.spentBytes = sum
	return nil
}

// allowance returns the limit for a message of n bytes.
func allowance(n int) uint64 { return freeBytes + bytesPerByte*uint64(n) }
