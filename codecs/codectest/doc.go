// Package codectest holds the contract of codecs.Codec as a test suite.
//
// # Usage
//
// A codec's own tests are two functions:
//
//	func TestCodec(t *testing.T) { codectest.Run(t, mycodec.Codec{}, Sample{ID: 1}, []Sample{{}, {ID: 2}}) }
//	func FuzzDecode(f *testing.F) { codectest.Fuzz(f, mycodec.Codec{}, Sample{ID: 1}, []Sample{{}, {ID: 2}}) }
//
// Samples are values the codec must carry. Each is compared with what comes back: nil and empty slices and maps are
// the same, so are two NaN, and times of the same instant and offset; a type with a method Equal of its own type is
// asked itself.
//
// # Concurrency
//
// Run and Fuzz measure what the process allocates, so other tests should not run in parallel with them; what
// allocates out of proportion once only is measured again.
//
// # Failure
//
// What a codec breaks is reported under the name of the rule it broke. A codec that hangs, overflows the stack or
// exhausts memory on hostile input ends the test binary: that is then the finding.
//
// # Testing
//
// The package's own tests give every rule a codec that breaks it.
package codectest
