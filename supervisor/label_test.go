package supervisor_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// In a goroutine profile all goroutines of a run have its identity, and nobody else's have.
func TestGoroutinesAreLabelledWithTheirRun(t *testing.T) {
	heard, working, release := make(chan bool, 1), make(chan bool), make(chan bool)
	run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{OnEvent: func(e supervisor.Event) {
		if _, failed := e.(supervisor.WorkerRestarted); failed { // told to a herald that a stage has started
			heard <- true
			<-release
		}
	}}), define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(10), stages.Forever), "f", func(ctx context.Context, v int) (int, error) {
			if stages.Attempt(ctx) == 1 {
				panic("once")
			}
			working <- true
			<-release
			return v, nil
		})
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-heard
	<-working
	all := strings.Join(actors.Goroutines().Stacks(actors.LabelRun, string(run.ID()), actors.LabelPipeline, "test"), "\n")
	for _, want := range []string{"label_test.go", "actors.(*mailbox).loop", "actors.(*iterator).iterate"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	if strings.Contains(all, "herald") {
		t.Errorf("the herald belongs to no run:\n%s", all)
	}
	for _, g := range actors.Goroutines().Stacks() {
		if strings.Contains(g, "weir/actors.(") && !strings.Contains(g, actors.LabelRun) {
			t.Errorf("a goroutine of the actors without a label:\n%s", g)
		}
	}
	close(release)
	go func() {
		for range working {
		}
	}()
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	close(working)
}
