// Package headspace answers whether a faster loader would help at all: it measures a loop as it is, and the same loop over data
// that costs nothing because it has been kept. What lies between the two is the headspace: all that anybody can gain by
// improving what feeds the loop. If it is small, look elsewhere.
//
// [Cache] is the wrapper that makes data cost nothing, for any loop over any iterator, those of Run.Items and
// supervisor.Items among them; what to compare is up to you. [Analyze] runs a loop both ways, in turn, until it is certain of the
// difference, and says what that is worth.
//
// The kept data is free in every respect: nothing is fetched, decoded or copied, and nothing else runs beside the loop. So
// the difference also has what the loader costs the loop by being in the same process: cores, caches, garbage collection. A loader that
// keeps up, and still has a headspace, is a noisy neighbour: see docs/placement.md.
package headspace
