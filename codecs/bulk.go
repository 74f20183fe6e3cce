package codecs

// Bulk is implemented by the pointer to a type of which most bytes are one block: a tensor, a decoded image. Between
// processes of one machine a block of 16 KiB or more travels through shared memory, elsewhere it travels uncopied
// behind the head.
type Bulk interface {
	// Split returns an encoding of everything but the block, and the block. Neither is written to afterwards, as long
	// as the value is on its way.
	Split() (head, block []byte, err error)

	// Join fills the receiver, which is its type's zero value. Both slices are the receiver's to keep, and private to
	// it. They come from a peer: Join checks that the one fits the other, and returns an error if not.
	Join(head, block []byte) error
}
