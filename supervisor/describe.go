package supervisor

import "fmt"

// thisProcess is how descriptions call the deploying process.
const thisProcess = "this process"

// where names the process of each stage.
func (r *run) where() map[int]string {
	w := map[int]string{}
	for i := range r.graph.Stages {
		w[i] = thisProcess // InProcess is the only placement
	}
	return w
}

// String describes the run for people: its identity, its placement, and the pipeline as its own String does, with where
// each stage runs.
func (r *run) String() string {
	return fmt.Sprintf("run %s at %s of %s", r.id, r.at, r.graph.Describe(r.where()))
}

// chart draws the graph and where its stages run.
func (r *run) chart() string { return r.graph.Mermaid(r.where()) }
