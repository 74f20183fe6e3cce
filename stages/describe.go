package stages

import (
	"errors"
	"fmt"
	"strings"
)

// String describes the pipeline for people: a line per stage, in topological order, with what it takes, what it hands on,
// its options, and under "holds" how many items it may have at most, with those on their way to it. Below it says what
// the whole pipeline can hold, and what of that is not bounded. Of a pipeline with faults it lists those.
//
// A room of "flow" is a waiting room without [Buffer], which follows the flow.
func (p Pipeline[Out]) String() string {
	if p.plan == nil {
		return p.faulty()
	}
	return p.plan.Describe(nil)
}

// faulty describes what cannot be deployed.
func (p Pipeline[Out]) faulty() string {
	faults := []error{p.Err()}
	if all, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](faults[0]); ok {
		faults = all.Unwrap()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline %q cannot be deployed:\n\n", p.name)
	for _, f := range faults {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(f.Error(), "\n", "\n  "))
	}
	return b.String()
}

// Mermaid returns the pipeline as a Mermaid flow chart, for a page or a pull request: stages with their mailboxes,
// streams with their types and how many items may be at their end or on the way there. Sources are rounded, stages with
// several outputs diamonds, merges hexagons, sinks cylinders. It is empty if the pipeline has faults.
func (p Pipeline[Out]) Mermaid() string {
	if p.plan == nil {
		return ""
	}
	return p.plan.Mermaid(nil)
}

// DOT returns what Mermaid does in Graphviz's language.
func (p Pipeline[Out]) DOT() string {
	if p.plan == nil {
		return ""
	}
	return p.plan.DOT(nil)
}
