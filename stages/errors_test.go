package stages_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

func TestErrorsSayWhatAndWhere(t *testing.T) {
	item := stages.ID{Source: "list", Epoch: 1, Index: 1234, Path: ".3"}
	cause := errors.New("no such host")
	for want, err := range map[string]error{
		`thumbs.go:31: pipeline "thumbnails": stage "decode": mailbox 0, want at least 1`: &stages.DefinitionError{Pipeline: "thumbnails", Stage: "decode", File: "/src/thumbs.go", Line: 31, Reason: "mailbox 0, want at least 1"},
		`pipeline "thumbnails": the build function is nil`:                                &stages.DefinitionError{Pipeline: "thumbnails", Reason: "the build function is nil"},
		`stage "decode": item list/1/1234.3 failed: no such host`:                         &stages.ItemError{Stage: "decode", Item: item, Attempts: 1, Err: cause},
		`stage "decode": item list/1/1234.3 failed after 2 attempts: no such host`:        &stages.ItemError{Stage: "decode", Item: item, Attempts: 2, Err: cause},
		`panic: index out of range`:                                                       &stages.PanicError{Stage: "decode", Item: item, Value: "index out of range", Stack: "goroutine 1"},
		`stage "decode": worker 2 does not return`:                                        &stages.HungError{Stage: "decode", Worker: 2, Stack: "goroutine 1"},
		`stage "decode": worker 0 does not return`:                                        &stages.HungError{Stage: "decode"},
		`no such file`: stages.Fatal(errors.New("no such file")),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestErrorsAreSeenThrough(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "a.jpg", Err: fs.ErrNotExist}
	for name, err := range map[string]error{
		"an item's":             &stages.ItemError{Err: cause},
		"a fatal one":           stages.Fatal(cause),
		"an item's fatal one":   &stages.ItemError{Err: stages.Fatal(fmt.Errorf("read: %w", cause))},
		"a fatal one, wrapped":  fmt.Errorf("list: %w", stages.Fatal(cause)),
		"a fatal one, twice so": stages.Fatal(stages.Fatal(cause)),
	} {
		path, ok := errors.AsType[*fs.PathError](err)
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, cause) || !ok || path != cause {
			t.Errorf("%s: the cause is hidden", name)
		}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, stages.ErrBudget) {
			t.Errorf("%s: it is what it is not", name)
		}
		if fatal := name != "an item's"; errors.Is(err, stages.ErrFatal) != fatal {
			t.Errorf("%s: fatal is %t, want %t", name, !fatal, fatal)
		}
	}
	if err := error(&stages.HungError{}); !errors.Is(err, stages.ErrHung) || errors.Is(err, stages.ErrFatal) {
		t.Error("a HungError is ErrHung, and nothing else")
	}
	if err := fmt.Errorf("stop: %w", &stages.HungError{}); !errors.Is(err, stages.ErrHung) {
		t.Error("a wrapped HungError is ErrHung")
	}
}

func TestFatalOfNothingIsNothing(t *testing.T) {
	if err := stages.Fatal(nil); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestOutsideAStageThereIsNoItem(t *testing.T) {
	idle := plan.Bind(t.Context(), &plan.Work{Attempt: 1, Place: plan.Place{
		Graph: &plan.Graph{Name: "p"}, Stage: &plan.Stage{Name: "s", Kind: "map"}, Worker: 2, Incarnation: 3,
	}})
	for name, ctx := range map[string]context.Context{"any context": t.Context(), "a worker between deliveries": idle} {
		if id := stages.ItemID(ctx); id != (stages.ID{}) {
			t.Errorf("%s: item %v", name, id)
		}
	}
	if n, at := stages.Attempt(t.Context()), stages.Where(t.Context()); n != 0 || at != (stages.StageInfo{}) {
		t.Errorf("attempt %d at %+v", n, at)
	}
	want := stages.StageInfo{Pipeline: "p", Stage: "s", Kind: "map", Worker: 2, Incarnation: 3}
	if got := stages.Where(context.WithValue(idle, anyKey{}, 1)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// anyKey is not what the context is asked for.
type anyKey struct{}

func TestAnIDReadsAsAPath(t *testing.T) {
	g := &plan.Graph{Stages: []*plan.Stage{{Name: "other"}, {Name: "list"}}}
	id := stages.IDOf(g, plan.ID{Source: 1, Epoch: 2, Index: 1234, Path: ".3.0"})
	if want := (stages.ID{Source: "list", Epoch: 2, Index: 1234, Path: ".3.0"}); id != want || id.String() != "list/2/1234.3.0" {
		t.Errorf("got %+v, %v", id, id)
	}
}
