package supervisor_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

// What a pipeline means does not depend on where it runs. So tests of what it means run at every placement that
// supervisortest knows. Their pipelines are laws: a child of this program finds them by name, and builds them of a configuration.

// laws are all that law has made. They are what children of these tests may be asked for.
var laws []stages.Blueprint

// law defines a pipeline of which the same must come wherever it runs. It is called for package variables only, so that children
// have what it makes.
func law[Cfg, Out any](name string, build func(g *stages.Graph, cfg Cfg) stages.Stream[Out]) *stages.Definition[Cfg, Out] {
	d := stages.Define(name, func(g *stages.Graph, cfg Cfg) stages.Stream[Out] {
		g.Errors(errBad, errTemporary)
		return build(g, cfg)
	})
	laws = append(laws, d)
	return d
}

// kindOf says what kind of placement at is.
func kindOf(at supervisor.Placement) string {
	switch at := at.(type) {
	case supervisor.Subprocess:
		return "child"
	case supervisor.Remote:
		return "node with TLS"
	case supervisor.Regions:
		if _, pool := at[0].On.(supervisor.Pool); pool {
			return "pool of two children"
		}
		return "region in a child"
	}
	return "in process"
}

// everywhere runs what d is with c at every placement that it can have, and has check look at what has come of it. Of a placement
// that it cannot have, the test's log says why.
func everywhere[Cfg, Out any](t *testing.T, d *stages.Definition[Cfg, Out], c Cfg, check func(t *testing.T, r played[Out])) {
	t.Helper()
	everyRun(t, d, c, supervisor.Config{}, func(t *testing.T, run *supervisor.Run[Out]) { check(t, playRun(t, run)) })
}

// everyRun deploys what d is with c at every placement that it can have. What the test has not stopped is stopped behind it.
func everyRun[Cfg, Out any](t *testing.T, d *stages.Definition[Cfg, Out], c Cfg, cfg supervisor.Config, test func(t *testing.T, run *supervisor.Run[Out])) {
	t.Helper()
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(supervisor.Event) {} // what children print is not for everybody
	}
	for _, at := range supervisortest.Placements(t, children, d.With(c)) {
		t.Run(kindOf(at), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			run, err := supervisor.Deploy(ctx, children.With(cfg), d.With(c), at) // with functions that remember nothing
			if err != nil {
				t.Fatalf("at %v: %v", at, err)
			}
			defer func() {
				if err := run.Stop(); err != nil {
					t.Errorf("stop: %v", err)
				}
				if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
					t.Errorf("it hangs at %v: %s", at, tellStages(run.Stats()))
				}
			}()
			test(t, run)
			been.at(kindOf(at))
		})
	}
}

// been counts the runs of laws, by placement.
var been visits

type visits struct {
	mu   sync.Mutex
	runs map[string]int // guarded by mu
}

func (v *visits) at(kind string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.runs == nil {
		v.runs = map[string]int{}
	}
	v.runs[kind]++
}

// fewest is how many runs of laws there are at least at each placement when all tests have run: so that what is skipped, each for
// its reason, is not all in the end.
func fewest() map[string]int {
	return map[string]int{"in process": 440, "child": 420, "node with TLS": 420, "pool of two children": 360, "region in a child": 480}
}

// count says, with -v, how often laws have run where, and returns what the tests' process is to exit with.
func (v *visits) count(code int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if testing.Verbose() && len(v.runs) > 0 {
		fmt.Printf("runs of laws: %v\n", v.runs)
	}
	some := testing.Short() || code != 0
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		some = some || flag.Lookup(name).Value.String() != ""
	}
	if some {
		return code
	}
	for _, kind := range slices.Sorted(maps.Keys(fewest())) {
		if got, want := v.runs[kind], fewest()[kind]; got < want {
			fmt.Fprintf(os.Stderr, "of the laws, only %d have run at the placement %q, want %d\n", got, kind, want)
			code = 1
		}
	}
	return code
}
