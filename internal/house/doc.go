// Package house holds the rules of this repository as checks that go test runs: who may import whom, where a
// goroutine may start, what an exported signature may say, how long a file may be.
//
// A rule that only stands in a document is broken by the third person who is in a hurry. Here each rule is a
// function from the parsed source tree to findings, and a finding says which rule, which line, and what to do.
//
// # Usage
//
// Run the rules over this repository:
//
//	go test ./internal/house -count=1
//
// With -count=1 they look again, whatever the test cache remembers.
//
// An exception is a line in lists_test.go: the place and the reason. An exception that nothing needs any more is
// itself a finding, so the lists shrink by themselves. A rule that is wrong is changed here, in the open, with a
// decision record when it is one of the laws of the design.
//
// # Concurrency
//
// A Tree is immutable after Load. Every rule is a pure function of a Tree and the Lists.
//
// # Failure
//
// Load fails on a file that does not parse and names it. Rules never fail: they find.
//
// # Testing
//
// Every rule is tested with small trees that break it, and with trees that come close and do not; a test fails when a
// rule has no tree that breaks it. The rules see syntax, not types: what can only be known after type checking is
// left to the compiler, go vet and staticcheck.
package house
