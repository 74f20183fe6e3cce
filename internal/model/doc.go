// Package model searches the protocol of the link exhaustively, with everything around it that may die.
//
// Each protocol is a state machine over a few inputs: coordinator, nodes, what is on its way between them, source and
// consumer, and faults. [Explore] visits every state that can be reached, breadth first, and looks for one that must not
// be, for a deadlock and for a livelock. A [Check] is one configuration; one that leaves out a rule must fail, so that
// no rule stands there without a reason.
//
//	pool    keyed regions in several copies: outstanding sets, suspects, poison, order at release, streaming parts
//	entry   what comes of an input in one step, outputs and failures, and what a policy makes of it, program deaths included
//	hub     a keyed region that feeds a stream region through the coordinator
//	fan     Tee, Route and merge between regions, and the count by which an input is known to be done with
//	node    the whole graph in a node: frames, drain, the token of a program that dies
//	held    one-to-many stages in front of and between aggregates: residue, and suppression
//	epoch   the ends of epochs, in nodes and around keyed regions
//
// Links between two nodes are not there: every link has the coordinator at one end.
//
// # What is not modelled
//
// Sizes in bytes; several entries in one message (each is applied alone); leases and clocks; references into shared
// memory; cancellation; budgets that end a run. Credit is known at once. Bounds: 3 to 5 inputs, 2 copies, 4 faults.
//
// # Testing
//
// The tests take a few seconds, with -short less; -full searches the largest configurations too. A failure prints a
// shortest way to it, in the names of the steps.
package model
