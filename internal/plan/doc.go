// Package plan is the seam between definition and runtime: the untyped graph as package stages describes it and
// package actors runs it. Users never see it, so it may change with every version.
//
// # Usage
//
// stages makes a Graph of Stages. A Stage knows how to open a [Kernel], which runs typed code over a [Chunk] behind an
// untyped handle, or, for a source, a [Feed]. Every item has an identity, kept in runs ([IDs]); what becomes of the
// items of the sources is kept in an [Account], through [Family] where one item has become several or several one.
//
// # Concurrency
//
// A Graph is immutable once built. A Chunk, a Kernel and a Work have one owner at a time. Account, Family and Gate may
// be used by several goroutines as their comments say.
//
// # Failure
//
// Nothing here returns errors of its own. Kernel.Run may panic, or end its goroutine: it runs user code.
//
// # Testing
//
// Identities and accounts are tested here, against a naive model; kernels where they are made, in stages.
package plan
