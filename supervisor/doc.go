// Package supervisor decides where a pipeline runs, and keeps it alive there.
//
// # Usage
//
//	func main() {
//		sup := supervisor.Main(thumbnails) // first statement: see Main
//
//		run, err := supervisor.Deploy(ctx, sup, thumbnails.With(cfg), supervisor.InProcess{})
//		if err != nil {
//			return err
//		}
//		defer run.Stop()
//		for batch, err := range run.Items(ctx) {
//			if err != nil {
//				return err // the run has failed; this is the loop's last turn
//			}
//			train(batch)
//		}
//	}
//
// The last argument of Deploy is all there is to say about where.
//
// # Placements
//
// InProcess, Subprocess, Remote, a Pool of those, or Regions, which say it of parts of the graph by the names of stages: each
// is a plain value, and ParsePlacement reads one from a flag or a file. Check says whether a pipeline can be somewhere,
// without starting anything.
//
// A child process is this program again. It begins at main, and Main, in its first statement, does not return there: so a
// pipeline can be in a child only if Main was given it, and nothing that stands before Main should matter. A node is a
// program with the same pipelines that calls ServeNode. Either builds the graph anew from the configuration given to With:
// a build function must depend on nothing else. What crosses between processes must have a codec; what stays in one need not.
//
// A process that dies is replaced, as Config.Restart says, and what it had is worked on again: nothing is lost or comes twice. NodeStarted and
// NodeRestarted tell of it, and Stats.Nodes counts. An item of which Config.MaxDeaths processes die has failed. Children end
// with this program, however that ends. See docs/placement.md and docs/operations.md.
//
// # How a run ends
//
// Three verbs. Nothing: the sources end, the loop ends, everything is released. Drain: the sources end now, the loop
// ends after what they had yielded. Stop: all ends now. Stop after any end is free, so that defer run.Stop() is
// always right, and a loop that is left early stops the run by itself: with a loop, a forgotten Stop leaks nothing. A run
// that nobody loops over lasts until Stop, or the end of its context. Stop does not wait for listeners: a program that ends behind
// it may miss the last events, which Run.Wait waits for.
//
// An error comes once, as the last turn of the loop, and stays readable in Err. There is nothing to check after the
// loop.
//
// # Background tasks
//
// What must be done beside a run, for as long as it lasts, is a Task of the Config: its context ends with the run, and the
// run has not ended before the task has.
//
// # Concurrency
//
// All methods of a Run may be called from any goroutine. Several loops over Items, and calls of Next, share the items; a
// loop over Epochs is meant to be the only one.
//
// # Failure
//
// An item that fails is a *stages.ItemError, a stage whose workers die too often a *stages.RestartError, a function that
// does not return a *stages.HungError, and a run that ends because of one of them a *RunError that wraps all causes.
// errors.Is and As see through all of them. A run that was ended from outside has ErrStopped, ErrDrainTimeout or the cause of a
// context's end instead. A background task's error is an event, and a cause of the run's only if the task is Fatal.
//
// # Testing
//
// Pipelines run inside testing/synctest: a test of hours of waiting takes milliseconds. Deploy inside the bubble, with
// a supervisor made there. Package supervisortest has the placements as a table, and Collect, which runs a pipeline and
// checks that nothing of it is left.
package supervisor
