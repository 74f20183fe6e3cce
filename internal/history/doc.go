// Package history records what becomes of every item of a run, and judges it. It is for tests: it knows nothing of how
// items are moved, only what a user's functions and loop have seen.
//
// # Usage
//
// The source, the functions of the stages and the consumer of a test tell a [Recorder] what they see, and in it what the
// runtime says of items that failed. When the run has ended, [Check] is given that history, what the runtime has counted
// ([Counts]) and what is known of the graph ([Graph]): which items must come out where, in which order, and how much may be
// at work. It names what was lost, duplicated, reordered, invented, over a bound, or counted wrongly.
//
// # Concurrency
//
// A Recorder may be used by several goroutines at once; its lock makes one order of all events. A [Call] belongs to the
// goroutine that began it. Check belongs to its caller.
//
// # Failure
//
// Check returns what is wrong as [Violation] values; a history cannot be such that it fails itself.
//
// # Testing
//
// The checker is given synthetic histories here: a clean one, and one for each kind of violation.
package history
