// Package actors runs one graph inside one process. It is the only package that knows protoactor-go, and none of its
// exported signatures shows it.
//
// # Usage
//
// A [System] is made once per process and starts any number of graphs ([System.Start]). What comes out of a graph is
// taken at the [Outlet] of its [Run]. Package supervisor puts types around that.
//
// # Structure
//
// A root actor per run is the parent of one actor per stage, and a stage is the parent of its workers. The stage actor
// owns the ledger: what has come in and has not left again, in input order, and which worker has it. It never runs
// user code and never blocks. A worker borrows a piece of the ledger, runs user code over it and sends the very same
// object back; what it held when it died is still in the ledger.
//
// # Concurrency
//
// All methods of Run may be called from any goroutine, those of Outlet as they say. Every actor has one goroutine for
// its whole life, parked while there is nothing to do. The hooks around stages, which are user code and belong to no
// worker, have goroutines of their own, before the first actor has something to do and after the last one has ended.
//
// # Failure
//
// A panic, runtime.Goexit or a failed open ends a worker's incarnation. Its parent, the stage, decides: the worker is
// replaced and the item tried again, or the item, or the run, has failed. A stage actor that panics is a mistake in
// this package; its ledger is gone with it, so the run ends and says so rather than go on without those items.
//
// # Testing
//
// Mailbox, edges and windows are tested here, whole graphs in package supervisor, against a sequential loop and most of
// them inside testing/synctest.
package actors
