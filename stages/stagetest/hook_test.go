package stagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

var errNo = errors.New("no")

// walkHooked takes items through a batch of 2 behind a hook. (build of Run cannot add one: it has no Graph.)
func walkHooked(t *testing.T, hooks []stages.Hook, in ...int) (out []string, w *walk) {
	t.Helper()
	g := define(t, func(g *stages.Graph, given stages.Stream[int]) stages.Stream[[]int] {
		for _, h := range hooks {
			g.Hook(h)
		}
		return stages.Batch(given, "batch", 2, stages.OnError(stages.Skip(1)))
	})
	w = newWalk(t.Context(), g, func(c plan.Chunk) { out = append(out, prints(c.(*plan.Of[[]int]).Items)...) }, t.Logf)
	for _, v := range in {
		w.give(single(g, v))
	}
	w.endEpoch()
	w.end()
	return out, w
}

func TestHooksAreCalledAroundStagesAndItems(t *testing.T) {
	var log []string
	told := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	out, w := walkHooked(t, []stages.Hook{{
		StageEnter: func(_ context.Context, s stages.StageInfo) error { told("enter %s", s.Stage); return nil },
		StageExit: func(_ context.Context, s stages.StageInfo, err error) error {
			told("exit %s: %v", s.Stage, err)
			return err
		},
		ItemEnter: func(_ context.Context, it stages.Item) error { told("%v, attempt %d", it.ID, it.Attempt); return nil },
	}}, 1, 2)
	want := []string{"enter given", "enter batch", "given/0/0, attempt 1", "given/0/1, attempt 1", "exit batch: <nil>", "exit given: <nil>"}
	if !slices.Equal(log, want) || fmt.Sprint(out) != "[[1 2]]" || w.err() != nil {
		t.Errorf("got %q, %v, %v", log, out, w.err())
	}
}

func TestHooksAroundStagesFailTheRun(t *testing.T) {
	for want, h := range map[string]stages.Hook{
		`stage "batch": StageEnter: no`:     {StageEnter: failAt("batch")},
		`stage "given": StageExit: no`:      {StageExit: func(ctx context.Context, s stages.StageInfo, _ error) error { return failAt("given")(ctx, s) }},
		`stage "given": StageEnter: panic:`: {StageEnter: func(context.Context, stages.StageInfo) error { panic("no") }},
	} {
		out, w := walkHooked(t, []stages.Hook{h}, 1, 2)
		if err := fmt.Sprint(w.err()); !strings.HasPrefix(err, want) || (len(out) == 0) != strings.Contains(want, "Enter") {
			t.Errorf("got %v, %s, want %s", out, err, want)
		}
	}
}

func failAt(stage string) func(context.Context, stages.StageInfo) error {
	return func(_ context.Context, s stages.StageInfo) error {
		if s.Stage == stage {
			return errNo
		}
		return nil
	}
}

// What the batch holds already, and a hook then fails or drops, is taken from it by replacing the worker.
func TestHooksAroundItemsMayFailOrDropThem(t *testing.T) {
	before := stages.Hook{ItemEnter: func(_ context.Context, it stages.Item) error { return at(it, 1) }}
	behind := stages.Hook{ItemExit: func(_ context.Context, it stages.Item, _ error) error { return at(it, 2) }}
	mend := stages.Hook{ItemExit: func(context.Context, stages.Item, error) error { return nil }}
	for name, c := range map[string]struct {
		hooks                    []stages.Hook
		want                     string
		filtered, failed, deaths int64
	}{
		"one fails before":            {[]stages.Hook{before}, "[[1 3] [4]]", 0, 1, 0},
		"one fails behind":            {[]stages.Hook{behind}, "[[1 2] [4]]", 0, 1, 1},
		"one is dropped":              {[]stages.Hook{mend, before}, "[[1 3] [4]]", 1, 0, 0},
		"one is dropped that is held": {[]stages.Hook{mend, behind}, "[[1 2] [4]]", 1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, w := walkHooked(t, c.hooks, 1, 2, 3, 4)
			_, filtered, failed := w.account.Settled()
			deaths := int64(w.posts[1].(*station).lives - 1)
			if fmt.Sprint(out) != c.want || filtered != c.filtered || failed != c.failed || deaths != c.deaths || w.err() != nil {
				t.Errorf("got %v, filtered %d, failed %d, %d deaths, %v", out, filtered, failed, deaths, w.err())
			}
		})
	}
}

// at is an error of the item with that index.
func at(it stages.Item, index int64) error {
	if it.ID.Index == index {
		return errNo
	}
	return nil
}
