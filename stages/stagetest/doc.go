// Package stagetest tests what users hand to a pipeline, without a runtime: stages with their options, kinds, sources.
//
// # Usage
//
// [Run] feeds items to stages and says what became of them:
//
//	got := stagetest.Run(t, func(in stages.Stream[[]byte]) stages.Stream[Row] {
//		return stages.Map(in, "parse", parse, stages.OnError(stages.Skip(1)))
//	}, []byte("{}"), []byte("{"))
//
// A kind of one's own is tested by [Conform], and a source by [Origin], in one line:
//
//	func TestOrigin(t *testing.T) { stagetest.Origin(t, records(testdata)) }
//
// A plain function needs no help: call it.
//
// # Concurrency
//
// A test belongs to the goroutine that runs it. The code under test runs in goroutines of its own, one at a time, so
// that it can be found out when it does not return, or ends its goroutine. Only Conform has two workers of a stage at
// work at once, for one of its rules.
//
// # Failure
//
// What Run finds is its Result; only a definition that is refused fails the test. Conform and Origin report by Errorf, so
// that one run tells as much as it can. Code that does not return when it is told to is left behind by these two, and is
// still there when the test has failed.
//
// # Testing
//
// The package's own tests give every rule something that breaks it. That Run gives what the runtime gives is tested where
// both are at hand, in package supervisor.
package stagetest
