// Package stagetest holds what is expected of the parts that users hand to a pipeline, as tests.
//
// # Usage
//
// A source of one's own is tested in one line:
//
//	func TestOrigin(t *testing.T) { stagetest.Origin(t, records(testdata)) }
//
// A plain function needs no help: call it.
//
// # Concurrency
//
// A test belongs to the goroutine that runs it. The code under test runs in goroutines of its own, one at a time, so
// that it can be found out when it does not return.
//
// # Failure
//
// All that is wrong is reported by Errorf, so that one run tells all of it. Code that does not return when it is told
// to is left behind, and is still there when the test has failed.
//
// # Testing
//
// The package's own tests give every rule something that breaks it.
package stagetest
