// Package weak names laws that one run may be told to break. It is for tests, which show by it that they would notice: a
// check that no broken runtime fails proves nothing.
//
// # Usage
//
// A test gives supervisor.Deploy a context made by [With]. The runtime asks [Of] once, when a run starts.
//
// # Concurrency
//
// Contexts may be used by several goroutines.
//
// # Failure
//
// There is none here. A run that breaks a law loses items, and may never end.
//
// # Testing
//
// Package supervisor shows that each of the laws, when it is broken, is found to be.
package weak
