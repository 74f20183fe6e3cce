package actors_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A liar is a kernel that breaks its contract so that the stage's own code fails: it stands for any mistake of ours there.
type liar struct {
	plan.Kernel
	after int
}

func (k *liar) Run(ctx context.Context, w *plan.Work) {
	k.Kernel.Run(ctx, w)
	if k.after--; k.after < 0 {
		w.Held = -1
	}
}

// A stage actor that dies takes its ledger along. It is not begun again without it: the run ends, and says so, and all
// that had left the stage comes out.
func TestAStageActorThatDiesEndsTheRun(t *testing.T) {
	for _, after := range []int{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			p := stages.Define("bug", func(g *stages.Graph, _ struct{}) stages.Stream[[]int] {
				s := stages.Source(g, "ints", stages.FromSlice(make([]int, 1000)))
				return stages.Batch(s, "batch", 3)
			}).With(struct{}{})
			g := *p.Plan()
			g.Stages = slices.Clone(g.Stages)
			batch := *g.Stages[1]
			open, opened := batch.Open, 0
			batch.Open = func(ctx context.Context) (plan.Kernel, error) {
				opened++
				k, err := open(ctx)
				return &liar{k, after}, err
			}
			g.Stages[1] = &batch
			ended := make(chan struct{})
			run := actors.NewSystem(nil).Start(t.Context(), &g, actors.Config{OnEnd: func() { close(ended) }})
			var err error
			for err == nil {
				var c plan.Chunk
				if c, err = run.Outlet().Next(t.Context()); err == nil {
					run.Outlet().Done(c, c.Len())
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			<-ended
			causes := run.Causes()
			if len(causes) != 1 || !strings.Contains(causes[0].Error(), "bug in") {
				t.Errorf("the run failed with %v", causes)
			}
			if opened != 1 {
				t.Errorf("the worker was opened %d times", opened)
			}
			if s := run.Stats(); s.InFlight <= 0 || s.Yielded != s.Delivered+s.Failed+s.Filtered+s.InFlight {
				t.Errorf("%+v", s)
			}
		})
	}
}
