// Package stages defines what flows. A definition is a value: typed stages, joined by typed streams, of which nothing
// runs until supervisor.Deploy decides where. Nothing in this package can see a process or a socket, so nothing
// written with it can depend on one.
//
// # Usage
//
//	var thumbnails = stages.Define("thumbnails", func(g *stages.Graph, cfg Config) stages.Stream[[]Thumb] {
//		paths := stages.Source(g, "list", stages.FromFiles(cfg.Dir))
//		raw := stages.Map(paths, "read", readFile, stages.Mailbox(8))
//		images := stages.MapWith(raw, "decode", openDecoder, (*decoder).decode, stages.Mailbox(4), stages.Ordered)
//		return stages.Batch(images, "batch", 32)
//	})
//
// The call is always: stream, name, function, options (what takes several streams has them last). Names are unique in
// a graph; they are what statistics, errors, placements and checkpoints speak of. Options are values with types of
// their own, and each kind takes only those that mean something to it: Batch(..., Mailbox(4)) does not compile.
//
// # The build function runs again, elsewhere
//
// A child process or a remote node cannot be sent a closure. It has the same pipelines compiled in, is sent the name
// and the Config, and calls the build function again. So a build function must depend on nothing but its Config: not
// on flags, not on package variables that main sets, not on the environment, the clock or a random source. Functions
// that need more than the item take it from the Config (a method of Config is the usual form) or open it themselves,
// once per worker (MapWith). All options, and what sources are made of, are compared when a pipeline is deployed. A closure
// over a variable that has another value there cannot be seen from outside; this rule is the one thing that the user of this
// package has to keep.
//
// So the Config of a pipeline that is to run elsewhere holds plain values: a channel or a function cannot travel, and what
// a pointer points to arrives as a copy, so that a counter in it is another one there. In one process it may hold anything.
//
// Errors that come from elsewhere say the same and wrap as much. For errors.Is and errors.As to find the functions' own
// sentinels and types in them, the build function names those: Graph.Errors and ErrorType.
//
// # Hooks
//
// What concerns every stage of a graph, such as timing, tracing or a rule about errors, is a Hook: code around stages and
// around items, given to Graph.Hook in the build function. What concerns one stage is a function around its function.
//
// # Concurrency
//
// A stage works on Mailbox(n) items at once, so the function given to it is called by n goroutines at once. State
// that must not be shared belongs to a worker: MapWith. A Stream is used once; Tee makes two of one. The building
// functions are for the goroutine that runs the build function.
//
// # Failure
//
// A mistake in a definition never panics: With collects all of them and Deploy returns them, each a *DefinitionError
// with stage, file and line. An error returned by a user's function concerns one item, and is not tried again unless it is
// marked Retryable, or Retry says so: see OnError for what becomes of the item then. A panic is an error with a stack
// (*PanicError) that also costs its worker; its item is tried three times in all. Workers that die in a row are replaced
// after longer and longer pauses, and in the end fail the run: see Restart. A Hook sees an item's error first, and may
// change it.
//
// # What a pipeline can hold
//
// Each stage takes so many items and no more, whatever the functions do and however long the consumer waits, so the most
// that a pipeline can hold is known before it runs: print it. Pipeline.String says it for each stage and for all of
// them, and names what has no bound; Pipeline.Mermaid and Pipeline.DOT draw the graph.
//
// # Testing
//
// The functions are plain functions: call them. Stages with their options are tested by stagetest.Run, a kind by
// stagetest.Conform, a source by stagetest.Origin. A pipeline in a test is deployed as anywhere else; supervisor.Items
// does it in one loop, and works inside testing/synctest.
package stages
