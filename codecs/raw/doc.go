// Package raw is the codec of items that are bytes already: it copies them as they are, without a head.
//
// # Usage
//
// It carries []byte, string, and types defined as one of them: encoded images, lines of a file, messages of a queue.
// Pipelines do not use it: their codec is msgpack, and cannot be chosen yet.
//
// # Concurrency
//
// The codec has no state.
//
// # Failure
//
// Check refuses every other type, with an error that wraps codecs.ErrNotEncodable, and so do Append and Decode. They
// fail in no other way: any bytes are a value. Nil and empty are the same after a crossing: both are no bytes, and
// come back empty.
//
// # Testing
//
// The package keeps codectest.Run.
package raw
