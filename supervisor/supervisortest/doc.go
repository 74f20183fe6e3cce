// Package supervisortest is for testing pipelines on every placement.
//
// # Usage
//
//	var sup *supervisor.Supervisor
//
//	func TestMain(m *testing.M) {
//		sup = supervisor.Main(thumbnails)
//		os.Exit(m.Run())
//	}
//
//	func TestThumbnails(t *testing.T) {
//		p := thumbnails.With(Config{Dir: "testdata"})
//		for name, at := range supervisortest.Placements(t, sup, p) {
//			t.Run(name, func(t *testing.T) {
//				got, err := supervisortest.Collect(t, sup, p, at)
//
// A test that makes its own supervisor, by supervisor.New, may do so, inside testing/synctest too: for the placements that
// keep to this process.
//
// # Concurrency
//
// Tests may run in parallel, and share a supervisor: what a run leaves behind is told from what another one does. The node that
// Placements starts ends with the test that it was given, behind its subtests.
//
// # Failure
//
// An error of the pipeline is returned, because it may be what the test wants. What must not be, whatever the pipeline
// does, is reported by Errorf, and the test goes on.
//
// # Testing
//
// The package's own tests give every check a run that does not pass it.
package supervisortest
