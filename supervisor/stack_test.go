package supervisor_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// The stack of a panic, or of runtime.Goexit, begins with the function that it is of and ends where the runtime called
// user code, whoever did.
func TestAStackShowsUserCodeOnly(t *testing.T) {
	for how, die := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		for where, p := range map[string]stages.Pipeline[int]{
			"source": define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Source(g, "ints", stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
					return func(func(int, error) bool) { die() }
				}))
			}),
			"map": define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(1)), "map", func(_ context.Context, v int) (int, error) {
					die()
					return v, nil
				})
			}),
			"merge": define(func(g *stages.Graph) stages.Stream[int] {
				return stages.MergeFunc("merge", func([]*int) int {
					die()
					return 0
				}, stages.Source(g, "ints", ints(1)))
			}),
			"enter": define(func(g *stages.Graph) stages.Stream[int] {
				g.Hook(stages.Hook{StageEnter: func(context.Context, stages.StageInfo) error {
					die()
					return nil
				}})
				return stages.Source(g, "ints", ints(1))
			}),
			"task": slow(10, well),
		} {
			t.Run(how+" in "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var cfg supervisor.Config
					if where == "task" {
						cfg.Background = []supervisor.Task{{Name: "task", Fatal: true, Run: func(context.Context, func() supervisor.Stats) error {
							die()
							return nil
						}}}
					}
					run := deploy(t, p, cfg)
					var last error
					for _, err := range run.Items(t.Context()) {
						last = err
					}
					e, ok := errors.AsType[*stages.PanicError](last)
					if !ok || !strings.Contains(e.Stack, "stack_test.go") || strings.Contains(e.Stack, "weir/actors") || strings.Contains(e.Stack, "runtime.") {
						t.Errorf("got %v: %+v", last, e)
					}
				})
			})
		}
	}
}
