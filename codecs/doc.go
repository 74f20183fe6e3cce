// Package codecs turns the values of a pipeline into bytes and back, for the edges that cross a process boundary, and
// for dead letters. Most programs never import it: msgpack is the default, and plain structs, slices, maps and byte slices
// just work.
//
// # Usage
//
// A type that the default cannot carry, or not fast enough, has two ways out, in this order: implement
// encoding.BinaryAppender (or encoding.BinaryMarshaler) and encoding.BinaryUnmarshaler; implement [Bulk] when most of
// it is one block of memory. A pipeline's codec is msgpack: another [Codec] cannot be given to one yet.
//
// A [Type] is one Go type as a codec sees it. [Of] makes it where the type is still known statically, so that nothing
// has to be registered and no type name travels.
//
// # Concurrency
//
// A Codec is used by many goroutines at once. A Type is a value: copy it freely.
//
// # Failure
//
// Which types can travel is decided when a pipeline is deployed, by [Type.Check], never at item one million; its error
// wraps [ErrNotEncodable] and names the path to the part that cannot. Whether both ends mean the same by a type is
// decided then too, by comparing [Type.Shape]. What is left for later is the single value: Append and Decode return
// an error, which is a failure of that item and of nothing else.
//
// # Testing
//
// codectest.Run holds what every Codec must keep, codectest.Fuzz looks for bytes that hurt its decoder.
package codecs
