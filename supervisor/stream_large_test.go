package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A doubling makes two outputs of 40 MiB of each of two items: they leave together, which no message can hold.
type doubling struct{ held int }

func (d *doubling) Process(context.Context, int, func(string) bool) error {
	d.held++
	return nil
}

func (d *doubling) Held() int { return d.held }

func (d *doubling) Flush(_ context.Context, emit func(string) bool) error {
	for range 2 * d.held {
		emit(string(bytes.Repeat([]byte("x"), 40<<20)))
	}
	d.held = 0
	return nil
}

// giants are outputs that must leave together, of an aggregate.
var giants = stages.Define("giants", func(g *stages.Graph, n int) stages.Stream[string] {
	return stages.Aggregate(source(g, n), "giants", func(context.Context) (*doubling, error) { return &doubling{}, nil })
})

func TestOutputsThatNoMessageHoldsFailTheRunAtOnce(t *testing.T) {
	sup := children.With(supervisor.Config{OnEvent: func(e supervisor.Event) {
		if n, ok := e.(supervisor.NodeRestarted); ok {
			t.Error(n.Err)
		}
	}})
	run, err := supervisor.Deploy(t.Context(), sup, giants.With(2), supervisor.Subprocess{})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range run.Items(t.Context()) {
		if last = err; err == nil {
			t.Error("an item has come")
		}
	}
	if !errors.Is(last, codecs.ErrTooLarge) || !strings.Contains(last.Error(), `"giants"`) {
		t.Errorf("the run has failed of %v", last)
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
}
