package supervisor_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestProbeMarks(t *testing.T) {
	for _, nested := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := 100_000
			stuck := make(chan bool)
			reached := make(chan bool)
			p := define(func(g *stages.Graph) stages.Stream[int] {
				src := stages.Source(g, "a", ints(n))
				var f []stages.Stream[int]
				if nested {
					f = stages.Route(src, "outer", 2, func(_ context.Context, v int) (int, error) { return 0, nil })
					src = f[0]
				}
				b := stages.Route(src, "inner", 3, func(_ context.Context, v int) (int, error) {
					if v == 0 {
						return 0, nil
					}
					return 2, nil
				}, stages.Buffer(4))
				x := stages.Map(b[0], "stuck", func(_ context.Context, v int) (int, error) { <-stuck; return v, nil }, stages.Buffer(0))
				stages.Sink(b[2], "sink", func(_ context.Context, v int) error {
					if v == n-1 {
						close(reached)
					}
					return nil
				}, stages.Buffer(0))
				j := stages.Merge("j", stages.InputOrder{}, x, b[1])
				if nested {
					return stages.Merge("k", stages.InputOrder{}, j, f[1])
				}
				return j
			})
			var m0, m1 runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m0)
			run := deploy(t, p, supervisor.Config{})
			go func() {
				for range run.Items(t.Context()) {
				}
			}()
			<-reached
			synctest.Wait()
			runtime.GC()
			runtime.ReadMemStats(&m1)
			t.Logf("nested %v: heap +%d kB", nested, (int64(m1.HeapAlloc)-int64(m0.HeapAlloc))>>10)
			close(stuck)
			time.Sleep(time.Second)
		})
	}
}
