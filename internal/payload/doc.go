// Package payload turns the items of an edge into what a link carries, and back: bytes of a message, and blocks of
// memory shared with the other process.
//
// # Usage
//
// [For] decides once per type how its values travel. [Form.Pack] makes a wire.Payload of one, with the [Packer] of a session;
// [Form.Unpack] makes a value of a payload, with the session's [Unpacker]. Both ends have the same type, and so the
// same form:
//
//	bytes, numbers  a slice of bytes, or of numbers of one size: from 16 KiB on it is one block, which has no head; numbers
//	                are little-endian, int and uint have 8 bytes
//	bulk            a codecs.Bulk, or a pointer to one: a head and a block, always; of a nil pointer, neither
//	view            a stages.View: one block, always, without a head
//	plain           everything else: what the codec makes of it, which is a block if it is more than 64 MiB
//
// A payload has its head in Bytes, and its block in Blocks. A block that is smaller than 16 KiB, or for which there is no room
// in the arena, or between machines, lies behind the head, and its wire.Block has the generation 0 and the offset 0: it is the last Length
// of Bytes. A payload without Blocks is the codec's encoding, or a nil pointer to a bulk type.
//
// A value is always made of a private copy: what lies in shared memory can still be written to by the process that it comes from. The only
// exception is the view, which is asked for by its name.
//
// [Ref] is what a stages.View consists of.
//
// # Concurrency
//
// A Form is immutable, and an Unpacker may be used by several goroutines. A Packer has one owner. A Ref may be used and
// released by any goroutine.
//
// # Failure
//
// Payloads come from a peer: whatever they are, Unpack returns an error that wraps [ErrMalformed], or one of the codec, of
// the arena, or of the type's own method. It does not recover from the panics of these methods.
//
// A value that is too large is an error of Pack that wraps codecs.ErrTooLarge. One of more than 64 MiB for which there will be room in the
// arena, but is none now, is [ErrFull]: it cannot go inline.
//
// # Testing
//
// Every form is sent there and back, with room and without; an arena of the tests stands for shared memory.
package payload
