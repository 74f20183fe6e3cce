// Package raw is the codec of items that are bytes already: it copies them as they are, without a head.
//
// # Usage
//
// It is for graphs in which every edge that crosses a process boundary carries []byte, string, or a type defined as
// one of them: encoded images, lines of a file, messages of a queue. Give it to stages.Graph.Codec.
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
