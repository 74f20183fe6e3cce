package stages_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
)

// Hooks cost those who have some. A graph without hooks around its items keeps the fast loop, one without hooks around its
// stages starts and ends as if there were no such thing.
func TestHooksCostNothingWhereThereAreNone(t *testing.T) {
	stage := func(context.Context, stages.StageInfo) error { return nil }
	item := func(context.Context, stages.Item) error { return nil }
	for name, c := range map[string]struct {
		hook   stages.Hook
		fast   bool
		around int
	}{
		"a zero hook":             {stages.Hook{}, true, 0},
		"a hook around a stage":   {stages.Hook{StageEnter: stage}, true, 1},
		"a hook around an item":   {stages.Hook{ItemEnter: item}, false, 0},
		"a hook around all":       {stages.Hook{StageEnter: stage, ItemEnter: item}, false, 1},
		"a hook behind a stage":   {stages.Hook{StageExit: func(context.Context, stages.StageInfo, error) error { return nil }}, true, 1},
		"a hook behind an item":   {onExit, false, 0},
		"a hook behind all of it": {stages.Hook{StageExit: func(context.Context, stages.StageInfo, error) error { return nil }, ItemExit: onExit.ItemExit}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, []int{1, 2, 3}, func(in stages.Stream[int]) stages.Stream[int] { return stages.Map(in, "k", same) }, c.hook)
			if kernel := fmt.Sprintf("%T", r.kernel); strings.Contains(kernel, ".oneToOneKernel[") != c.fast {
				t.Errorf("the kernel is a %s", kernel)
			}
			if n := len(r.work.Place.Graph.Hooks); n != c.around {
				t.Errorf("%d hooks around stages, want %d", n, c.around)
			}
			if r.deliver(0, 3); r.work.Err != nil || r.work.Next != 3 || len(r.out.Items) != 3 {
				t.Errorf("got %v, %+v", r.out.Items, r.work)
			}
		})
	}
}

var onExit = stages.Hook{ItemExit: func(_ context.Context, _ stages.Item, err error) error { return err }}

// An item that is no item has no value.
func TestTheZeroItemHasNoValue(t *testing.T) {
	if v, ok := stages.Value[any](stages.Item{}); ok || v != nil {
		t.Errorf("got %v", v)
	}
}
